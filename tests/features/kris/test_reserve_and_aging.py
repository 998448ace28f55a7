"""Reserve coverage and the agings, worked out by hand: at, under and over each line."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.entries.directory import DirectoryEntry, DirectoryKind, DirectoryResult
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.parties import AccountRow
from clearhold.features.core.vocabulary import AlertStatus, Band, Route, Severity, SlaTier, SubjectType
from clearhold.features.policy.seeds import CLOCK_V1
from clearhold.features.state.alert_state import NO_IDS, AlertState
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.holds import HeldStory
from tests.support.kris import days, give_back, measured, originate, seen
from tests.support.policies import in_force_at
from tests.support.stories import ShardStory, detector_story

RESERVE = KriName.RESERVE_COVERAGE
REVIEW, HOLD = KriName.REVIEW_AGING_HOURS, KriName.HOLD_AGING_HOURS
DAY = days(1)


def reserved() -> ShardStory:
    return detector_story(program_reserve_account_id="bacc_r")


def balance(story: ShardStory, available: object, locked: object = 0, *, at: int = 0, **over: Any) -> None:
    balances = {"available_amount": available, "pending_amount": 7, "holding_amount": 7, "locked_amount": locked}
    data = bank.an_account(id="bacc_r", type="PROGRAM_RESERVE", **{"balances": balances} | over)
    story.deliver("account.unfrozen", data, at=T0 + at)


def test_given_a_hundred_debits_of_today_then_the_reserve_is_held_against_the_fleets_rates_of_them() -> None:
    story = reserved()
    originate(story, 100, 0, amount=1_000_00)  # 100,000.00: 1.5 % of 2 banking days and 0.03 % of 60 days are 1,530.00
    told = []
    for available in (191_200, 191_199, 152_950, 152_949):
        balance(story, available, 50, at=HOUR_US)
        told.append(seen(story, RESERVE, HOUR_US))

    assert told == [
        (1.25, 100, "ok"),
        (191_249 / 153_000, 100, "watch"),
        (1.0, 100, "watch"),
        (152_999 / 153_000, 100, "breach"),
    ]
    assert measured(story, RESERVE, HOUR_US).note == (
        "USD 1,529.99 of reserve over USD 100,000.00 x 0.015 (ACH debits of 2 banking days) + "
        "USD 100,000.00 x 0.0003 (of 60 days)."
    )


def test_given_two_banking_days_then_weekends_do_not_count_among_them() -> None:
    story = reserved()  # T0 is a Monday
    balance(story, 3_000_00)
    originate(story, 1, 4 * DAY, amount=100_000_00)  # on Friday

    assert seen(story, RESERVE, 8 * DAY)[0] == 300_000 / 153_000  # Tuesday: from Friday's midnight on
    assert seen(story, RESERVE, 9 * DAY)[0] == 300_000 / 3_000


def test_given_own_rates_over_the_fleets_then_the_exposure_is_measured_with_them() -> None:
    story = reserved()
    balance(story, 90_00)
    debit = give_back(story, originate(story, 10, 0, amount=100_00)[0], "R10", HOUR_US)

    assert seen(story, RESERVE, HOUR_US) == (0.5, 9, "breach")  # of 90,000 cents that may still come back 0.1, twice
    give_back(story, debit, "R68", 2 * HOUR_US, status="RETURN_DISHONORED")
    assert seen(story, RESERVE, 2 * HOUR_US) == (9_000 / 1_530, 10, "ok")


@pytest.mark.parametrize(
    ("over", "cents"),
    [
        ({"balances": {"available_amount": 100, "locked_amount": 23}}, 123),
        ({"balances": {"available_amount": "100", "locked_amount": "23"}}, 123),
        ({"balances": {"available_balance": 100, "locked_balance": "23"}}, 123),
        ({"balances": {"available_amount": -100, "locked_amount": "23"}}, -77),
        ({"balances": {"available_amount": "-100", "locked_amount": 0}}, -100),
        ({"balances": {"available_amount": 100}}, None),
        ({"balances": {"available_amount": 1.5, "locked_amount": 0}}, None),
        ({"balances": [], "currency_code": "USD"}, None),
        ({"currency_code": "EUR"}, None),
    ],
)
def test_given_the_spellings_of_a_balance_then_available_and_locked_are_read_or_nothing_is(
    over: bank.Data, cents: int | None
) -> None:
    story = reserved()
    originate(story, 1, 0, amount=100_00)
    balance(story, 0, at=0, **over)

    value, n, status = seen(story, RESERVE, 0)
    exposure = 10_000 * 0.015 + 10_000 * 0.0003
    assert (value, n) == ((None, 0) if cents is None else (pytest.approx(cents / exposure), 1))
    assert (status == "unmeasured") == (cents is None)


def test_given_snapshots_out_of_order_then_the_newest_wins_also_the_directorys() -> None:
    story = reserved()
    originate(story, 1, 0, amount=100_00)
    balance(story, 2_00, at=2 * HOUR_US)
    balance(story, 1_00, at=3 * HOUR_US, updated_at=bank.rfc3339(T0 + HOUR_US))
    before = seen(story, RESERVE, 3 * HOUR_US)[0]
    fetched = DirectoryEntry(
        kind=DirectoryKind.ACCOUNT,
        id="bacc_r",
        result=DirectoryResult.FOUND,
        fetched_at=T0 + 4 * HOUR_US,
        digest="0",
        data=msgspec.Raw(msgspec.json.encode(bank.an_account(id="bacc_r"))),
    )
    story.append(EntryKind.DIRECTORY, msgspec.json.encode(fetched), at=T0 + 4 * HOUR_US)

    assert before == pytest.approx(200 / 153)
    assert seen(story, RESERVE, 4 * HOUR_US)[0] == pytest.approx(250_000 / 153)


@pytest.mark.parametrize(
    ("reserve", "debits", "note"),
    [
        (None, 1, "The program names no reserve account."),
        ("bacc_x", 1, "The bank has stated no balance of the reserve account."),
        (
            "bacc_r",
            0,
            (
                "USD 1.00 of reserve over USD 0.00 x 0.015 (ACH debits of 2 banking days) + "
                "USD 0.00 x 0.0003 (of 60 days)."
            ),
        ),
    ],
)
def test_given_no_reserve_account_balance_or_exposure_then_the_coverage_is_unmeasured(
    reserve: str | None, debits: int, note: str
) -> None:
    story = detector_story(program_reserve_account_id=reserve)
    balance(story, 100)
    originate(story, debits, 0)

    coverage = measured(story, RESERVE, 0)
    assert (coverage.value, coverage.n, coverage.status.value, coverage.note) == (None, 0, "unmeasured", note)


def test_given_a_reserve_account_that_nothing_has_named_then_it_has_a_row_for_the_directory_to_be_asked() -> None:
    story = reserved()
    assert [row.id for row in story.all(AccountRow)] == ["bacc_r"]
    balance(story, 100)
    story.declare(a_program(program_reserve_account_id="bacc_r"))

    assert not story.last(AccountRow)


def waiting(
    story: ShardStory,
    opened_at: int,
    band: Band | None,
    status: AlertStatus = AlertStatus.OPEN,
    subject: SubjectType = SubjectType.ENTITY,
) -> AlertState:
    """An alert that waits since an instant."""
    book = story.program.alerts
    alert = AlertState(
        id=f"alert_{len(book)}",
        detector="velocity_spike",
        severity=Severity.MEDIUM,
        subject_type=subject,
        subject_id="enti_1",
        transfer_id="trf_1",
        score=None,
        band=band,
        hard=False,
        in_hold=False,
        status=status,
        route=Route.REVIEWED,
        policy_version="policy-v1",
        opened_at=T0 + opened_at,
        closed_at=None,
        dedupe_key="",
        due_at=None,
        escalated_at=None,
        sla_tier=SlaTier.STANDARD,
        from_history=False,
        appeal_of=None,
        alert_sha256="",
        recommendation=None,
        ends_at=T0 + opened_at,
        hits=1,
        cents=0,
        first_at=T0,
        last_at=T0,
        packed_transfers=NO_IDS,
        disposition_ids=(),
        stored_texts=b"",
    )
    book.put(alert)
    return alert


@pytest.mark.parametrize(("name", "band", "watch", "clock"), [(REVIEW, Band.REVIEW, 18, 24), (HOLD, Band.HOLD, 54, 72)])
def test_given_an_alert_that_waits_then_watch_is_at_three_quarters_of_its_clock_and_breach_over_it(
    name: KriName, band: Band, watch: int, clock: int
) -> None:
    story = detector_story()
    waiting(story, 0, band)

    for at, status in (
        (watch * HOUR_US - 1, "ok"),
        (watch * HOUR_US, "watch"),
        (clock * HOUR_US, "watch"),
        (clock * HOUR_US + 1, "breach"),
    ):
        assert seen(story, name, at) == (at / HOUR_US, 1, status)
    assert measured(story, name, 0).threshold == clock


def test_given_ten_alerts_then_the_ninth_oldest_is_the_90th_percentile_whatever_their_order() -> None:
    story = detector_story()
    for hour in (3, 9, 1, 0, 5, 2, 8, 7, 4, 6):
        waiting(story, hour * HOUR_US, Band.REVIEW)

    assert seen(story, REVIEW, 10 * HOUR_US) == (9, 10, "ok")
    assert seen(story, HOLD, 10 * HOUR_US) == (None, 0, "unmeasured")


def test_given_alerts_that_are_held_then_they_age_as_held_and_decided_ones_no_more() -> None:
    story = detector_story()
    held = waiting(story, 0, None, AlertStatus.HELD)
    waiting(story, HOUR_US, Band.HOLD, AlertStatus.ESCALATED)
    waiting(story, 0, Band.CLEAR)
    waiting(story, 0, Band.HOLD, AlertStatus.AUTO_CLOSED)
    assert seen(story, HOLD, 2 * HOUR_US) == (2, 2, "ok")

    held.status = AlertStatus.CLOSED
    story.program.alerts.put(held)

    assert seen(story, HOLD, 2 * HOUR_US) == (1, 1, "ok")
    assert seen(story, REVIEW, 2 * HOUR_US) == (None, 0, "unmeasured")


@pytest.mark.parametrize("status", [AlertStatus.OPEN, AlertStatus.HELD, AlertStatus.ESCALATED])
@pytest.mark.parametrize("band", [None, Band.CLEAR, Band.REVIEW, Band.HOLD])
def test_given_an_alert_on_the_program_then_it_ages_in_neither_band_also_while_a_person_holds_it(
    band: Band | None, status: AlertStatus
) -> None:
    story = detector_story()
    alert = waiting(story, 0, band, status, SubjectType.PROGRAM)
    assert [seen(story, name, 100 * HOUR_US) for name in (REVIEW, HOLD)] == [(None, 0, "unmeasured")] * 2
    assert (alert in story.program.alerts.held_alerts()) == (status is AlertStatus.HELD)

    waiting(story, 90 * HOUR_US, Band.REVIEW, AlertStatus.HELD)

    assert [seen(story, name, 100 * HOUR_US) for name in (REVIEW, HOLD)] == [(10, 1, "ok")] * 2


def test_given_an_alert_on_the_program_that_a_person_holds_then_no_hold_ages_until_a_transfer_is_held() -> None:
    held = HeldStory()
    (on_program,) = [alert for alert in held.alerts() if alert.subject_type == "program"]
    assert held.decide(on_program, "hold") == "made"
    assert seen(held.story, HOLD, held.now) == (None, 0, "unmeasured")

    held.wire()

    assert len(held.alerts("held")) == 3
    assert seen(held.story, HOLD, held.now)[1] == 2


def test_given_an_alert_that_a_later_transfer_holds_then_it_ages_from_its_opening_until_it_is_no_longer_held() -> None:
    held = HeldStory()
    (alert,) = [alert for alert in held.alerts() if alert.detector == "kyc_denied_moving"]
    assert (alert.status, alert.band_at_alert, alert.opened_at) == ("open", "clear", T0 + 79 * DAY)
    assert seen(held.story, HOLD, held.now) == (None, 0, "unmeasured")

    held.wire()  # 25 hours after the opening
    for other in held.alerts():
        if other.id != alert.id:
            held.decide(other, "close")
    now = held.now
    assert seen(held.story, HOLD, now) == ((now - 79 * DAY) / HOUR_US, 1, "ok")

    told = []
    for decision in ("escalate", "hold", "release"):
        assert held.decide(alert, decision) == "made"
        told.append(seen(held.story, HOLD, now + 5 * HOUR_US)[:2])
    age = (now + 5 * HOUR_US - 79 * DAY) / HOUR_US
    assert told == [(None, 0), (age, 1), (None, 0)]

    appeal = held.appeal(alert)
    assert (appeal.status, appeal.opened_at) == ("held", T0 + held.now)
    assert seen(held.story, HOLD, held.now + 2 * HOUR_US) == (2, 1, "ok")


def test_given_a_clock_that_changes_then_the_lines_are_those_of_the_one_in_force() -> None:
    story = detector_story()
    waiting(story, 0, Band.REVIEW)
    in_force_at(story, "clock-v2", replace(CLOCK_V1, standard_hours=4), 3 * HOUR_US)

    assert seen(story, REVIEW, 3 * HOUR_US) == (3, 1, "watch")
    assert measured(story, REVIEW, 3 * HOUR_US).threshold == 4
