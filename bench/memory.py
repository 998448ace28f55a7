"""How many bytes of memory do a transfer and a party take, with all their indexes?

Resident memory of a process of its own, before and after. Many transfers of few parties give the bytes of a transfer;
many parties with few transfers, less the bytes of those transfers, give the bytes of a party. Two events a transfer,
both remembered for good as delivered, count to the transfer.

Unit    bytes; resident memory as the kernel counts it, after free memory was given back to it
"""

import ctypes
import gc
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Final

import msgspec

from bench.harness import Figure, Promise, Run
from bench.stream_events import Traffic
from features.core.log_entry import EntryKind, LogEntry
from features.shard.shard import ShardState

TRANSFER_BYTES: Final = Promise(250)
PARTY_BYTES: Final = Promise(1_500)
FEW_ENTITIES: Final = 500
FEW_COUNTERPARTIES: Final = 1_000
_TRANSFERS_A_PARTY: Final = 2
_STEP_US: Final = 5_000_000  # a million transfers in 58 days: all of them within the window of 90 days
_APPENDED_AT: Final = 1_900_000_000_000_000
_PAGE: Final = 2_000


def run(run: Run) -> Iterator[Figure]:
    transfers = run.size(1_000_000, 300_000)
    state = ShardState(0)
    # A first program warms up what is made once: decoders, caches, pools.
    _grow(run, state, "warm", Traffic("warm", entities=50, counterparties=50), 2_000)
    before = _resident()
    traffic = Traffic("many", entities=FEW_ENTITIES, counterparties=FEW_COUNTERPARTIES, step_us=_STEP_US)
    _grow(run, state, "many", traffic, transfers)
    a_transfer = (_resident() - before) / transfers
    yield Figure(
        name="a transfer",
        value=a_transfer,
        unit="bytes",
        promise=TRANSFER_BYTES,
        note=f"{transfers:,} transfers of {FEW_ENTITIES} entities",
    )
    entities = run.size(200_000, 50_000)
    before = _resident()
    traffic = Traffic("parties", entities=entities, counterparties=entities, step_us=_STEP_US)
    _introduce(run, state, "parties", traffic)
    _grow(run, state, "parties", traffic, entities * _TRANSFERS_A_PARTY)
    grown = _resident() - before - a_transfer * entities * _TRANSFERS_A_PARTY
    yield Figure(
        name="an entity or counterparty",
        value=grown / (2 * entities),
        unit="bytes",
        promise=PARTY_BYTES,
        note=f"mean of {entities:,} of each, {_TRANSFERS_A_PARTY} transfers a pair",
    )


def _grow(run: Run, state: ShardState, program_id: str, traffic: Traffic, transfers: int) -> None:
    program = state.program(program_id)
    events, offsets = traffic.events(), count(state.applied_offset + 1)
    with run.counting(f"{transfers:,} transfers", transfers) as done:
        while (applied := len(program.transfers)) < transfers:
            for event in islice(events, _PAGE):
                state.apply(_entry(program_id, next(offsets), event.body), _dropped)
            done(len(program.transfers) - applied)


def _introduce(run: Run, state: ShardState, program_id: str, traffic: Traffic) -> None:
    parties = traffic.entities + traffic.counterparties
    with run.counting(f"{parties:,} parties", parties) as done:
        for offset, body in enumerate(traffic.introductions(), start=state.applied_offset + 1):
            state.apply(_entry(program_id, offset, body), _dropped)
            if offset % _PAGE == 0:
                done(_PAGE)


def _entry(program_id: str, offset: int, body: bytes) -> LogEntry:
    return LogEntry(0, offset, EntryKind.BANK.value, program_id, _APPENDED_AT, body)


def _dropped(_row: msgspec.Struct) -> None:
    """The rows are the store's business."""


def _resident() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
