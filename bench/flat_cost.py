"""Does an event cost the same after five million transfers as after ten thousand?

One program with 200,000 entities and 400,000 counterparties, all introduced before the first transfer, so that the
young state has as many of them as the old one. At each size the growing state and a fresh copy of the state at 10,000
transfers are given the same kind of events in short turns, and their CPU times are compared: what slows the machine
down for a while slows both down.
"""

import gc
import statistics
import time
from collections.abc import Iterator
from itertools import count, islice
from typing import Final, NamedTuple

import msgspec

from bench.harness import Figure, Promise, Run
from bench.stream_events import Traffic
from features.core.log_entry import EntryKind, LogEntry
from features.shard.shard import ShardState
from flows.scorer.scoring import GC_THRESHOLDS

YOUNG_TRANSFERS: Final = 10_000
SIZES: Final = (100_000, 1_000_000, 5_000_000)
QUICK_SIZES: Final = (100_000, 1_000_000)
RATIO: Final = Promise(1.15)
ENTITIES: Final = 200_000
COUNTERPARTIES: Final = 400_000
WINDOWS: Final = 7
WINDOW_EVENTS: Final = 6_000
TURN_EVENTS: Final = 500
_APPENDED_AT: Final = 1_900_000_000_000_000
_STEP_US: Final = 4_000_000  # five million transfers in 231 days: 90 days hold two million of them
_PAGE: Final = 5_000
_PROGRAM_ID: Final = "program-1"


class Grown(NamedTuple):
    """A state, and the entries that it is going to get."""

    state: ShardState
    entries: Iterator[LogEntry]


def run(run: Run) -> Iterator[Figure]:
    gc.set_threshold(*GC_THRESHOLDS)
    old = Grown(ShardState(0), _entries(_traffic()))
    with run.counting("introducing the parties", ENTITIES + COUNTERPARTIES) as done:
        introduced = enumerate(_traffic().introductions(), start=1)
        while page := [_entry(offset, body) for offset, body in islice(introduced, _PAGE)]:
            _apply(old.state, page)
            done(len(page))
    _grow(run, old, YOUNG_TRANSFERS)
    young = list(old.state.dump())
    behind = old.state.applied_offset
    for transfers in QUICK_SIZES if run.quick else SIZES:
        _grow(run, old, transfers)
        yield _compared(run, old, young, behind)


def _compared(run: Run, old: Grown, young: list[bytes], behind: int) -> Figure:
    transfers = old.state.transfers
    run.say(f"comparing {transfers:,} transfers with {YOUNG_TRANSFERS:,}")
    reference = Grown(ShardState.loaded(iter(young)), _entries(_traffic()))
    for entry in reference.entries:
        if entry.offset >= behind:
            break
    gc.collect()
    gc.freeze()
    ratios, costs = [], []
    for _ in range(WINDOWS + 1):
        spent = {id(old): 0.0, id(reference): 0.0}
        for _ in range(WINDOW_EVENTS // TURN_EVENTS):
            for grown in (old, reference):
                spent[id(grown)] += _apply(grown.state, list(islice(grown.entries, TURN_EVENTS)))
        ratios.append(spent[id(old)] / spent[id(reference)])
        costs.append(spent[id(reference)] / WINDOW_EVENTS)
    gc.unfreeze()
    # The first window warms the fresh copy up.
    cost_us = statistics.median(costs[1:]) * 1e6
    return Figure(
        name=f"cost an event at {round(transfers, -3):,} transfers",
        value=statistics.median(ratios[1:]),
        unit=f"times {YOUNG_TRANSFERS:,}'s",
        promise=RATIO,
        ratio=statistics.median(ratios[1:]),
        beside=f"{cost_us:.1f} µs of CPU at {YOUNG_TRANSFERS:,}, {ENTITIES:,} entities in both",
        note=f"windows {min(ratios[1:]):.2f} to {max(ratios[1:]):.2f}",
    )


def _grow(run: Run, grown: Grown, transfers: int) -> None:
    missing = transfers - grown.state.transfers
    with run.counting(f"growing to {transfers:,} transfers", missing) as done:
        while (applied := grown.state.transfers) < transfers:
            _apply(grown.state, list(islice(grown.entries, min(_PAGE, transfers - applied))))
            done(grown.state.transfers - applied)


def _apply(state: ShardState, entries: list[LogEntry]) -> float:
    """CPU seconds for the entries; their rows are dropped."""
    rows: list[msgspec.Struct] = []
    emit, apply = rows.append, state.apply
    started = time.thread_time()
    for entry in entries:
        apply(entry, emit)
    return time.thread_time() - started


def _traffic() -> Traffic:
    return Traffic("flat", entities=ENTITIES, counterparties=COUNTERPARTIES, step_us=_STEP_US)


def _entries(traffic: Traffic) -> Iterator[LogEntry]:
    offsets = count(ENTITIES + COUNTERPARTIES + 1)
    return (_entry(next(offsets), event.body) for event in traffic.events())


def _entry(offset: int, body: bytes) -> LogEntry:
    return LogEntry(0, offset, EntryKind.BANK.value, _PROGRAM_ID, _APPENDED_AT, body)
