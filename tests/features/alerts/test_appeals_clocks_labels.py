"""What follows a decision: appeals against it, clocks that run until it is made, labels that tell if it was right."""

from typing import Any

import msgspec
import pytest

from clearhold.features.alerts.rows import make_worse
from clearhold.features.core.entries.commands import AppealEntry, LabelEntry
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow, EntryResultRow, LabelRow
from clearhold.features.core.vocabulary import LabelSource, LabelValue, Severity
from clearhold.features.detectors.detector import Grade
from clearhold.features.policy.seeds import CLOCK_V1
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of, results_of
from tests.support.clock import T0
from tests.support.programs import alert_with_status, denied_entity
from tests.support.stories import ShardStory, detector_story


def an_appeal(alert_id: str, at: int, **over: Any) -> AppealEntry:
    usual: dict[str, Any] = {"id": f"apl_{at}", "alert_id": alert_id, "reason": "There is more.", "operator": "a.kim"}
    return AppealEntry(**usual | over, at=T0 + at)


def test_given_a_closed_alert_when_it_is_appealed_then_a_new_one_waits_that_points_to_it() -> None:
    story, old, _ = alert_with_status("closed")

    rows = story.submit(an_appeal(old.id, 4 * HOUR, id="apl_1"))

    (new,) = (row for row in rows if isinstance(row, AlertRow))
    (result,) = (row for row in rows if isinstance(row, EntryResultRow))
    assert (result.result, result.kind, result.opened_alert_id) == ("made", "appeal", new.id)
    assert (new.status, new.route, new.sla_tier, new.appeal_of) == ("open", "reviewed", "appeal", old.id)
    assert (new.detector, new.subject_id, new.transfer_id) == (old.detector, old.subject_id, old.transfer_id)
    assert (new.draft, new.opened_at) == (None, T0 + 4 * HOUR)
    assert new.due_at == new.opened_at + round(CLOCK_V1.appeal_hours * HOUR_US)
    assert evidence_of(new)["routeReason"] == "appeal"
    assert evidence_of(new)["appeal"] == {
        "alertId": old.id,
        "status": "closed",
        "reason": "There is more.",
        "by": "operator:a.kim",
    }
    assert story.alerts(old.detector)[0] == old


@pytest.mark.parametrize(
    ("status", "result"),
    [("open", "not_final"), ("held", "not_final"), ("auto_closed", "not_final"), ("closed", "made")],
)
def test_given_an_alert_then_only_a_closed_one_can_be_appealed_and_only_once(status: str, result: str) -> None:
    story, alert, at = alert_with_status(status)

    first = story.submit(an_appeal(alert.id, at))
    repeated = story.submit(an_appeal(alert.id, at))
    second = story.submit(an_appeal(alert.id, at + 1))

    assert results_of(first) == [result]
    assert results_of(second) == ["appealed" if result == "made" else result]
    assert results_of(repeated) == ([] if result == "made" else [result])
    assert results_of(story.submit(an_appeal("no such alert", at))) == ["unknown"]


def test_given_an_appeal_when_it_is_decided_then_it_can_be_appealed_itself_and_overturns_nothing() -> None:
    story, old, _ = alert_with_status("closed")
    story.submit(an_appeal(old.id, 4 * HOUR))
    story.tick(100 * DAY)
    (appeal,) = (row for row in story.alerts(old.detector) if row.appeal_of == old.id)

    story.submit(a_decision(appeal, "escalate", 101 * DAY))
    story.submit(a_decision(appeal, "close", 102 * DAY))
    rows = story.submit(an_appeal(appeal.id, 103 * DAY))

    assert results_of(rows) == ["made"]
    assert {row.overturns_draft for row in story.all(DispositionRow) if row.alert_id == appeal.id} == {None}


def test_given_a_closed_alert_that_is_resting_then_it_is_final_and_can_be_appealed_still() -> None:
    story, old, _ = alert_with_status("closed")
    story.wire("enti_2", "cpty_1", 10_00, 30 * DAY)
    story.tick(30 * DAY)
    assert story.state.program("prg_1").alerts.is_resting(old.id)

    final = story.submit(a_decision(old, "hold", 31 * DAY))
    appealed = story.submit(an_appeal(old.id, 31 * DAY))

    assert (results_of(final), results_of(appealed)) == (["final"], ["made"])


def alert_rows(rows: list[msgspec.Struct]) -> list[AlertRow]:
    return [row for row in rows if isinstance(row, AlertRow)]


def test_given_a_waiting_alert_when_its_due_time_has_passed_at_a_tick_then_it_is_escalated_once() -> None:
    story = denied_entity()
    alert = story.alert("kyc_denied_moving")
    assert alert.due_at == alert.opened_at + round(CLOCK_V1.standard_hours * HOUR_US)
    due = alert.due_at - T0

    before, at_due, after = (
        [row for row in alert_rows(story.tick(at)) if row.id == alert.id] for at in (due - 1, due, due + DAY)
    )

    assert (before, after) == ([], [])
    (escalated,) = at_due
    assert (escalated.id, escalated.escalated_at, escalated.status) == (alert.id, T0 + due, "open")
    assert evidence_of(escalated)["escalation"] == {"at": format_instant(T0 + due), "by": "clock"}


@pytest.mark.parametrize(
    ("grade", "tier", "hours"),
    [
        (Grade(Severity.HIGH, hard=True), "standard", 34),
        (Grade(Severity.LOW, hard=True), "standard", 34),
        (Grade(Severity.HIGH, hard=False), "complex", 72),
    ],
)
def test_given_a_waiting_alert_that_becomes_hard_then_it_is_due_as_soon_as_a_hard_one_and_first_in_lists(
    grade: Grade, tier: str, hours: int
) -> None:
    story = detector_story()
    for place in range(4):
        story.wire("enti_1", "cpty_1", 9_500_00, place * HOUR)
    row, book = story.alert("structuring_pattern"), story.program.alerts
    alert = book.get(row.id)
    assert alert is not None
    assert (row.sla_tier, row.hard_signal) == ("complex", False)

    make_worse(book, alert, grade, CLOCK_V1, row.opened_at + 10 * HOUR_US)

    assert (alert.sla_tier, alert.due_at) == (tier, row.opened_at + hours * HOUR_US)
    assert (alert.queue_rank > row.queue_rank) is grade.hard
    assert [alert.id for alert in book.overdue(row.opened_at + hours * HOUR_US)].count(row.id) == 1


def test_given_an_alert_whose_clock_ran_out_when_it_becomes_hard_then_it_is_due_no_later() -> None:
    story = denied_entity()
    row, book = story.alert("kyc_denied_moving"), story.program.alerts
    alert = book.get(row.id)
    assert alert is not None

    make_worse(book, alert, Grade(Severity.HIGH, hard=True), CLOCK_V1, row.opened_at + 30 * 24 * HOUR_US)

    assert alert.due_at == row.due_at


@pytest.mark.parametrize(("decision", "escalates"), [("hold", True), ("escalate", True), ("close", False)])
def test_given_a_decided_alert_when_its_due_time_passes_then_only_what_still_waits_is_escalated(
    decision: str, *, escalates: bool
) -> None:
    story = denied_entity()
    story.submit(a_decision(story.alert("kyc_denied_moving"), decision, 2 * HOUR))

    rows = alert_rows(story.tick(30 * DAY))

    assert len(rows) == escalates


def test_given_many_alerts_when_a_tick_comes_then_they_are_escalated_oldest_due_first() -> None:
    story = detector_story().introduce(*(f"enti_{place}" for place in range(5)), verification_status="DENIED")
    for place in (3, 1, 4, 0, 2):
        story.wire(f"enti_{place}", "cpty_1", 10_00, HOUR + place)

    rows = story.tick(30 * DAY)

    due = [row.due_at or 0 for row in rows if isinstance(row, AlertRow)]
    assert len(due) == 5
    assert due == sorted(due)


def a_label(transfer_id: str, label: str, at: int, **over: Any) -> LabelEntry:
    usual: dict[str, Any] = {
        "id": f"lbl_{at}",
        "transfer_id": transfer_id,
        "label": LabelValue(label),
        "reason": "The customer said so.",
        "source": LabelSource.PERSON,
        "recorded_by": "operator:j.lee",
        "at": T0 + at,
    }
    return LabelEntry(**usual | over)


def test_given_a_label_then_it_is_recorded_once_and_only_on_a_transfer_that_is_known() -> None:
    story = denied_entity()
    transfer_id = story.alert("kyc_denied_moving").transfer_id or ""

    given_once = story.submit(a_label(transfer_id, "ok", 2 * HOUR))
    repeated = story.submit(a_label(transfer_id, "ok", 2 * HOUR))
    changed = story.submit(a_label(transfer_id, "bad", 3 * HOUR))
    unknown = story.submit(a_label("no_such_transfer", "bad", 4 * HOUR))

    assert [results_of(rows) for rows in (given_once, repeated, changed, unknown)] == [
        ["made"],
        [],
        ["made"],
        ["unknown"],
    ]
    assert [(row.transfer_id, row.label) for row in story.all(LabelRow)] == [
        (transfer_id, "ok"),
        (transfer_id, "bad"),
    ]
    assert not [row for row in unknown if isinstance(row, LabelRow)]


@pytest.mark.parametrize(
    ("code", "labels"), [("R05", 1), ("R07", 1), ("R10", 1), ("R11", 1), ("R29", 1), ("R51", 1), ("R01", 0), ("R03", 0)]
)
def test_given_a_return_then_an_unauthorized_one_labels_its_transfer_bad_by_itself(code: str, labels: int) -> None:
    story = detector_story()
    debit = story.debit("enti_1", "cpty_1", 10_00, 0)

    story.return_debit(debit, code, DAY)

    found = story.all(LabelRow)
    assert len(found) == labels
    for label in found:
        assert (label.transfer_id, label.label, label.source) == (debit["id"], "bad", "return")
        assert (label.reason, label.recorded_by) == (f"Returned as {code}.", "bank")
        assert label.created_at == T0 + DAY


def disputed(story: ShardStory, debit: bank.Data) -> None:
    """The return is dishonoured, and the dishonour contested: it stands again."""
    dishonoured = [bank.a_return("R10", T0 + DAY), bank.a_return("R68", T0 + 2 * DAY)]
    news = {"status": "RETURN_DISHONORED", "return_details": dishonoured, "updated_at": bank.rfc3339(T0 + 2 * DAY)}
    story.deliver("ach.outgoing_transfer.return_dishonored", debit | news, at=T0 + 2 * DAY)
    contested = [*dishonoured, bank.a_return("R73", T0 + 3 * DAY)]
    news = {"status": "RETURN_CONTESTED", "return_details": contested, "updated_at": bank.rfc3339(T0 + 3 * DAY)}
    story.deliver("ach.outgoing_transfer.return_contested", debit | news, at=T0 + 3 * DAY)


def test_given_an_unauthorized_return_that_is_disputed_then_the_last_label_says_whether_it_stands() -> None:
    story = detector_story()
    debit = story.debit("enti_1", "cpty_1", 10_00, 0)
    story.return_debit(debit, "R10", DAY)
    story.return_debit(debit, "R10", DAY + 1)

    disputed(story, debit)

    labels = story.all(LabelRow)
    assert [(row.label, row.reason) for row in labels] == [
        ("bad", "Returned as R10."),
        ("ok", "The return as R10 was dishonoured."),
        ("bad", "Returned as R10."),
    ]
    assert len({row.id for row in labels}) == 3


def test_given_a_person_who_has_labelled_when_the_return_is_dishonoured_then_it_does_not_unsay_that() -> None:
    story = detector_story()
    debit = story.debit("enti_1", "cpty_1", 10_00, 0)
    story.return_debit(debit, "R10", DAY)
    story.submit(a_label(str(debit["id"]), "bad", DAY + HOUR))

    disputed(story, debit)

    assert [row.label for row in story.all(LabelRow)] == ["bad", "bad", "bad"]


@pytest.mark.parametrize(
    ("labels", "newest"),
    [(("ok",), "ok"), (("bad", "ok"), "ok"), (("ok", "bad"), "bad"), (("bad",), "bad"), ((), "ok")],
)
@pytest.mark.parametrize("is_corrected", [True, False])
def test_given_labels_of_a_person_when_a_later_return_is_lifted_then_the_newest_of_them_counts(
    labels: tuple[str, ...], newest: str, *, is_corrected: bool
) -> None:
    story = detector_story()
    debit = story.debit("enti_1", "cpty_1", 10_00, 0)
    for hour, value in enumerate(labels):
        story.submit(a_label(str(debit["id"]), value, hour * HOUR))
    story.return_debit(debit, "R10", DAY)
    assert story.all(LabelRow)[-1].label == "bad"

    if is_corrected:
        story.return_debit(debit, "R01", 2 * DAY)
    else:
        dishonoured = [bank.a_return("R10", T0 + DAY), bank.a_return("R68", T0 + 2 * DAY)]
        news = {"status": "RETURN_DISHONORED", "return_details": dishonoured, "updated_at": bank.rfc3339(T0 + 2 * DAY)}
        story.deliver("ach.outgoing_transfer.return_dishonored", debit | news, at=T0 + 2 * DAY)

    assert story.all(LabelRow)[-1].label == newest


@pytest.mark.parametrize("code", ["R01", "R03", "R16"])
def test_given_an_unauthorized_return_when_the_bank_corrects_its_code_then_the_label_is_lifted(code: str) -> None:
    story = detector_story()
    debit = story.debit("enti_1", "cpty_1", 10_00, 0)
    story.return_debit(debit, "R10", DAY)

    story.return_debit(debit, code, DAY + 1)
    story.return_debit(debit, code, DAY + 2)

    labels = story.all(LabelRow)
    assert [(row.label, row.reason) for row in labels] == [
        ("bad", "Returned as R10."),
        ("ok", f"The return was corrected to {code}."),
    ]


def test_given_a_person_who_has_labelled_when_the_code_of_the_return_is_corrected_then_the_label_stays() -> None:
    story = detector_story()
    debit = story.debit("enti_1", "cpty_1", 10_00, 0)
    story.return_debit(debit, "R10", DAY)
    story.submit(a_label(str(debit["id"]), "bad", DAY + HOUR))

    story.return_debit(debit, "R01", 2 * DAY)

    assert [row.label for row in story.all(LabelRow)] == ["bad", "bad"]
