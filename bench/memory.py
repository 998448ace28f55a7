"""How many bytes of memory do a transfer and a party take, with all their indexes and alerts?

Many transfers of few parties give the bytes of a transfer; many parties with few transfers, less the bytes of those
transfers, give the bytes of a party. Two events a transfer, both remembered for good as delivered, count to the
transfer. All transfers lie within 90 days. A tick passes with each page of events, and a person closes the alerts that
have waited for a day.

Unit    bytes; resident memory of a separate process as the kernel counts it, after free memory was given back to it,
        beside the sum of the sizes of all objects
"""

import ctypes
import gc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from bench.harness import Figure, Promise, Run
from bench.stream_events import Made, Traffic
from bench.structures import bytes_of
from clearhold.features.core.entries.commands import DecisionEntry, OperatorKind
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import WAITING, AlertDecision
from clearhold.features.shard.shard import ShardState

TRANSFER_BYTES: Final = Promise(300)
PARTY_BYTES: Final = Promise(1_500)
FEW_ENTITIES: Final = 500
FEW_COUNTERPARTIES: Final = 1_000
_TRANSFERS_A_PARTY: Final = 2
_STEP_US: Final = 5_000_000  # a million transfers in 58 days: all of them within the window of 90 days
_APPENDED_AFTER_US: Final = 2_000_000
_DECIDED_AFTER_US: Final = DAY_US
_PAGE: Final = 2_000


def run(run: Run) -> Iterator[Figure]:
    transfers = run.size(250_000, 60_000)
    entities = run.size(150_000, 25_000)
    state = ShardState(0)
    # A first program warms up decoders, caches and pools.
    _Program(run, state, Traffic("warm", entities=50, counterparties=50)).grow(2_000)
    before = _resident()
    traffic = Traffic("many", entities=FEW_ENTITIES, counterparties=FEW_COUNTERPARTIES, step_us=_STEP_US)
    program = _Program(run, state, traffic)
    program.grow(transfers)
    resident, in_sum = (_resident() - before) / transfers, bytes_of(program.state) / transfers
    yield Figure(
        name="a transfer",
        value=resident,
        unit="bytes",
        promise=TRANSFER_BYTES,
        note=f"{in_sum:,.0f} by sum of structures; {transfers:,} transfers of {FEW_ENTITIES} entities, "
        f"{len(program.state.alerts):,} alerts",
    )
    before = _resident()
    program = _Program(run, state, Traffic("parties", entities=entities, counterparties=entities, step_us=_STEP_US))
    program.introduce()
    program.grow(entities * _TRANSFERS_A_PARTY)
    of_transfers, parties = entities * _TRANSFERS_A_PARTY, 2 * entities
    grown = _resident() - before
    yield Figure(
        name="an entity or counterparty",
        value=(grown - resident * of_transfers) / parties,
        unit="bytes",
        promise=PARTY_BYTES,
        note=f"{(bytes_of(program.state) - in_sum * of_transfers) / parties:,.0f} by sum of structures; "
        f"mean of {entities:,} of each, {_TRANSFERS_A_PARTY} transfers a pair, {len(program.state.alerts):,} alerts",
    )


class _Program:
    """One program whose alerts a person decides."""

    def __init__(self, run: Run, shard: ShardState, traffic: Traffic) -> None:
        self.state = shard.program(traffic.name)
        self._run, self._shard, self._traffic = run, shard, traffic
        self._waiting: dict[str, int] = {}  # when each was opened

    def grow(self, transfers: int) -> None:
        events, state = self._traffic.events(), self.state
        with self._run.counting(f"{transfers:,} transfers", transfers) as done:
            while (applied := len(state.transfers)) < transfers:
                self._take(list(islice(events, _PAGE)))
                done(len(state.transfers) - applied)

    def introduce(self) -> None:
        parties = self._traffic.entities + self._traffic.counterparties
        with self._run.counting(f"{parties:,} parties", parties) as done:
            for body in self._traffic.introductions():
                self._apply(EntryKind.BANK, self._traffic.start_at, body)
                done(1)

    def _take(self, page: list[Made]) -> None:
        for event in page:
            self._apply(EntryKind.BANK, event.at + _APPENDED_AFTER_US, event.body)
        at = page[-1].at + _APPENDED_AFTER_US
        old = [alert_id for alert_id, opened_at in self._waiting.items() if opened_at <= at - _DECIDED_AFTER_US]
        for alert_id in old:
            decision = DecisionEntry(
                id=f"closes {alert_id}",
                alert_id=alert_id,
                decision=AlertDecision.CLOSE,
                narrative="Looked at, and in order.",
                operator="bench",
                operator_kind=OperatorKind.PERSON,
                at=at,
            )
            self._apply(EntryKind.DECISION, at, msgspec.json.encode(decision))
        self._apply(EntryKind.TICK, at, b"")

    def _apply(self, kind: EntryKind, at: int, body: bytes) -> None:
        entry = LogEntry(0, self._shard.applied_offset + 1, kind.value, self._traffic.name, at, body)
        self._shard.apply(entry, self._note_alerts)

    def _note_alerts(self, row: msgspec.Struct) -> None:
        if isinstance(row, AlertRow):
            self._waiting.pop(row.id, None)
            if row.status in WAITING:
                self._waiting[row.id] = row.opened_at


def _resident() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
