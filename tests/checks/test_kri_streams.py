"""Random streams: the indicators equal their naive recomputation at any moment, also after a start."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.checks.kri_agreement import Compared
from tests.checks.kri_feed import Feed, Transfer
from tests.checks.kri_oracle import LINES, Fleet, kris
from tests.checks.kri_playing import judged_of
from tests.checks.random_kri_streams import kri_stream

FLEET = Fleet(Fraction("0.015"), Fraction("0.0003"))
AFTER = (0, 1, SECOND_US, HOUR_US, DAY_US - 1, DAY_US, 7 * DAY_US, 30 * DAY_US, 60 * DAY_US)
SEEDS = range(12)
HAPPENINGS = 60


@pytest.mark.parametrize("seed", SEEDS)
def test_given_a_random_stream_when_measured_at_any_moment_then_it_is_what_a_reader_would_count(seed: int) -> None:
    chance = Random(seed)
    compared = Compared(FLEET)
    entries = kri_stream(chance, HAPPENINGS)
    moments = {chance.randrange(len(entries)) for _ in range(8)}
    restart = chance.randrange(len(entries))

    for place, (entry, following) in enumerate(pairwise(entries)):
        compared.take(entry)
        if place == restart:
            compared.restart()
        if place in moments:
            now = min(entry.appended_at + chance.choice(AFTER), following.appended_at)
            assert not compared.differences(now), (place, now)
    compared.take(entries[-1])
    for after in sorted(AFTER):
        assert not compared.differences(entries[-1].appended_at + after), after


class Reached:
    """What the streams had in them, by name, and the values that came of it."""

    def __init__(self) -> None:
        self.things: Counter[str] = Counter()
        self.statuses: Counter[tuple[str, bool]] = Counter()
        self.values: defaultdict[str, set[object]] = defaultdict(set)

    def read(self, entries: list[LogEntry]) -> None:
        compared = Compared(FLEET)
        for place, entry in enumerate(entries):
            before = {each.id: replace(each) for each in compared.feed.transfers.values()}
            compared.take(entry)
            self._compare(before, compared.feed)
            self.things["an owner told late"] += entry.kind == EntryKind.OWNER and bool(before)
            self.things["a declaration that changes"] += entry.kind == EntryKind.PROGRAM and place > 0
            if place % 12 == 0:
                for name, reading in kris(compared.feed, entry.appended_at, judged_of(compared.rows), FLEET).items():
                    self.statuses[name, reading.value is None] += 1
                    self.values[name].add(reading.value)

    def _compare(self, before: dict[str, Transfer], feed: Feed) -> None:
        for now in feed.transfers.values():
            then = before.get(now.id)
            if then is None:
                self.things["first told long after"] += now.arrived_at - now.own > DAY_US
                continue
            returned = now.returned
            if returned is not None and then.returned is None:
                self.things["back after more than 60 days"] += returned.delivered_at - now.own > 60 * DAY_US
                self.things["RCK that came back"] += now.sec_code == "RCK"
                self.things["a credit that came back"] += now.type == "CREDIT"
            if returned is not None and then.returned is not None:
                self.things["dishonoured"] += returned.undone and not then.returned.undone
                self.things["contested"] += then.returned.undone and not returned.undone
            self.things["another amount"] += now.cents != then.cents
            self.things["another counterparty"] += now.party != then.party
            self.things["no longer moved"] += then.moved and not now.moved
            self.things["moved after all"] += now.moved and not then.moved


@pytest.fixture(scope="module")
def reached() -> Reached:
    read = Reached()
    for seed in SEEDS:
        read.read(kri_stream(Random(seed), HAPPENINGS))
    return read


def test_given_the_random_streams_when_read_then_what_is_hard_to_count_is_in_them(reached: Reached) -> None:
    assert {
        *("back after more than 60 days", "RCK that came back", "a credit that came back", "dishonoured", "contested"),
        *("another amount", "another counterparty", "no longer moved", "moved after all", "first told long after"),
        *("an owner told late", "a declaration that changes"),
    } == {thing for thing, count in reached.things.items() if count >= 3}, reached.things


@pytest.mark.parametrize("kri", LINES)
def test_given_the_random_streams_when_measured_then_each_indicator_is_null_and_has_many_values(
    reached: Reached, kri: str
) -> None:
    assert reached.statuses[kri, False] >= 15
    assert reached.statuses[kri, True] >= 3
    assert len(reached.values[kri]) >= 3
