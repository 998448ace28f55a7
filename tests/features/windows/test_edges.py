"""Distinct parties, usual weeks and first payments of a node against a list that is searched from end to end."""

from random import Random
from typing import NamedTuple

import pytest

from clearhold.features.core.instants import DAY_US, DAYS_7, HOUR_US
from clearhold.features.measurement.subject import STRANGER
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.recency import median_of, week_of
from tests.support.clock import T0

SPANS = (8 * HOUR_US, DAY_US, DAYS_7)


class Fact(NamedTuple):
    at: int
    row: int
    other: int
    known_at: int
    gone_at: int | None = None


class Naive:
    """Every edge that ever was, with the time from which and until which it was known."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def then(self, at: int, but: int) -> list[Fact]:
        return [
            fact
            for fact in self.facts
            if fact.at <= at and fact.known_at <= at and (fact.gone_at is None or fact.gone_at > at) and fact.row != but
        ]

    def distinct(self, at: int, but: int, also: int | None) -> list[int]:
        facts = self.then(at, but)
        return [
            len({fact.other for fact in facts if fact.at > at - span} | ({also} if also is not None else set()))
            for span in SPANS
        ]

    def usual_week(self, at: int) -> int | None:
        weeks: dict[int, set[int]] = {}
        for fact in self.then(at, NOBODY):
            weeks.setdefault(week_of(fact.at), set()).add(fact.other)
        first, this = min(weeks, default=week_of(at)), week_of(at)
        return median_of(len(weeks.get(week, ())) for week in range(max(first, this - 12), this))


def grown(chance: Random, edges: Edges, naive: Naive, *, parties: int, gap: int) -> None:
    now = T0
    for row in range(900):
        now += chance.randrange(gap)
        at = now - chance.choice((0, 0, 0, 0, 1, 60_000_000, HOUR_US, 3 * DAY_US, 15 * DAY_US))
        other = chance.randrange(parties)
        edges.add_edge(at, row, other)
        naive.facts.append(Fact(at, row, other, at))
        if chance.random() < 0.05:
            standing = [fact for fact in naive.facts[-80:] if fact.gone_at is None]
            fact = chance.choice(standing)
            edges.remove_edge(fact.at, fact.row, known_at=now)
            naive.facts[naive.facts.index(fact)] = fact._replace(gone_at=now)
        if chance.random() < 0.4:
            asked = chance.choice((now, now, now + HOUR_US, at, now - 2 * DAY_US, now - 9 * DAY_US))
            but = chance.choice((NOBODY, NOBODY, row))
            also = chance.choice((None, other, chance.randrange(parties), parties + 5, STRANGER))
            assert edges.distinct(SPANS, asked, but=but, also=also) == naive.distinct(asked, but, also)
            assert edges.usual_week(asked) == naive.usual_week(asked)
            firsts: dict[int, int] = {}
            for fact in sorted(naive.then(asked, NOBODY), reverse=True):
                firsts[fact.other] = fact.at
            known = edges.firsts_of(set(firsts), asked, but=NOBODY)
            assert known == firsts


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("parties", "gap"),
    [(3, 4 * HOUR_US), (400, HOUR_US // 2), (400, 6 * HOUR_US), (40, DAY_US), (5, 10 * DAY_US), (5, 30 * DAY_US)],
)
def test_given_random_edges_when_parties_are_counted_then_they_are_those_of_a_search(
    seed: int, parties: int, gap: int
) -> None:
    grown(Random(seed), Edges(), Naive(), parties=parties, gap=gap)


def test_given_more_parties_than_a_search_looks_at_when_they_are_counted_then_all_are() -> None:
    edges = Edges()
    for row in range(1_000):
        edges.add_edge(T0 + row, row, row % 700)

    at = T0 + 1_000

    assert edges.distinct(SPANS, at, but=NOBODY, also=None) == [700, 700, 700]
    assert edges.distinct(SPANS, at, but=NOBODY, also=9_999) == [701, 701, 701]
    assert edges.distinct(SPANS, at, but=NOBODY, also=5) == [700, 700, 700]


def test_given_a_late_edge_of_a_completed_week_when_the_usual_week_is_asked_again_then_it_counts() -> None:
    edges = Edges()
    edges.add_edge(T0, 0, 1)
    later = T0 + DAYS_7
    edges.add_edge(later, 1, 1)

    assert edges.usual_week(later) == 1

    edges.add_edge(T0 + 1, 2, 2)

    assert edges.usual_week(later) == 2


def changed(chance: Random, edges: Edges, naive: Naive, now: int, *, spread: int) -> None:
    """One of the newest transfers is taken out, or gets another party, or comes back."""
    index = chance.randrange(max(0, len(naive.facts) - spread), len(naive.facts))
    fact = naive.facts[index]
    if fact.gone_at is None:
        edges.remove_edge(fact.at, fact.row, known_at=now)
        naive.facts[index] = fact._replace(gone_at=now)
        if chance.random() < 0.7:
            other = chance.choice((fact.other, chance.randrange(40)))
            edges.add_edge(fact.at, fact.row, other, known_at=now)
            naive.facts.append(Fact(fact.at, fact.row, other, now))
    elif all(each.gone_at is not None for each in naive.facts if each.row == fact.row):
        edges.add_edge(fact.at, fact.row, fact.other, known_at=now)
        naive.facts.append(fact._replace(known_at=now, gone_at=None))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("late", [0, 3, 40, 200])
@pytest.mark.parametrize("change_share", [0.0, 0.02, 0.5])
@pytest.mark.parametrize(("parties", "gap"), [(1, 50), (40, 2), (400, 3 * HOUR_US // 2)])
def test_given_late_equal_and_changed_edges_when_a_window_is_read_then_it_is_that_of_a_search(
    seed: int, late: int, change_share: float, parties: int, gap: int
) -> None:
    chance, edges, naive = Random(seed), Edges(), Naive()
    now = T0
    for row in range(500):
        now += chance.randrange(gap)
        at = now - chance.randrange(late * gap + 1)
        other = chance.randrange(parties)
        edges.add_edge(at, row, other)
        naive.facts.append(Fact(at, row, other, at))
        if chance.random() < change_share:
            changed(chance, edges, naive, now, spread=chance.choice((5, 300)))
        if row % 7:
            continue
        asked = chance.choice((at, at, now, naive.facts[chance.randrange(len(naive.facts))].at))
        but = chance.choice((NOBODY, row, chance.randrange(row + 1)))
        also = chance.choice((None, other, parties + 5, STRANGER))
        known = sorted((fact.at, fact.row, fact.other) for fact in naive.then(asked, but))
        assert edges.distinct(SPANS, asked, but=but, also=also) == naive.distinct(asked, but, also)
        assert edges.edges_between(asked - DAY_US, asked, but=but) == [
            edge for edge in known if edge[0] > asked - DAY_US
        ]
        near = edges.near(asked - DAYS_7, asked, but=but, as_of=asked)
        newest = [edge for edge in known if edge[0] > asked - DAYS_7][-64:]
        assert list(zip(near.times, near.rows, near.others, strict=True)) == newest
        firsts = {party: instant for instant, _, party in reversed(known)}
        if but == NOBODY:
            assert edges.firsts_of(set(firsts), asked, but=but) == firsts
        assert edges.usual_week(asked) == naive.usual_week(asked)
