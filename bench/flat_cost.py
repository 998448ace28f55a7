"""Does an event cost the same after five million transfers as after ten thousand?

One program with 200,000 entities and 400,000 counterparties, all introduced before the first transfer, so that the
young state has as many of them as the old one. At each size the growing state and a fresh copy of the state at 10,000
transfers are given the same kind of events in short turns, with all their rows, and their CPU times are compared: what
slows the machine down for a while slows both down. At 10,000 transfers the two are alike, and the ratio is the noise.
Between the sizes the state grows as in a replay, without rows.

At 10,000 transfers few parties have a past, so there are few scores, usual weeks and baselines to compute. The effect
of size alone is a second figure: against 10,000 transfers of fewer parties with as many transfers each, as often.
"""

import gc
import os
import statistics
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from bench.harness import Figure, Promise, Run
from bench.stream_events import Traffic
from clearhold.features.core.log_entry import EntryKind, LogEntry, no_rows
from clearhold.features.shard.shard import ShardState
from clearhold.flows.scorer.scoring import GC_THRESHOLDS

YOUNG_TRANSFERS: Final = 10_000
SIZES: Final = (YOUNG_TRANSFERS, 100_000, 1_000_000, 5_000_000)
QUICK_TRANSFERS: Final = 50_000
RATIO: Final = Promise(1.15)
ENTITIES: Final = 200_000
QUICK_ENTITIES: Final = 20_000
COUNTERPARTIES_AN_ENTITY: Final = 2
WINDOWS: Final = 7
WINDOW_EVENTS: Final = 6_000
QUICK_WINDOW_EVENTS: Final = 2_000
TURN_EVENTS: Final = 500
_APPENDED_AT: Final = 1_900_000_000_000_000
_STEP_US: Final = 4_000_000  # five million transfers in 231 days: 90 days hold two million of them
_PAGE: Final = 5_000
_PROGRAM_ID: Final = "program-1"


class Grown(NamedTuple):
    """A state, and the entries that it is going to get."""

    state: ShardState
    entries: Iterator[LogEntry]


class Young(NamedTuple):
    """The state at ``YOUNG_TRANSFERS`` as it is dumped, to be loaded afresh at each size."""

    dumped: list[bytes]
    applied_offset: int


class Parties(NamedTuple):
    """The program's traffic, the same each time it is begun; each party's pace is the same, however many there are."""

    entities: int
    of: int

    def fewer(self, times: int) -> "Parties":
        return self._replace(entities=self.entities // times)

    @property
    def total(self) -> int:
        return self.entities * (1 + COUNTERPARTIES_AN_ENTITY)

    def traffic(self) -> Traffic:
        counterparties = self.entities * COUNTERPARTIES_AN_ENTITY
        step_us = _STEP_US * self.of // self.entities
        return Traffic("flat", entities=self.entities, counterparties=counterparties, step_us=step_us)

    def entries(self) -> Iterator[LogEntry]:
        offsets = count(self.total + 1)
        return (_entry(next(offsets), event.body) for event in self.traffic().events())


def run(run: Run) -> Iterator[Figure]:
    gc.set_threshold(*GC_THRESHOLDS)
    largest = run.asked.transfers or run.size(SIZES[-1], QUICK_TRANSFERS)
    entities = run.size(ENTITIES, QUICK_ENTITIES)
    parties = Parties(entities, of=entities)
    old = _introduced(run, parties)
    young = None
    for transfers in [*(size for size in SIZES if size < largest), largest]:
        _grow(run, old, transfers)
        young = young or Young(list(old.state.dump()), old.state.applied_offset)
        yield _against_young(run, old, young, parties, transfers)
        if transfers > YOUNG_TRANSFERS:
            yield _against_as_well_known(run, old, parties, transfers)


def _against_young(run: Run, old: Grown, young: Young, parties: Parties, transfers: int) -> Figure:
    run.say(f"comparing {transfers:,} transfers with {YOUNG_TRANSFERS:,}")
    reference = Grown(ShardState.loaded(iter(young.dumped)), parties.entries())
    for entry in reference.entries:
        if entry.offset >= young.applied_offset:
            break
    beside = f"{parties.entities:,} entities in both"
    return _compared(run, old, reference, f"cost an event at {transfers:,} transfers", beside, promise=RATIO)


def _against_as_well_known(run: Run, old: Grown, parties: Parties, transfers: int) -> Figure:
    fewer = parties.fewer(transfers // YOUNG_TRANSFERS)
    run.say(f"comparing with {YOUNG_TRANSFERS:,} transfers of {fewer.entities:,} entities")
    reference = _introduced(run, fewer)
    _grow(run, reference, YOUNG_TRANSFERS)
    beside = f"{parties.entities:,} entities and {fewer.entities:,}, who have done as much each"
    return _compared(run, old, reference, f"of it by size alone, at {transfers:,}", beside)


def _compared(run: Run, old: Grown, reference: Grown, name: str, beside: str, promise: Promise | None = None) -> Figure:
    gc.collect()
    gc.freeze()
    ratios, costs, events = [], [], run.size(WINDOW_EVENTS, QUICK_WINDOW_EVENTS)
    for _ in range(WINDOWS + 1):
        spent = {id(old): 0.0, id(reference): 0.0}
        for _ in range(events // TURN_EVENTS):
            for grown in (old, reference):
                spent[id(grown)] += _apply(grown.state, list(islice(grown.entries, TURN_EVENTS)))
        ratios.append(spent[id(old)] / spent[id(reference)])
        costs.append(spent[id(reference)] / events)
    gc.unfreeze()
    # The first window warms the fresh copy up.
    cost_us = statistics.median(costs[1:]) * 1e6
    return Figure(
        name=name,
        value=statistics.median(ratios[1:]),
        unit=f"times {YOUNG_TRANSFERS:,}'s",
        promise=promise,
        ratio=statistics.median(ratios[1:]),
        beside=f"{cost_us:.1f} µs of CPU at {YOUNG_TRANSFERS:,}, {beside}",
        note=f"windows {min(ratios[1:]):.2f} to {max(ratios[1:]):.2f}; {_resident_gb():.1f} GB for both states",
    )


def _introduced(run: Run, parties: Parties) -> Grown:
    """A state that knows the parties and no transfer."""
    grown = Grown(ShardState(0), parties.entries())
    with run.counting("introducing the parties", parties.total) as done:
        introduced = enumerate(parties.traffic().introductions(), start=1)
        while page := [_entry(offset, body) for offset, body in islice(introduced, _PAGE)]:
            _replay(grown.state, page)
            done(len(page))
    return grown


def _grow(run: Run, grown: Grown, transfers: int) -> None:
    missing = transfers - grown.state.transfers
    with run.counting(f"growing to {transfers:,} transfers", missing) as done:
        while (applied := grown.state.transfers) < transfers:
            _replay(grown.state, islice(grown.entries, min(_PAGE, transfers - applied)))
            done(grown.state.transfers - applied)


def _replay(state: ShardState, entries: Iterable[LogEntry]) -> None:
    for entry in entries:
        state.apply(entry, no_rows)


def _apply(state: ShardState, entries: list[LogEntry]) -> float:
    """CPU seconds for the entries with all their rows, which are dropped."""
    rows: list[msgspec.Struct] = []
    emit, apply = rows.append, state.apply
    started = time.thread_time()
    for entry in entries:
        apply(entry, emit)
    return time.thread_time() - started


def _entry(offset: int, body: bytes) -> LogEntry:
    return LogEntry(0, offset, EntryKind.BANK.value, _PROGRAM_ID, _APPENDED_AT, body)


def _resident_gb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e9
