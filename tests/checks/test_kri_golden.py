"""Every indicator just under, at and over its lines: the answer by hand, the naive recomputation, and the service."""

from fractions import Fraction

import msgspec
import pytest

from clearhold.features.core.rows.events import QuarantineRow
from tests.checks import kri_cases_of_alerts, kri_cases_of_people, kri_cases_of_programs
from tests.checks.kri_bank import Bank
from tests.checks.kri_cases import CASES, NOON, UNAUTHORIZED, Case
from tests.checks.kri_feed import Feed
from tests.checks.kri_oracle import LINES, Fleet, kris
from tests.checks.kri_playing import entries_of, judged_of, played, readings

FLEET = Fleet(Fraction("0.015"), Fraction("0.0003"))
TELLERS = (kri_cases_of_alerts, kri_cases_of_people, kri_cases_of_programs)


def told(case: Case) -> Bank:
    bank = Bank(case.now)
    case.play(bank)
    return bank


MANY = 60
"""So many events are loaded late in no case: it is the small ones that say how late news counts."""
IDS = [f"{case.kri}: {case.claim}" for case in CASES]


@pytest.mark.parametrize(
    ("case", "live"),
    [
        pytest.param(case, live, id=f"{name}, {'live' if live else 'late'}")
        for case, name in zip(CASES, IDS, strict=True)
        for live in (True, False)
        if live or not (case.live_only or len(told(case).events) > MANY)
    ],
)
def test_given_a_golden_stream_when_measured_then_it_is_the_answer_by_hand(case: Case, *, live: bool) -> None:
    entries = entries_of(told(case), live=live)
    feed, rows = Feed(), list[msgspec.Struct]()
    state = played(entries, each=rows.append)
    for entry in entries:
        feed.take(entry)

    naive = kris(feed, case.now, judged_of(rows), FLEET)[case.kri]
    reading = readings(state, case.now)[case.kri]

    assert not [row for row in rows if isinstance(row, QuarantineRow)]
    assert (naive.value, naive.status) == (case.value, case.status)
    assert (reading.value, str(reading.status)) == (
        None if case.value is None else pytest.approx(float(case.value), rel=1e-12),
        case.status,
    )
    assert reading.n == naive.n
    assert case.n in (None, reading.n)


def test_given_the_golden_streams_when_counted_then_every_indicator_has_some() -> None:
    assert {case.kri for case in CASES} == set(LINES)


@pytest.mark.parametrize(("debits", "says"), [(199, True), (200, False)])
def test_given_few_debits_when_measured_then_the_note_says_that_one_return_can_cross_the_line(
    debits: int, *, says: bool
) -> None:
    bank = Bank(NOON)
    bank.debits(debits, "R10")

    reading = readings(played(entries_of(bank, live=False), each=lambda _row: None), NOON)[UNAUTHORIZED]

    assert (reading.note is not msgspec.UNSET) is says


def test_given_a_reserve_when_measured_then_the_note_says_how_exposure_was_counted() -> None:
    bank = Bank(NOON)
    kri_cases_of_programs.reserve(bank, 1, 1)

    reading = readings(played(entries_of(bank, live=False), each=lambda _row: None), NOON)["reserve_coverage"]

    assert "USD 400.00 x 0.2" in reading.note
    assert "USD 800.00 x 0.1" in reading.note


def test_given_a_balance_when_its_account_is_declared_as_the_reserve_later_then_it_is_known() -> None:
    bank = Bank(NOON)
    kri_cases_of_programs.reserve(bank, 160_00, 0)
    declaration = entries_of(bank, live=False)[0]
    bank.declared = {}
    entries = entries_of(bank, live=True)
    entries.append(msgspec.structs.replace(declaration, offset=entries[-1].offset + 1))

    reading = readings(played(entries, each=lambda _row: None), NOON)["reserve_coverage"]

    assert (reading.value, reading.n) == (1.0, 8)
