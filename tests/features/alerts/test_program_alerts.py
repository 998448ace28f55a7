"""Alerts on a program: opened and joined by snapshots, marked when they repeat, decided like any other."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.entries.commands import AppealEntry, EntryResult
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import MINUTE_US as MINUTE
from clearhold.features.core.instants import format_instant, month_of_day
from clearhold.features.core.rows.alerts import AlertBodyRow, AlertRow, DispositionRow, EntryResultRow
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.kri_facts import KriMemory
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory, detector_story

RATE = "unauthorized_return_rate"


def over_the_rate(**declared: Any) -> ShardStory:
    """One unauthorized return of thirty debits, delivered after a day."""
    story = detector_story(**declared)
    sent = [story.debit(f"enti_{place}", f"cpty_{place}", 100_00, place) for place in range(30)]
    story.return_debit(sent[0], "R10", DAY)
    return story


def decided(story: ShardStory, detector: str, at: int) -> None:
    story.submit(a_decision(story.alerts(detector)[-1], "close", at))


def frozen(story: ShardStory, account: str, at: int) -> None:
    data = bank.an_account(id=account, status="frozen", updated_at=bank.rfc3339(T0 + at))
    story.deliver("account.frozen", data, at=T0 + at)


def test_given_a_rate_over_its_line_then_the_alert_rests_on_the_snapshot_and_names_the_returned_debit() -> None:
    story = over_the_rate()
    assert not story.alerts(RATE), "nothing is said of a program before its snapshot"

    story.snapshot(DAY + HOUR)

    alert, evidence = story.alert(RATE), evidence_of(story.alert(RATE))
    (snapshot,) = story.last(KriSnapshotRow)
    kri = msgspec.json.decode(snapshot.kris)["ach_unauthorized_return_rate"]
    assert (alert.transfer_id, alert.score_at_alert, alert.band_at_alert) == (None, 35, "review")
    assert [(reason["id"], reason["weight"]) for reason in evidence["scoreReasons"]] == [("PRS-BRE-01", 35)]
    assert (alert.subject_type, alert.subject_id, alert.hard_signal) == ("program", PROGRAM, True)
    assert (alert.status, alert.route, alert.opened_at) == ("open", "reviewed", T0 + DAY + HOUR)
    assert {name: evidence[name] for name in ("snapshotId", "kri", "kriVersion", "isRepeat")} == {
        "snapshotId": snapshot.id,
        "kri": "ach_unauthorized_return_rate",
        "kriVersion": "kri-v1",
        "isRepeat": False,
    }
    assert {name: evidence.get(name) for name in kri} == kri | {"note": None}
    assert kri["note"] in evidence["finding"]
    returned = str(story.entries[31].offset)
    assert (evidence["restsOn"], evidence["restsOnCount"]) == ([returned], 1)
    assert "1 unauthorized returns of 30 ACH debits" in alert.summary


def test_given_the_same_figures_again_then_nothing_is_written_and_other_figures_are() -> None:
    story = over_the_rate()
    story.snapshot(DAY + HOUR)

    assert not [row for row in story.snapshot(DAY + 2 * HOUR) if isinstance(row, AlertRow | ScoreRow)]
    story.debit("enti_1", "cpty_x", 100_00, DAY + 3 * HOUR)
    story.snapshot(DAY + 4 * HOUR)

    alert, evidence = story.alert(RATE), evidence_of(story.alert(RATE))
    assert len(story.versions(RATE)) == 2
    assert (evidence["n"], evidence["hits"], evidence["lastAt"]) == (31, 2, format_instant(T0 + DAY + 4 * HOUR))
    assert evidence["snapshotId"] == story.last(KriSnapshotRow)[0].id
    assert len([row for row in story.all(AlertBodyRow) if row.alert_id == alert.id]) == 1


@pytest.mark.parametrize("changes", [True, False])
def test_given_a_tick_in_which_the_clock_runs_out_and_a_snapshot_is_due_then_the_alert_is_written_once(
    *, changes: bool
) -> None:
    story = over_the_rate()
    story.snapshot(DAY + HOUR)
    due_at = story.alert(RATE).due_at
    assert due_at is not None
    if changes:
        story.debit("enti_1", "cpty_x", 100_00, due_at - T0 - HOUR)

    story.tick(due_at - due_at % (15 * MINUTE) + 29 * MINUTE - T0)

    alert, evidence = story.one(AlertRow), evidence_of(story.one(AlertRow))
    assert story.one(KriSnapshotRow).cause == "scheduled"
    assert (alert.escalated_at, evidence["escalation"]["by"]) == (alert.updated_at, "clock")
    assert (evidence["n"], evidence["hits"]) == ((31, 2) if changes else (30, 1))


def test_given_an_alert_that_was_closed_then_its_breach_opens_no_other_but_the_next_one_does_and_says_so() -> None:
    story = detector_story()
    frozen(story, "bacc_1", HOUR)
    story.snapshot(2 * HOUR)
    decided(story, "overdraft_or_freeze", 3 * HOUR)

    for hour in range(4, 30 * 24, 12):
        story.snapshot(hour * HOUR)
    assert len(story.alerts("overdraft_or_freeze")) == 1, "the breach lasts"
    assert not [row for row in story.snapshot(31 * DAY) if isinstance(row, AlertRow)], "the freeze has left the window"
    frozen(story, "bacc_2", 33 * DAY)
    story.snapshot(33 * DAY + HOUR)

    first, second = story.alerts("overdraft_or_freeze")
    evidence = evidence_of(second)
    assert first.status == "closed"
    assert (evidence["isRepeat"], evidence["earlierBreaches"], evidence["earlierAlerts"]) == (True, 1, 1)
    assert evidence["firstBreachAt"] == format_instant(T0 + 2 * HOUR)
    assert evidence["actorIds"] == ["bacc_2"]
    assert second.summary.endswith(
        f"The program breached this indicator once before, first at {format_instant(T0 + 2 * HOUR)}."
    )


def test_given_a_breach_that_begins_again_while_its_alert_waits_then_there_is_one_alert_and_it_says_so() -> None:
    story = detector_story()
    for place, cents in enumerate((600_00, 400_00)):
        story.wire("enti_1", f"cpty_{place}", cents, place * HOUR)
    story.snapshot(2 * HOUR)
    for place in range(2, 6):
        story.wire("enti_1", f"cpty_{place}", 400_00, 3 * HOUR)
    assert not [row for row in story.snapshot(4 * HOUR) if isinstance(row, AlertRow)], "back under the line"
    story.wire("enti_1", "cpty_0", 5_000_00, 2 * DAY)
    story.snapshot(2 * DAY + HOUR)

    alert = story.alert("concentration")
    evidence = evidence_of(alert)
    assert (evidence["isRepeat"], evidence["earlierBreaches"], evidence["earlierAlerts"]) == (True, 1, 0)
    assert (evidence["counterpartyId"], evidence["restsOnCount"]) == ("cpty_0", 2)
    assert "The program breached this indicator" in alert.summary
    assert "The program breached this indicator" in msgspec.json.decode(alert.draft or "{}")["narrative"]


def test_given_the_next_breach_within_the_window_of_a_decided_alert_then_it_opens_an_alert_of_its_own() -> None:
    story = detector_story()
    story.wire("enti_1", "cpty_0", 600_00, 0)
    story.snapshot(HOUR)
    decided(story, "concentration", 2 * HOUR)
    story.wire("enti_1", "cpty_0", 1_00, 3 * HOUR)
    story.snapshot(4 * HOUR)
    assert len(story.alerts("concentration")) == 1

    story.snapshot(2 * DAY)

    first, second = story.alerts("concentration")
    assert (first.status, second.status, evidence_of(second)["earlierBreaches"]) == ("closed", "open", 1)


def test_given_a_return_that_was_dishonoured_then_the_alert_does_not_name_it() -> None:
    story = over_the_rate()
    data = story.debit("enti_1", "cpty_x", 100_00, DAY)
    details = [bank.a_return("R10", T0 + DAY), bank.a_return("R61", T0 + DAY + HOUR)]
    change = {"status": "RETURN_DISHONORED", "return_details": details, "updated_at": bank.rfc3339(T0 + DAY + HOUR)}
    story.deliver("ach.outgoing_transfer.return_dishonored", data | change, at=T0 + DAY + HOUR)
    story.snapshot(2 * DAY)

    evidence = evidence_of(story.alert(RATE))
    assert (len(evidence["restsOn"]), evidence["restsOnCount"], evidence["n"]) == (1, 1, 31)


def test_given_a_breach_that_outlasts_the_window_then_the_alert_that_waits_is_the_only_one_until_it_is_decided() -> (
    None
):
    story = over_the_rate()
    for day in range(2, 60, 4):
        story.snapshot(day * DAY)
    assert len(story.alerts(RATE)) == 1

    decided(story, RATE, 59 * DAY)
    story.snapshot(60 * DAY)

    assert evidence_of(story.alerts(RATE)[1])["earlierAlerts"] == 1


@pytest.mark.parametrize(("passed", "words"), [(2 * DAY, ""), (7 * DAY - 1, ""), (7 * DAY, " At this rate ")])
def test_given_the_first_week_of_a_month_then_an_alert_on_its_volume_states_no_rate(passed: int, words: str) -> None:
    story = detector_story(declared_monthly_volume_cents="100000")
    begins = month_of_day(T0 // DAY)[1] - T0
    story.wire("enti_1", "cpty_1", 1_000_00, begins + HOUR)
    story.snapshot(begins + passed)

    evidence = evidence_of(story.alert("volume_vs_declared"))
    said = "USD 1,000.00 in 1 transfer this month; the program declared USD 1,000.00."
    assert evidence["finding"].startswith(said + words)
    assert (evidence["finding"] == said) is not bool(words)
    assert ("program.projectedMonthCents" in evidence["features"]) is bool(words)


def test_given_a_worse_finding_after_a_decision_then_it_opens_an_alert_of_its_own() -> None:
    story = detector_story(declared_monthly_volume_cents="100000")
    story.wire("enti_1", "cpty_1", 1_000_00, 0)
    story.snapshot(HOUR)
    decided(story, "volume_vs_declared", 2 * HOUR)
    story.wire("enti_1", "cpty_1", 100_00, 3 * HOUR)
    story.snapshot(4 * HOUR)
    assert len(story.alerts("volume_vs_declared")) == 1

    story.wire("enti_1", "cpty_1", 400_00, 5 * HOUR)
    story.snapshot(6 * HOUR)

    assert [alert.severity for alert in story.alerts("volume_vs_declared")] == ["medium", "high"]


def test_given_an_alert_on_a_program_then_it_escalates_by_the_clock_and_can_be_decided_and_appealed() -> None:
    story = over_the_rate()
    story.snapshot(DAY + HOUR)
    alert = story.alert(RATE)

    story.tick(DAY + HOUR + 73 * HOUR)
    escalated = evidence_of(story.alert(RATE))
    decided(story, RATE, 5 * DAY)
    (disposition,) = story.last(DispositionRow)
    story.submit(AppealEntry(id="app_1", alert_id=alert.id, reason="New facts.", operator="ann", at=T0 + 6 * DAY))

    assert escalated["escalation"]["by"] == "clock"
    assert not {"totalCents", "transferIds", "fromHistory"} & set(escalated)
    assert (disposition.alert_id, disposition.alert_sha256) == (alert.id, alert.alert_sha256)
    assert story.one(EntryResultRow).result == EntryResult.MADE
    appeal = story.alerts(RATE)[-1]
    assert (appeal.appeal_of, appeal.status, appeal.transfer_id) == (alert.id, "open", None)


def test_given_one_request_applied_twice_then_one_snapshot_is_stored() -> None:
    story = detector_story()
    story.snapshot(HOUR)
    entry = story.entries[-1]

    story.apply(msgspec.structs.replace(entry, offset=entry.offset + (1 << 20)))

    assert not story.last_rows
    assert len(story.all(KriSnapshotRow)) == 1


def test_given_ticks_of_an_hour_then_each_quarter_has_one_snapshot_and_programs_take_turns() -> None:
    story = detector_story()
    taken = [
        minute for minute in range(60) if any(isinstance(row, KriSnapshotRow) for row in story.tick(minute * MINUTE))
    ]
    assert [minute - taken[0] for minute in taken] == [0, 15, 30, 45]

    minutes = set()
    for number in range(60):
        other = ShardStory(a_program())
        other.state.program(PROGRAM).id = f"prg_{number}"
        minutes |= {
            minute
            for minute in range(15)
            if any(isinstance(row, KriSnapshotRow) for row in other.tick(minute * MINUTE))
        }
    assert len(minutes) > 10


def test_given_200_transfers_then_each_200th_takes_a_snapshot() -> None:
    story, taken = detector_story(), []
    for number in range(1, 402):
        story.wire("enti_1", "cpty_1", 10_00, number * MINUTE)
        if story.last(KriSnapshotRow):
            taken.append((number, story.one(KriSnapshotRow).cause))

    assert taken == [(200, "transfers"), (400, "transfers")]


@pytest.mark.parametrize("at", range(0, 12, 3))
def test_given_a_restart_in_the_middle_then_the_same_rows_follow(at: int) -> None:
    def play(story: ShardStory, step: int) -> None:
        if step % 4 == 0:
            frozen(story, f"bacc_{step}", step * 8 * DAY)
        if step == 5:
            decided(story, "overdraft_or_freeze", step * 8 * DAY)
        story.snapshot(step * 8 * DAY + HOUR)

    straight, broken = detector_story(), detector_story()
    for step in range(12):
        if step == at:
            broken.state = ShardState.loaded(iter(list(broken.state.dump())))
        play(straight, step)
        play(broken, step)

    assert straight.rows == broken.rows
    assert evidence_of(straight.alerts("overdraft_or_freeze")[-1])["isRepeat"]


def test_given_breaches_then_one_lasts_until_a_day_without_and_180_days_are_remembered() -> None:
    memory = KriMemory()
    begun = [memory.add_breach("d", at) for at in (0, DAY - 1, 2 * DAY - 2, 3 * DAY, 4 * DAY)]
    later = memory.add_breach("d", 182 * DAY)

    assert [breach.is_new for breach in begun] == [True, False, False, True, True]
    assert begun[-1].earlier == (0, 3 * DAY)
    assert later.earlier == (3 * DAY, 4 * DAY)
    assert memory.add_breach("other", 182 * DAY).earlier == ()
