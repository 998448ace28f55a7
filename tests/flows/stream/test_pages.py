"""The pages of the log: bounded by time, with every busy shard in each. A clock moves only by the work of the test."""

from collections.abc import Mapping
from itertools import pairwise
from threading import Event
from typing import Final

import pytest
from bytewax.testing import run_main

from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.scoring import score_bank_events
from clearhold.flows.stream.dataflow import BATCH_ENTRIES, LogSource, RecordSink, RowBatch, StepContext

SHARDS: Final = 16
PAGE_S: Final = 0.5
READABLE_WITHIN_S: Final = 2.0
_US: Final = 1_000_000


class _Room:
    """A flow over a log whose entries are there from a time on; each takes its shard's ``cost_s`` to apply.

    It is the flow's ``Reader`` and its ``RowSink``. The entries are of no known kind: each becomes one row.
    """

    def __init__(self, appended_at: Mapping[int, list[float]], cost_s: float) -> None:
        self.time_s = 0.0
        self.pauses: list[float] = []
        self.unreachable = 0
        self.commits: list[tuple[float, RowBatch]] = []
        self.shards = Shards(SHARDS)
        self._cost_s = cost_s
        self._log = {
            shard: [LogEntry(shard, offset, "odd", "p", int(at * _US), b"") for offset, at in enumerate(times, 1)]
            for shard, times in appended_at.items()
        }

    def read(self, after: Mapping[int, int], *, count: int, block_ms: int) -> list[tuple[int, list[LogEntry]]]:
        if self.unreachable:
            self.unreachable -= 1
            raise ConnectionError("gone")
        found: dict[int, list[LogEntry]] = {}
        for shard, offset in after.items():
            there = [each for each in self._log.get(shard, ())[offset:] if each.appended_at <= self.time_s * _US]
            if there:
                found[shard] = there[:count]
        self.time_s += 0 if found else block_ms / 1_000
        return [*found.items()]

    def tail(self, shard: int) -> int:
        return len(self._log.get(shard, ()))

    def put(self, batch: RowBatch) -> None:
        self.commits.append((self.time_s, batch))

    def source(self, draining: Event) -> LogSource:
        return LogSource(
            lambda _: self,
            shards=range(SHARDS),
            applied=self.shards.applied_offset,
            pause=self._pause,
            draining=draining,
            stopping=Event(),
        )

    def run(self) -> None:
        """Until the log that is there is drained."""
        draining = Event()
        draining.set()
        context = StepContext(self.shards, {}, lambda *_: None, between_entries=self._work, now_s=lambda: self.time_s)
        run_main(score_bank_events(self.source(draining), context=context, record=RecordSink(self)))  # type: ignore[no-untyped-call]

    def committed(self) -> list[tuple[float, int, int]]:
        """(time of the commit, shard, offset) of each entry, in the order of the rows."""
        return [
            (at, row["shard"], row["offset"])
            for at, batch in self.commits
            for row in batch.tables[QuarantineRow.__name__].to_pylist()
        ]

    def waits_s(self, shard: int) -> list[float]:
        """From the append of each entry of the shard to its commit."""
        times = {offset: at for at, of, offset in self.committed() if of == shard}
        return [times[entry.offset] - entry.appended_at / _US for entry in self._log[shard]]

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time_s += seconds

    def _work(self) -> None:
        self.time_s += self._cost_s


FLOODS = {
    "one shard, slow entries": (range(1), 3_000, 0.004),
    "one shard, very slow entries": (range(1), 300, 0.04),
    "one shard, quick entries": (range(1), 80_000, 0.00015),
    "ten shards, slow entries": (range(10), 300, 0.004),
    "fifteen shards, slow entries": (range(15), 300, 0.004),
}


@pytest.mark.parametrize(("flooded", "entries", "cost_s"), FLOODS.values(), ids=FLOODS)
def test_given_a_flood_in_other_shards_when_entries_come_then_each_is_committed_within_two_seconds(
    flooded: range, entries: int, cost_s: float
) -> None:
    trickle = [0.2 * each for each in range(1, 50)]
    room = _Room({shard: [0.0] * entries for shard in flooded} | {15: trickle}, cost_s)

    room.run()

    assert max(room.waits_s(15)) < READABLE_WITHIN_S
    assert min(max(room.waits_s(shard)) for shard in flooded) > trickle[-1]


@pytest.mark.parametrize(("flooded", "entries", "cost_s"), FLOODS.values(), ids=FLOODS)
def test_given_a_flood_then_no_page_takes_longer_than_its_time_and_an_entry_a_shard(
    flooded: range, entries: int, cost_s: float
) -> None:
    room = _Room({shard: [0.0] * entries for shard in flooded}, cost_s)

    room.run()

    for _, batch in room.commits:
        assert batch.entries * cost_s < PAGE_S + (len(flooded) + 1) * cost_s


@pytest.mark.parametrize(("flooded", "entries", "cost_s"), FLOODS.values(), ids=FLOODS)
def test_given_a_flood_then_each_entry_is_applied_once_in_the_order_of_its_shard(
    flooded: range, entries: int, cost_s: float
) -> None:
    room = _Room({shard: [0.0] * entries for shard in flooded} | {15: [1.0, 1.1, 4.0]}, cost_s)
    room.unreachable = 2

    room.run()

    offsets: dict[int, list[int]] = {}
    for _, shard, offset in room.committed():
        offsets.setdefault(shard, []).append(offset)
    assert offsets == {shard: [*range(1, entries + 1)] for shard in flooded} | {15: [1, 2, 3]}
    applied = {shard: offset for _, batch in room.commits for shard, offset in batch.offsets.items()}
    assert applied == {shard: len(of_shard) for shard, of_shard in offsets.items()}


def test_given_few_entries_when_some_were_not_applied_in_their_page_then_the_next_page_has_them_without_a_pause() -> (
    None
):
    room = _Room({3: [0.0] * 10}, 0.0)
    pages = room.source(Event()).build("", 0, 1)
    (first,) = pages.next_batch()
    for entry in first.entries[:4]:
        room.shards.apply(entry, lambda _: None)

    (second,) = pages.next_batch()

    assert second.entries == first.entries[4:]
    assert room.pauses == []
    for entry in second.entries:
        room.shards.apply(entry, lambda _: None)
    assert [*pages.next_batch()] == []
    assert len(room.pauses) == 1  # which gathers entries


def test_given_quick_entries_then_a_page_is_as_large_as_a_read() -> None:
    room = _Room({3: [0.0] * 4 * BATCH_ENTRIES}, 0.0001)

    room.run()

    assert [batch.entries for _, batch in room.commits[:4]] == [BATCH_ENTRIES] * 4


def test_given_one_busy_shard_beside_fifteen_with_few_entries_then_it_has_its_whole_part_of_each_page() -> None:
    few = {shard: [0.01 * each for each in range(200)] for shard in range(1, SHARDS)}
    room = _Room({0: [0.0] * 20_000} | few, 0.0002)

    room.run()

    offsets = [batch.offsets[0] for at, batch in room.commits if at < few[1][-1]]
    assert min(later - before for before, later in pairwise([0, *offsets])) >= BATCH_ENTRIES // SHARDS
