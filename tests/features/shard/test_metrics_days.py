"""What a story adds to the tallies of its days, worked out by hand, and the days that ticks store."""

import msgspec
import pytest

from clearhold.features.core.entries.commands import LabelEntry, OperatorKind
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.rows.parties import MetricsDayRow
from clearhold.features.core.vocabulary import LabelSource, LabelValue
from clearhold.features.shard.questions import ReadDays
from clearhold.features.shard.shard import ShardState
from tests.support.alert_rows import a_decision
from tests.support.bank_events import a_return, an_ach_transfer, changed, rfc3339
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.programs import NOON, auto_closed_alert, denied_entity
from tests.support.stories import PROGRAM, ShardStory

TODAY = T0 // DAY_US
MIDNIGHT = TODAY * DAY_US - T0 + DAY_US
"""The first one behind T0, as the stories count."""


def totals(story: ShardStory, first_day: int = TODAY, upto_day: int = TODAY + 1) -> DayTotals:
    return ReadDays(first_day, upto_day).answer(story.program)


def stored_days(story: ShardStory, at: int) -> list[MetricsDayRow]:
    return [row for row in story.tick(at) if isinstance(row, MetricsDayRow)]


def test_given_a_debit_that_comes_back_unauthorized_and_is_dishonoured_then_its_day_says_what_stands() -> None:
    debit = an_ach_transfer(type="DEBIT", amount=125_00)
    story = ShardStory(a_program()).deliver("ach.outgoing_transfer.settled", debit)
    landed = totals(story)
    back = changed(debit, rfc3339(T0 + 3 * DAY_US), status="RETURNED", return_details=[a_return("R10")])
    story.deliver("ach.outgoing_transfer.returned", back, at=T0 + 3 * DAY_US)
    returned = totals(story)
    again = changed(back, rfc3339(T0 + 5 * DAY_US), status="RETURN_DISHONORED")
    story.deliver("ach.outgoing_transfer.return_dishonored", again, at=T0 + 5 * DAY_US)
    dishonoured = totals(story)

    def shown(day: DayTotals) -> tuple[int, ...]:
        return day.transfers, day.cents, day.returned, day.unauthorized, day.unscored, day.unscored_bad, day.unscored_ok

    assert shown(landed) == (1, 125_00, 0, 0, 1, 0, 0)
    assert shown(returned) == (1, 125_00, 1, 1, 1, 1, 0)
    assert shown(dishonoured) == (1, 125_00, 0, 0, 1, 0, 1)
    assert totals(story, TODAY + 1, TODAY + 9).events == {"ach": {"applied": 2}}


def test_given_a_debit_that_we_return_then_it_is_a_return_and_accuses_nobody_here() -> None:
    debit = an_ach_transfer(type="DEBIT", is_incoming=True, status="RETURNED", return_details=[a_return("R10")])
    story = ShardStory(a_program()).deliver("ach.incoming_transfer.returned", debit)

    assert (totals(story).returned, totals(story).unauthorized) == (1, 0)


def test_given_a_transfer_that_is_canceled_then_it_counts_and_its_money_does_not() -> None:
    sent = an_ach_transfer(amount=125_00)
    story = ShardStory(a_program()).deliver("ach.outgoing_transfer.initiated", sent)
    canceled = changed(sent, rfc3339(T0 + HOUR_US), status="CANCELED")
    story.deliver("ach.outgoing_transfer.canceled", canceled, at=T0 + HOUR_US)

    assert (totals(story).transfers, totals(story).cents) == (1, 0)


def test_given_an_alert_that_a_person_decides_as_drafted_then_its_wait_is_counted_and_no_overturn() -> None:
    story = denied_entity()  # it opens at one hour
    story.submit(a_decision(story.alert("kyc_denied_moving"), "escalate", 2 * HOUR_US + 30 * 60_000_000))
    story.submit(a_decision(story.alert("kyc_denied_moving"), "close", 5 * HOUR_US))
    day = totals(story)

    assert (day.alerts, day.auto_closed, day.reviews, day.overturns) == (1, 0, 2, 1)
    assert day.waits == (5_400,)  # the second decision is not the first


def test_given_an_alert_that_the_policy_closed_when_a_person_holds_it_then_that_is_an_overturn_and_no_wait() -> None:
    story, alert = auto_closed_alert()
    opened, now = (T0 + NOON) // DAY_US, NOON + 30 * HOUR_US
    before = totals(story, opened, opened + 1)
    story.submit(a_decision(alert, "hold", now))
    day = totals(story, (T0 + now) // DAY_US, (T0 + now) // DAY_US + 1)

    assert (before.alerts, before.auto_closed, before.reviews) == (1, 1, 0)
    assert (day.alerts, day.reviews, day.overturns, day.waits) == (0, 1, 1, ())


def test_given_a_key_that_closes_what_the_policy_had_closed_then_that_is_no_review() -> None:
    story, alert = auto_closed_alert()
    now = NOON + 30 * HOUR_US
    story.submit(
        a_decision(alert, "close", now, operator="key:live_12345678", operator_kind=OperatorKind.KEY),
    )
    day = totals(story, (T0 + now) // DAY_US, (T0 + now) // DAY_US + 1)

    assert story.alert(alert.detector).status == "closed"
    assert (day.reviews, day.waits) == (0, ())


def test_given_an_event_from_the_future_then_it_counts_on_the_day_it_came() -> None:
    story = ShardStory(a_program())
    story.deliver("ach.outgoing_transfer.settled", an_ach_transfer(), at=T0 + 9 * DAY_US, appended_at=T0)

    assert totals(story).events == {"ach": {"applied": 1}}


def test_given_labels_ok_then_those_of_the_last_day_and_of_sixty_days_before_it_are_provisional() -> None:
    story = ShardStory(a_program())
    for age in (0, 59, 60, 61, 62):
        at = T0 - age * DAY_US
        sent = an_ach_transfer(id=f"acht_{age}", created_at=rfc3339(at), updated_at=None)
        story.deliver("ach.outgoing_transfer.settled", sent, at=T0)
        story.submit(
            LabelEntry(
                id=f"lbl_{age}",
                transfer_id=f"acht_{age}",
                label=LabelValue.OK,
                reason="It was fine.",
                source=LabelSource.PERSON,
                recorded_by="j.lee",
                at=T0,
            )
        )

    assert totals(story, TODAY - 90, TODAY + 1).unscored_ok == 5
    assert totals(story, TODAY - 90, TODAY + 1).provisional_ok == 3
    assert totals(story, TODAY - 90, TODAY).provisional_ok == 3  # a day earlier that of 61 days is still one


def test_given_a_clear_transfer_in_an_alert_that_the_policy_closed_then_it_did_not_pass_without_an_alert() -> None:
    story, alert = auto_closed_alert()
    day = (T0 + NOON) // DAY_US
    in_alert = {transfer for row in story.versions(alert.detector) for transfer in ids_in(row.evidence)}

    assert alert.band_at_alert == "clear"
    assert totals(story, day, day + 1).clear - totals(story, day, day + 1).unalerted == len(in_alert)


def ids_in(evidence: str) -> list[str]:
    ids: list[str] = msgspec.json.decode(evidence)["transferIds"]
    return ids


def test_given_a_new_day_then_its_first_tick_stores_the_day_that_ended_once() -> None:
    story = ShardStory(a_program())
    assert stored_days(story, 0) == []  # its first tick begins its first day
    story.deliver("ach.outgoing_transfer.settled", an_ach_transfer())

    assert stored_days(story, MIDNIGHT - 1) == []
    (row,) = stored_days(story, MIDNIGHT + 7)
    assert stored_days(story, MIDNIGHT + 60_000_000) == []

    assert (row.tenant_id, row.program_id, row.window_days) == ("ten_1", PROGRAM, 30)
    assert (row.day_at, row.as_of_at) == (TODAY * DAY_US, T0 + MIDNIGHT + 7)
    assert msgspec.json.decode(row.totals, type=DayTotals) == totals(story, TODAY - 29, TODAY + 1)


def test_given_days_without_a_tick_then_the_next_one_stores_them_as_they_are_known_by_then() -> None:
    story = ShardStory(a_program())
    story.tick(0)
    late = an_ach_transfer(created_at=rfc3339(T0 + DAY_US), updated_at=None)
    story.deliver("ach.outgoing_transfer.settled", late, at=T0 + 2 * DAY_US)
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    rows = stored_days(story, MIDNIGHT + 2 * DAY_US)

    assert [row.day_at // DAY_US - TODAY for row in rows] == [0, 1, 2]
    assert [msgspec.json.decode(row.totals, type=DayTotals).transfers for row in rows] == [0, 1, 1]


def test_given_the_log_again_then_the_same_days_are_stored() -> None:
    story = ShardStory(a_program())
    for day in range(4):
        story.deliver("ach.outgoing_transfer.settled", an_ach_transfer(id=f"acht_{day}"), at=T0 + day * DAY_US)
        story.tick(day * DAY_US)
    rows: list[msgspec.Struct] = []
    again = ShardState(0)
    for entry in story.entries:
        again.apply(entry, rows.append)

    assert [row for row in rows if isinstance(row, MetricsDayRow)] == story.all(MetricsDayRow)
    assert len(story.all(MetricsDayRow)) == 3


def test_given_a_service_that_was_down_for_long_then_the_last_thirty_days_are_stored() -> None:
    story = ShardStory(a_program())
    story.tick(0)

    rows = stored_days(story, MIDNIGHT + 400 * DAY_US)

    assert [row.day_at // DAY_US - TODAY for row in rows] == list(range(371, 401))


def test_given_a_state_of_no_program_then_no_day_of_it_is_stored() -> None:
    story = ShardStory().deliver("ach.outgoing_transfer.settled", an_ach_transfer())
    story.tick(0)

    assert stored_days(story, MIDNIGHT) == []


@pytest.mark.parametrize("ahead_us", [2 * DAY_US, 400 * DAY_US])
def test_given_ticks_of_a_clock_that_was_ahead_when_it_is_right_again_then_every_day_is_stored_when_it_ends(
    ahead_us: int,
) -> None:
    story = ShardStory(a_program())
    story.tick(MIDNIGHT - HOUR_US)
    story.tick(MIDNIGHT - HOUR_US + ahead_us)

    assert stored_days(story, MIDNIGHT - HOUR_US // 2) == []
    for number in range(3):
        (row,) = stored_days(story, MIDNIGHT + number * DAY_US)
        assert row.day_at == (TODAY + number) * DAY_US
        assert stored_days(story, MIDNIGHT + number * DAY_US + HOUR_US) == []
