"""Decisions, appeals, labels and clocks against alerts as they stand: what is made, and the word for what is not."""

from typing import Any, Final

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from features.decisions import AppealEntry, DecisionResult, LabelEntry, OperatorKind
from features.instants import HOUR_US, format_instant
from features.log_entry import EntryKind
from features.outcomes import (
    AlertBodyRow,
    AlertRow,
    ChainFactRow,
    DecisionResultRow,
    DispositionRow,
    LabelRow,
    QuarantineRow,
)
from features.policy.bodies import policy_sha256
from features.policy.seeds import CLOCK_V1, POLICY_V1
from features.record import digest_of
from features.vocabulary import AlertDecision, AlertStatus, LabelSource, LabelValue
from tests.features.warmed import warmed
from tests.features.watched import DAY, HOUR, Watched, a_decision, evidence_of
from tests.support import bank_events as bank
from tests.support.clock import T0

NOON: Final = 80 * DAY
WORDS: Final = tuple(word.value for word in AlertDecision)
# What becomes of an alert; a word that is no status says why nothing does.
OUTCOMES: Final = {
    "open": {"close": "closed", "hold": "held", "escalate": "escalated", "release": "not_held", "no_action": "closed"},
    "held": {"close": "closed", "hold": "already", "escalate": "escalated", "release": "closed", "no_action": "closed"},
    "escalated": {
        "close": "closed",
        "hold": "held",
        "escalate": "already",
        "release": "not_held",
        "no_action": "closed",
    },
    "auto_closed": {
        "close": "closed",
        "hold": "held",
        "escalate": "escalated",
        "release": "not_held",
        "no_action": "closed",
    },
    "closed": dict.fromkeys(WORDS, "final"),
}


def denied() -> Watched:
    """A waiting alert of detector kyc_denied_moving, opened at one hour."""
    watched = Watched().know("enti_1", verification_status="DENIED")
    watched.wire("enti_1", "cpty_1", 10_00, HOUR)
    return watched


def closed_alone() -> tuple[Watched, AlertRow]:
    """An alert that the policy closed."""
    watched = warmed()
    for place in range(6):
        watched.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR)
    return watched, watched.alert("repeated_amount")


def standing(status: str) -> tuple[Watched, AlertRow, int]:
    """An alert in a status, and the time from which on it is."""
    if status == "auto_closed":
        return *closed_alone(), NOON + 7 * HOUR
    watched = denied()
    words = {"held": "hold", "escalated": "escalate", "closed": "close"}
    if status in words:
        watched.ask(a_decision(watched.alert("kyc_denied_moving"), words[status], 2 * HOUR))
    return watched, watched.alert("kyc_denied_moving"), 3 * HOUR


def results_of(rows: list[msgspec.Struct]) -> list[str]:
    return [row.result for row in rows if isinstance(row, DecisionResultRow)]


@pytest.mark.parametrize("decision", WORDS)
@pytest.mark.parametrize("status", list(OUTCOMES))
def test_given_an_alert_in_a_status_when_it_is_decided_then_the_table_says_what_comes_of_it(
    status: str, decision: str
) -> None:
    watched, alert, at = standing(status)
    assert alert.status == status

    rows = watched.ask(a_decision(alert, decision, at))

    outcome, now = OUTCOMES[status][decision], watched.alerts(alert.detector)[0]
    if outcome in set(AlertStatus):
        kinds = [type(row) for row in rows]
        assert kinds == [AlertRow, DispositionRow, ChainFactRow, DecisionResultRow]
        assert (now.status, results_of(rows)) == (outcome, ["made"])
        assert now.closed_at == (T0 + at if outcome == "closed" else None)
    else:
        assert [type(row) for row in rows] == [DecisionResultRow]
        assert (now.status, results_of(rows)) == (status, [outcome])


def test_given_a_decision_then_the_record_holds_the_disposition_bound_to_what_was_seen() -> None:
    watched = denied()
    alert = watched.alert("kyc_denied_moving")

    rows = watched.ask(a_decision(alert, "hold", 2 * HOUR, id="dsp_1", narrative="Held until they answer."))

    (made,) = (row for row in rows if isinstance(row, DispositionRow))
    (fact,) = (row for row in rows if isinstance(row, ChainFactRow))
    body: dict[str, Any] = msgspec.json.decode(fact.body)
    assert fact.body.encode() == rfc8785.dumps(body)
    assert (fact.chain, fact.id, fact.created_at) == ("dispositions", "dsp_1", made.created_at)
    assert body == {
        "id": "dsp_1",
        "tenantId": "ten_1",
        "alertId": alert.id,
        "decidedBy": "operator:j.lee",
        "decision": "hold",
        "narrative": "Held until they answer.",
        "narrativeModel": None,
        "recommendation": "escalate",
        "confidence": None,
        "policyVersion": "policy-v1",
        "overturnsDraft": True,
        "createdAt": format_instant(T0 + 2 * HOUR),
        "alertSha256": alert.alert_sha256,
        "policySha256": policy_sha256(POLICY_V1),
    }


def test_given_an_alert_that_opens_then_its_body_is_what_its_digest_says() -> None:
    watched = denied()

    alert = watched.alert("kyc_denied_moving")
    (kept,) = (row for row in watched.all(AlertBodyRow) if row.alert_id == alert.id)
    body = msgspec.json.decode(kept.body)
    assert alert.alert_sha256 == kept.sha256 == digest_of(kept.body.encode())
    assert kept.body.encode() == rfc8785.dumps(body)
    assert (body["evidence"], body["draft"]) == (
        evidence_of(alert),
        msgspec.json.decode(alert.draft or ""),
    )


def test_given_a_close_by_the_policy_then_it_has_a_disposition_and_a_fact_for_the_record() -> None:
    watched, alert = closed_alone()

    (made,) = (row for row in watched.all(DispositionRow) if row.alert_id == alert.id)
    facts = [row.id for row in watched.all(ChainFactRow)]
    assert (made.decided_by, made.decision, made.overturns_draft) == ("policy:policy-v1", "close", None)
    assert alert.closed_at == alert.opened_at == made.created_at
    assert made.id in facts


@pytest.mark.parametrize(
    ("decision", "overturns"), [("close", False), ("no_action", False), ("hold", True), ("escalate", True)]
)
def test_given_an_automatic_close_when_a_person_decides_then_hold_and_escalate_overturn_it(
    decision: str, *, overturns: bool
) -> None:
    watched, alert = closed_alone()

    watched.ask(a_decision(alert, decision, NOON + DAY, id="dsp_1"))

    (made,) = (row for row in watched.all(DispositionRow) if row.id == "dsp_1")
    assert (made.recommendation, made.overturns_draft) == ("close", overturns)


def test_given_an_automatic_close_that_is_overturned_then_it_waits_on_the_clock_of_a_person() -> None:
    watched, alert = closed_alone()

    watched.ask(a_decision(alert, "escalate", NOON + DAY))

    waiting = watched.alert("repeated_amount")
    assert (waiting.route, waiting.sla_tier) == ("automated", "standard")
    assert waiting.due_at == T0 + NOON + DAY + round(CLOCK_V1.standard_hours * HOUR_US)
    assert evidence_of(waiting)["escalation"] == {
        "at": format_instant(T0 + NOON + DAY),
        "by": "operator:j.lee",
    }


def test_given_a_key_without_a_person_then_it_decides_only_what_waits_for_nobody() -> None:
    key = {"operator": "key:live_abcdefg", "operator_kind": OperatorKind.KEY}
    watched, closed = closed_alone()
    waiting = denied()

    refused = waiting.ask(a_decision(waiting.alert("kyc_denied_moving"), "close", 2 * HOUR, **key))
    made = watched.ask(a_decision(closed, "hold", NOON + DAY, **key))
    again = watched.ask(a_decision(closed, "close", NOON + 2 * DAY, **key))

    assert [results_of(rows) for rows in (refused, made, again)] == [["needs_person"], ["made"], ["needs_person"]]
    assert watched.all(DispositionRow)[-1].decided_by == "key:live_abcdefg"


def test_given_an_alert_that_nobody_knows_then_the_result_says_so() -> None:
    watched = denied()
    alert = msgspec.structs.replace(watched.alert("kyc_denied_moving"), id="00000000-0000-5000-8000-000000000000")

    rows = watched.ask(a_decision(alert, "close", 2 * HOUR))

    assert results_of(rows) == ["unknown"]


def test_given_a_decision_from_the_future_then_it_was_made_when_the_log_took_it() -> None:
    watched = denied()
    entry = a_decision(watched.alert("kyc_denied_moving"), "close", 90 * DAY)

    watched.put(EntryKind.DECISION, msgspec.json.encode(entry), 2 * HOUR)

    assert watched.alert("kyc_denied_moving").closed_at == T0 + 2 * HOUR


@settings(max_examples=50, deadline=None)
@given(words=st.lists(st.sampled_from(("close", "no_action")), min_size=50, max_size=50), again=st.integers(0, 49))
def test_given_fifty_closing_decisions_in_a_row_then_one_is_made_and_the_others_are_final(
    words: list[str], again: int
) -> None:
    watched = denied()
    alert = watched.alert("kyc_denied_moving")
    asked = [a_decision(alert, word, 2 * HOUR + place, id=f"dsp_{place}") for place, word in enumerate(words)]

    results = [result for entry in asked for result in results_of(watched.ask(entry))]
    repeated = watched.ask(asked[again])

    assert results == ["made", *["final"] * 49]
    assert [row.id for row in watched.all(DispositionRow)] == ["dsp_0"]
    assert results_of(repeated) == ([] if again == 0 else ["final"])


@settings(max_examples=60, deadline=None)
@given(words=st.lists(st.sampled_from(WORDS), max_size=12))
def test_given_any_decisions_in_a_row_then_each_that_is_made_is_one_that_the_table_allows(words: list[str]) -> None:
    watched = denied()
    alert, status = watched.alert("kyc_denied_moving"), "open"

    for place, word in enumerate(words):
        rows = watched.ask(a_decision(alert, word, 2 * HOUR + place, id=f"dsp_{place}"))
        outcome = OUTCOMES[status][word]
        made = outcome in set(AlertStatus)
        status = outcome if made else status
        assert results_of(rows) == ["made" if made else outcome]
        assert watched.alert("kyc_denied_moving").status == status


def an_appeal(alert_id: str, at: int, **over: Any) -> AppealEntry:
    usual: dict[str, Any] = {"id": f"apl_{at}", "alert_id": alert_id, "reason": "There is more.", "operator": "a.kim"}
    return AppealEntry(**usual | over, at=T0 + at)


def test_given_a_closed_alert_when_it_is_appealed_then_a_new_one_waits_that_points_to_it() -> None:
    watched, old, _ = standing("closed")

    rows = watched.ask(an_appeal(old.id, 4 * HOUR, id="apl_1"))

    (new,) = (row for row in rows if isinstance(row, AlertRow))
    (result,) = (row for row in rows if isinstance(row, DecisionResultRow))
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
    assert watched.alerts(old.detector)[0] == old


@pytest.mark.parametrize(
    ("status", "result"), [("open", "not_final"), ("held", "not_final"), ("auto_closed", "made"), ("closed", "made")]
)
def test_given_an_alert_then_only_a_decided_one_can_be_appealed_and_only_once(status: str, result: str) -> None:
    watched, alert, at = standing(status)

    first = watched.ask(an_appeal(alert.id, at))
    repeated = watched.ask(an_appeal(alert.id, at))
    second = watched.ask(an_appeal(alert.id, at + 1))

    assert results_of(first) == [result]
    assert results_of(second) == ["already" if result == "made" else result]
    assert results_of(repeated) == ([] if result == "made" else [result])
    assert results_of(watched.ask(an_appeal("no such alert", at))) == ["unknown"]


def test_given_an_appeal_when_it_is_decided_then_it_can_be_appealed_itself_and_overturns_nothing() -> None:
    watched, old, _ = standing("closed")
    watched.ask(an_appeal(old.id, 4 * HOUR))
    watched.tick(100 * DAY)
    (appeal,) = (row for row in watched.alerts(old.detector) if row.appeal_of == old.id)

    watched.ask(a_decision(appeal, "escalate", 101 * DAY))
    watched.ask(a_decision(appeal, "close", 102 * DAY))
    rows = watched.ask(an_appeal(appeal.id, 103 * DAY))

    assert results_of(rows) == ["made"]
    assert {row.overturns_draft for row in watched.all(DispositionRow) if row.alert_id == appeal.id} == {None}


def test_given_a_closed_alert_that_is_packed_then_it_is_final_and_can_be_appealed_still() -> None:
    watched, old, _ = standing("closed")
    watched.wire("enti_2", "cpty_1", 10_00, 30 * DAY)
    watched.tick(30 * DAY)
    assert watched.state.program("prg_1").alerts.is_packed(old.id)

    final = watched.ask(a_decision(old, "hold", 31 * DAY))
    appealed = watched.ask(an_appeal(old.id, 31 * DAY))

    assert (results_of(final), results_of(appealed)) == (["final"], ["made"])


def test_given_a_waiting_alert_when_its_due_time_has_passed_at_a_tick_then_it_is_escalated_once() -> None:
    watched = denied()
    alert = watched.alert("kyc_denied_moving")
    assert alert.due_at == alert.opened_at + round(CLOCK_V1.complex_hours * HOUR_US)
    due = alert.due_at - T0

    before = watched.tick(due - 1)
    at_due = watched.tick(due)
    after = watched.tick(due + DAY)

    assert (before, after) == ([], [])
    (escalated,) = at_due
    assert isinstance(escalated, AlertRow)
    assert (escalated.id, escalated.escalated_at, escalated.status) == (alert.id, T0 + due, "open")
    assert evidence_of(escalated)["escalation"] == {"at": format_instant(T0 + due), "by": "clock"}


@pytest.mark.parametrize(("decision", "escalates"), [("hold", True), ("escalate", True), ("close", False)])
def test_given_a_decided_alert_when_its_due_time_passes_then_only_what_still_waits_is_escalated(
    decision: str, *, escalates: bool
) -> None:
    watched = denied()
    watched.ask(a_decision(watched.alert("kyc_denied_moving"), decision, 2 * HOUR))

    rows = watched.tick(30 * DAY)

    assert [isinstance(row, AlertRow) for row in rows] == ([True] if escalates else [])


def test_given_many_alerts_when_a_tick_comes_then_they_are_escalated_oldest_due_first() -> None:
    watched = Watched().know(*(f"enti_{place}" for place in range(5)), verification_status="DENIED")
    for place in (3, 1, 4, 0, 2):
        watched.wire(f"enti_{place}", "cpty_1", 10_00, HOUR + place)

    rows = watched.tick(30 * DAY)

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
    watched = denied()
    transfer_id = watched.alert("kyc_denied_moving").transfer_id or ""

    given_once = watched.ask(a_label(transfer_id, "ok", 2 * HOUR))
    repeated = watched.ask(a_label(transfer_id, "ok", 2 * HOUR))
    changed = watched.ask(a_label(transfer_id, "bad", 3 * HOUR))
    unknown = watched.ask(a_label("no_such_transfer", "bad", 4 * HOUR))

    assert [results_of(rows) for rows in (given_once, repeated, changed, unknown)] == [
        ["made"],
        [],
        ["made"],
        ["unknown"],
    ]
    assert [(row.transfer_id, row.label) for row in watched.all(LabelRow)] == [
        (transfer_id, "ok"),
        (transfer_id, "bad"),
    ]
    assert not [row for row in unknown if isinstance(row, LabelRow)]


@pytest.mark.parametrize(
    ("code", "labels"), [("R05", 1), ("R07", 1), ("R10", 1), ("R11", 1), ("R29", 1), ("R51", 1), ("R01", 0), ("R03", 0)]
)
def test_given_a_return_then_an_unauthorized_one_labels_its_transfer_bad_by_itself(code: str, labels: int) -> None:
    watched = Watched()
    debit = watched.debit("enti_1", "cpty_1", 10_00, 0)

    watched.come_back(debit, code, DAY)

    found = watched.all(LabelRow)
    assert len(found) == labels
    for label in found:
        assert (label.transfer_id, label.label, label.source) == (debit["id"], "bad", "return")
        assert (label.reason, label.recorded_by) == (f"Returned as {code}.", "bank")
        assert label.created_at == T0 + DAY


def test_given_an_unauthorized_return_when_more_is_said_of_it_then_it_labels_no_second_time() -> None:
    watched = Watched()
    debit = watched.debit("enti_1", "cpty_1", 10_00, 0)
    watched.come_back(debit, "R10", DAY)

    dishonoured = [bank.a_return("R10", T0 + DAY), bank.a_return("R68", T0 + 2 * DAY)]
    news = {"status": "RETURN_DISHONORED", "return_details": dishonoured, "updated_at": bank.rfc3339(T0 + 2 * DAY)}
    watched.say("ach.outgoing_transfer.return_dishonored", debit | news, 2 * DAY)
    contested = [*dishonoured, bank.a_return("R73", T0 + 3 * DAY)]
    news = {"status": "RETURN_CONTESTED", "return_details": contested, "updated_at": bank.rfc3339(T0 + 3 * DAY)}
    watched.say("ach.outgoing_transfer.return_contested", debit | news, 3 * DAY)

    assert len(watched.all(LabelRow)) == 1


def test_given_an_entry_that_cannot_be_read_then_it_is_set_aside_and_no_alert_changes() -> None:
    watched = denied()

    for kind in (EntryKind.DECISION, EntryKind.APPEAL, EntryKind.LABEL):
        (row,) = watched.put(kind, b'{"id": 1}', 2 * HOUR)
        assert isinstance(row, QuarantineRow)

    assert watched.alert("kyc_denied_moving").status == "open"


def test_given_the_results_then_every_word_is_one_that_can_come_of_an_entry() -> None:
    refusals = {word for outcomes in OUTCOMES.values() for word in outcomes.values()} - set(AlertStatus)

    assert refusals | {"made", "unknown", "not_final", "needs_person"} == set(DecisionResult)
