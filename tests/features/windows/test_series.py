"""Time-ordered facts against a list that is searched from end to end."""

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.series import ALWAYS, EventTimes

INSTANTS = st.integers(0, 40)
CENTS = st.one_of(st.integers(0, 5), st.sampled_from((15 * 10**8, 10**17, 10**18 - 1)))


class Fact(NamedTuple):
    at: int
    cents: int
    known_at: int
    gone_at: int | None

    def counts(self, after: int, upto: int) -> bool:
        known = self.known_at <= upto and (self.gone_at is None or self.gone_at > upto)
        return known and after < self.at <= upto


class Naive:
    """Every fact that ever was, with the time from which and until which it was known."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def standing(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.gone_at is None]

    def remove(self, fact: Fact, known_at: int) -> None:
        self.facts[self.facts.index(fact)] = fact._replace(gone_at=known_at)

    def within(self, after: int, upto: int) -> list[Fact]:
        return sorted((fact for fact in self.facts if fact.counts(after, upto)), key=lambda fact: fact.at)


class Step(NamedTuple):
    """Add a fact, or take out one of those that stand; what is known later is known after all before it."""

    at: int
    cents: int
    late_by: int | None
    take_out: int | None


STEPS = st.lists(
    st.builds(
        Step,
        at=INSTANTS,
        cents=CENTS,
        late_by=st.none() | st.integers(0, 10),
        take_out=st.none() | st.none() | st.integers(0, 9),
    ),
    max_size=25,
)


def applied(steps: list[Step]) -> tuple[EventTimes, AmountSeries, Naive]:
    times, amounts, naive = EventTimes(), AmountSeries(), Naive()
    for step in steps:
        standing = naive.standing()
        if step.take_out is not None and standing:
            fact = standing[step.take_out % len(standing)]
            known_at = max(fact.at, fact.known_at) + (step.late_by or 0)
            times.remove(fact.at, known_at=known_at)
            amounts.remove_amount(fact.at, fact.cents, known_at=known_at)
            naive.remove(fact, known_at)
            continue
        late = None if step.late_by is None else step.at + step.late_by
        times.add(step.at, known_at=late)
        amounts.add_amount(step.at, step.cents, known_at=late)
        naive.facts.append(Fact(step.at, step.cents, ALWAYS if late is None else late, None))
    return times, amounts, naive


@settings(max_examples=300, deadline=None)
@given(steps=STEPS, after=st.just(ALWAYS) | st.integers(-1, 45), upto=st.integers(-1, 60))
def test_given_facts_added_and_taken_out_when_a_window_is_measured_then_it_is_what_was_known_at_its_end(
    steps: list[Step], after: int, upto: int
) -> None:
    times, amounts, naive = applied(steps)

    expected = naive.within(after, upto) if after < upto else []
    if after < upto:
        assert times.count(after, upto) == amounts.count(after, upto) == len(expected)
        assert amounts.measure(after, upto) == (len(expected), sum(fact.cents for fact in expected) % 2**64)
    assert times.count(ALWAYS, upto) == len(naive.within(ALWAYS, upto))


@settings(max_examples=300, deadline=None)
@given(steps=STEPS, upto=st.integers(-1, 60), skip=st.integers(0, 3))
def test_given_facts_added_and_taken_out_when_the_ends_are_asked_for_then_they_are_those_known_then(
    steps: list[Step], upto: int, skip: int
) -> None:
    times, amounts, naive = applied(steps)

    known = [fact.at for fact in naive.within(ALWAYS, upto)]

    newest = known[-1 - skip] if len(known) > skip else None
    assert times.previous(upto, skip=skip) == amounts.previous(upto, skip=skip) == newest
    assert times.first(upto) == amounts.first(upto) == (known[0] if known else None)


@settings(max_examples=300, deadline=None)
@given(steps=STEPS, after=st.integers(-1, 45), upto=st.integers(-1, 60), most=st.integers(1, 6), own=st.integers(0, 30))
def test_given_facts_added_and_taken_out_when_the_newest_are_asked_for_then_the_larger_ones_of_an_instant_are_newer(
    steps: list[Step], after: int, upto: int, most: int, own: int
) -> None:
    _, amounts, naive = applied(steps)
    known = naive.within(after, upto)
    but = (known[own].at, known[own].cents) if own < len(known) else None

    others = sorted((fact.at, fact.cents) for fact in known)
    if but is not None:
        others.remove(but)

    assert amounts.newest(after, upto, most=most, but=but) == [cents for _, cents in others[-most:]]


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, upto=st.integers(-1, 60))
def test_given_a_series_when_it_is_dumped_and_loaded_then_it_answers_the_same(steps: list[Step], upto: int) -> None:
    _, amounts, _ = applied(steps)

    loaded = AmountSeries()
    loaded.load(amounts.dump())

    assert loaded.dump() == amounts.dump()
    assert loaded.measure(ALWAYS, upto) == amounts.measure(ALWAYS, upto)
    assert loaded.previous(upto, skip=0) == amounts.previous(upto, skip=0)


@pytest.mark.parametrize("most", [1_000, 20_000_000, 10**17])
def test_given_a_long_history_when_facts_arrive_late_then_all_sums_behind_them_follow(most: int) -> None:
    chance, series, facts = Random(7), AmountSeries(), list[tuple[int, int]]()
    for step in range(600):
        if step % 150 == 149:
            series, dumped = AmountSeries(), series.dump()
            series.load(dumped)
            assert series.dump() == dumped
        fact = (chance.randrange(10_000), chance.randrange(most))
        series.add_amount(*fact)
        facts.append(fact)
        if len(facts) % 7 == 0:
            gone = facts.pop(chance.randrange(len(facts)))
            assert series.remove_amount(*gone, known_at=ALWAYS + 1) is not None

    for _ in range(200):
        after, upto = sorted((chance.randrange(10_000), chance.randrange(10_000)))
        inside = [cents for at, cents in facts if after < at <= upto]
        assert series.measure(after, upto) == (len(inside), sum(inside) % 2**64)


def test_given_no_such_fact_when_it_is_taken_out_then_nothing_changes() -> None:
    series, times = AmountSeries(), EventTimes()
    series.add_amount(5, 100)
    times.add(5)

    times.remove(4, known_at=9)

    assert times.count(ALWAYS, 5) == 1
    assert series.remove_amount(5, 99, known_at=9) is None
    assert series.remove_amount(4, 100, known_at=9) is None
    assert series.measure(ALWAYS, 5) == (1, 100)


@settings(max_examples=200, deadline=None)
@given(mine=STEPS, theirs=STEPS, after=st.just(ALWAYS) | st.integers(-1, 45), upto=st.integers(-1, 60))
def test_given_two_series_of_any_length_when_one_takes_over_the_other_then_it_answers_as_both_together(
    mine: list[Step], theirs: list[Step], after: int, upto: int
) -> None:
    (_, amounts, naive), (_, others, further) = applied(mine), applied(theirs)

    amounts.absorb(others)

    both = [*naive.within(after, upto), *further.within(after, upto)] if after < upto else []
    if after < upto:
        assert amounts.measure(after, upto) == (len(both), sum(fact.cents for fact in both) % 2**64)
    standing = sorted((fact.at, fact.cents) for fact in (*naive.standing(), *further.standing()))
    assert list(amounts.all_facts()) == standing


@pytest.mark.parametrize("seed", range(3))
def test_given_many_facts_that_became_known_late_when_the_ends_are_asked_for_then_they_are_those_known_then(
    seed: int,
) -> None:
    chance, amounts, naive = Random(seed), AmountSeries(), Naive()
    for at in range(150):
        cents, late = chance.randrange(3), at + chance.randrange(25) if chance.random() < 0.5 else None
        amounts.add_amount(at // 2, cents, known_at=late)
        naive.facts.append(Fact(at // 2, cents, ALWAYS if late is None else late, None))
        upto, most, since = chance.randrange(at + 1), chance.randrange(1, 6), chance.randrange(-2, 4)
        after = upto - chance.randrange(1, 40)
        known = sorted((fact.at, fact.cents) for fact in naive.within(after, upto))

        assert amounts.newest_facts(after, upto, most=most) == known[-most:]
        if since <= upto:
            assert amounts.begins_after(since, upto) is not any(fact.at <= since for fact in naive.within(ALWAYS, upto))
