"""Shares of a program's transfers against a count of all of them."""

from array import array
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.thresholds import COUNTED_SIGNALS
from clearhold.features.core.instants import DAY_US
from clearhold.features.windows import prevalence
from clearhold.features.windows.prevalence import EDGES, KEPT_DAYS, Prevalence, ShareReading, counted

FEW: Final = 4
NONE: Final = (None,) * len(EDGES)


class Seen(NamedTuple):
    at: int
    values: tuple[int | None, ...]
    is_card: bool


VALUE: Final = st.one_of(
    st.none(), st.integers(0, 700), st.sampled_from(next(iter(EDGES.values()))), st.integers(0, 10**12)
)
TRANSFER: Final = st.builds(
    Seen,
    st.one_of(st.integers(0, 12 * DAY_US), st.integers(0, 600 * DAY_US)),
    st.tuples(*(VALUE for _ in EDGES)),
    st.booleans(),
)


def asked(counters: Prevalence, at: int, *values: int | None, is_card: bool = False) -> ShareReading:
    """The share of a transfer without a value of the measures after the first two."""
    return counters.share(at, values, is_card=is_card)


def count(counters: Prevalence, at: int, *values: int | None, is_card: bool = False) -> None:
    counters.add(at, asked(counters, at, *values, is_card=is_card).reached, is_card=is_card)


def newest_day(seen: list[Seen]) -> int:
    return max((each.at // DAY_US for each in seen), default=0)


def is_kept(seen: list[Seen], day: int) -> bool:
    return not seen or day > newest_day(seen) - KEPT_DAYS


def naive(seen: list[Seen], asked: Seen) -> tuple[int | None, ...]:
    """Every transfer that was counted, looked at again for each measure."""
    day = asked.at // DAY_US
    alike = [each for each in seen if each.is_card == asked.is_card]
    quarter, week = ([each for each in alike if day - days <= each.at // DAY_US < day] for days in (90, 7))
    if len(quarter) < FEW or not is_kept(seen, day - 90):
        return (None,) * len(EDGES)
    windows = [quarter, week] if len(week) >= FEW else [quarter]
    return tuple(
        None if value is None else max(per_thousand(window, number, value, edges) for window in windows)
        for number, (value, edges) in enumerate(zip(asked.values, EDGES.values(), strict=True))
    )


def per_thousand(window: list[Seen], number: int, value: int, edges: tuple[int, ...]) -> int:
    edge = max((each for each in edges if each <= value), default=None)
    others = [each.values[number] for each in window]
    as_much = sum(1 for other in others if edge is None or (other is not None and other >= edge))
    return -(-1_000 * as_much // len(window))


@pytest.fixture(autouse=True, scope="module")
def few() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prevalence, "FLOOR", FEW)
        yield


@settings(max_examples=300, deadline=None)
@given(transfers=st.lists(TRANSFER, max_size=60), reloaded=st.integers(0, 60))
def test_given_transfers_in_any_order_when_each_is_asked_about_and_counted_then_shares_are_the_naive_ones(
    transfers: list[Seen], reloaded: int
) -> None:
    counters, seen = Prevalence(), list[Seen]()

    for number, each in enumerate(transfers):
        if number == reloaded:
            counters, former = Prevalence(), counters
            counters.load(former.dump())
        share = counters.share(each.at, each.values, is_card=each.is_card)
        assert share.permille == [*naive(seen, each)]
        assert share.rarest in {None, 1_000, *share.permille}
        assert share.rarest == min((known for known in share.permille if known is not None), default=share.rarest)
        counters.add(each.at, share.reached, is_card=each.is_card)
        if is_kept(seen, each.at // DAY_US):
            seen.append(each)

    for each in transfers:
        assert counters.share(each.at, each.values, is_card=each.is_card).permille == [*naive(seen, each)]


def test_given_a_day_when_more_of_it_is_counted_then_its_own_shares_stay_and_those_of_the_next_day_change() -> None:
    counters, today, tomorrow = Prevalence(), DAY_US, 2 * DAY_US
    for number in range(10):
        count(counters, number, 100, 0)
    for day in (today, tomorrow):
        assert asked(counters, day, 510, 0).permille[:2] == [0, 1_000]

    count(counters, today, 600, 500)

    assert asked(counters, today, 510, 0).permille[:2] == [0, 1_000]
    assert asked(counters, tomorrow, 510, 0).permille[:2] == [91, 1_000]


def test_given_many_in_the_last_week_when_asked_then_the_larger_share_counts() -> None:
    counters = Prevalence()
    for number in range(96):
        count(counters, number, 100, 0)
    for number in range(4):
        count(counters, 40 * DAY_US + number, 1_000 if number else 100, 0)

    assert asked(counters, 41 * DAY_US, 900, None).rarest == 750
    assert asked(counters, 60 * DAY_US, 900, None).rarest == 30


SIGNALS: Final = COUNTED_SIGNALS[:3]
DAYS: Final = st.one_of(st.integers(0, 12), st.integers(0, 140)).map(lambda day: day * DAY_US)


@settings(max_examples=200, deadline=None)
@given(
    transfers=st.lists(st.tuples(DAYS, st.sets(st.sampled_from(SIGNALS)), st.booleans()), max_size=60),
    most=st.sampled_from((30, 200, 500)),
)
def test_given_scored_transfers_in_any_order_when_asked_then_the_common_signals_are_those_counted_one_by_one(
    transfers: list[tuple[int, set[str], bool]], most: int
) -> None:
    counters, seen = Prevalence(), list[tuple[int, set[str], bool]]()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prevalence, "COMMON_FROM_PERMILLE", most + 1)
        for number, each in enumerate([*transfers, *transfers]):
            at, signals, is_card = each
            assert counters.share(at, NONE, is_card=is_card).common == common_by_hand(seen, each, most)
            if number < len(transfers):
                counters.add(at, counted([*sorted(signals), "TRS-KYC-01"]), is_card=is_card)
                seen.append(each)


def common_by_hand(seen: list[tuple[int, set[str], bool]], asked: tuple[int, set[str], bool], most: int) -> str | None:
    day = asked[0] // DAY_US
    alike = [(at // DAY_US, signals) for at, signals, is_card in seen if is_card == asked[2]]
    windows = [[signals for of, signals in alike if day - days <= of < day] for days in (90, 7)]
    if len(windows[0]) < FEW:
        return None
    return " ".join(
        signal
        for signal in SIGNALS
        if any(len(each) >= FEW and 1_000 * sum(signal in one for one in each) > most * len(each) for each in windows)
    )


def test_given_a_late_transfer_of_a_day_before_when_asked_again_on_the_same_day_then_it_is_counted() -> None:
    counters, signal = Prevalence(), SIGNALS[0]
    for number in range(FEW):
        counters.add(number, counted(()), is_card=False)
    assert counters.share(3 * DAY_US, NONE, is_card=False).common == ""

    counters.add(3 * DAY_US, counted([signal]), is_card=False)
    assert counters.share(3 * DAY_US, NONE, is_card=False).common == ""

    counters.add(2 * DAY_US, counted([signal]), is_card=False)
    assert counters.share(3 * DAY_US, NONE, is_card=False).common == signal
    assert counters.share(2 * DAY_US, NONE, is_card=False).common == ""


def test_given_cards_when_others_are_asked_about_then_they_are_apart() -> None:
    counters = Prevalence()
    for number in range(FEW):
        count(counters, number, 9_600, 2_400, is_card=True)

    assert asked(counters, DAY_US, 510, 150, is_card=True).permille[:2] == [1_000, 1_000]
    assert asked(counters, DAY_US, 510, 150).permille[:2] == [None, None]
    assert asked(counters, DAY_US, 510, 150).rarest is None


def test_given_years_of_transfers_when_they_are_dumped_then_no_more_than_the_kept_days_are_there() -> None:
    counters = Prevalence()
    for day in range(3 * KEPT_DAYS):
        count(counters, day * DAY_US, 100, 0, is_card=bool(day % 2))

    _, kinds = counters.dump()

    a_row = 4 * (1 + sum(len(edges) for edges in EDGES.values()) + len(COUNTED_SIGNALS))
    assert [len(rows) // a_row for _, rows in kinds] == [KEPT_DAYS, KEPT_DAYS + 1]


def test_given_counters_near_their_end_when_more_is_counted_then_the_shares_are_right() -> None:
    counters, width = Prevalence(), 1 + sum(len(edges) for edges in EDGES.values()) + len(COUNTED_SIGNALS)
    full = array("I", [2**32 - 5] * width).tobytes()
    counters.load((KEPT_DAYS, [(0, full * (KEPT_DAYS + 1)), (0, b"")]))

    for number in range(10):
        count(counters, (KEPT_DAYS + 1) * DAY_US + number, 100 if number else 600, 0)

    assert asked(counters, (KEPT_DAYS + 2) * DAY_US, 510, 0).permille[:2] == [100, 1_000]


def test_given_questions_about_many_days_when_they_are_answered_then_few_days_are_kept_in_memory() -> None:
    counters = Prevalence()
    for day in range(100):
        count(counters, day * DAY_US, 100, 0)

    answers = [[asked(counters, day * DAY_US, 510, 0) for day in range(100)] for _ in range(2)]

    assert answers[0] == answers[1]
    assert len(counters._read) <= 16
