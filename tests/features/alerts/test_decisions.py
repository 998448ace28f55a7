"""Decisions on alerts as they stand: what is made, what the record holds of it, and the word for what is not made."""

from typing import Any, Final

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.canonical import digest_of
from clearhold.features.core.entries.commands import EntryResult, OperatorKind
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.log_entry import ChainFactRow, EntryKind
from clearhold.features.core.rows.alerts import AlertBodyRow, AlertRow, DispositionRow, EntryResultRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus
from clearhold.features.policy.bodies import policy_sha256
from clearhold.features.policy.seeds import CLOCK_V1, POLICY_V1
from tests.support.alert_rows import a_decision, evidence_of, results_of
from tests.support.clock import T0
from tests.support.programs import NOON, alert_with_status, auto_closed_alert, denied_entity

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


@pytest.mark.parametrize("decision", WORDS)
@pytest.mark.parametrize("status", list(OUTCOMES))
def test_given_an_alert_in_a_status_when_it_is_decided_then_the_table_says_what_comes_of_it(
    status: str, decision: str
) -> None:
    story, alert, at = alert_with_status(status)
    assert alert.status == status

    rows = story.submit(a_decision(alert, decision, at))

    outcome, now = OUTCOMES[status][decision], story.alerts(alert.detector)[0]
    if outcome in set(AlertStatus):
        kinds = [type(row) for row in rows if not isinstance(row, ScoreRow)]  # points may end, or come back
        assert kinds == [AlertRow, DispositionRow, ChainFactRow, EntryResultRow]
        assert (now.status, results_of(rows)) == (outcome, ["made"])
        assert now.closed_at == (T0 + at if outcome == "closed" else None)
    else:
        assert [type(row) for row in rows] == [EntryResultRow]
        assert (now.status, results_of(rows)) == (status, [outcome])


def test_given_a_decision_then_the_record_holds_the_disposition_bound_to_what_was_seen() -> None:
    story = denied_entity()
    alert = story.alert("kyc_denied_moving")

    rows = story.submit(a_decision(alert, "hold", 2 * HOUR, id="dsp_1", narrative="Held until they answer."))

    (disposition,) = (row for row in rows if isinstance(row, DispositionRow))
    (fact,) = (row for row in rows if isinstance(row, ChainFactRow))
    body: dict[str, Any] = msgspec.json.decode(fact.body)
    assert fact.body.encode() == rfc8785.dumps(body)
    assert (fact.chain, fact.id, fact.created_at) == ("dispositions", "dsp_1", disposition.created_at)
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
        "identity": None,
        "createdAt": format_instant(T0 + 2 * HOUR),
        "alertSha256": alert.alert_sha256,
        "policySha256": policy_sha256(POLICY_V1),
        "actionId": None,
        "warnings": [],
    }


def test_given_an_alert_that_opens_then_its_body_is_what_its_digest_says() -> None:
    story = denied_entity()

    alert = story.alert("kyc_denied_moving")
    (kept,) = (row for row in story.all(AlertBodyRow) if row.alert_id == alert.id)
    body = msgspec.json.decode(kept.body)
    assert alert.alert_sha256 == kept.sha256 == digest_of(kept.body.encode())
    assert kept.body.encode() == rfc8785.dumps(body)
    assert (body["evidence"], body["draft"]) == (
        evidence_of(alert),
        msgspec.json.decode(alert.draft or ""),
    )


def test_given_a_close_by_the_policy_then_it_has_a_disposition_and_a_fact_for_the_record() -> None:
    story, alert = auto_closed_alert()

    (disposition,) = (row for row in story.all(DispositionRow) if row.alert_id == alert.id)
    facts = [row.id for row in story.all(ChainFactRow)]
    assert (disposition.decided_by, disposition.decision, disposition.overturns_draft) == (
        "policy:policy-v1",
        "close",
        None,
    )
    assert alert.closed_at == alert.opened_at == disposition.created_at
    assert disposition.id in facts


@pytest.mark.parametrize(
    ("decision", "overturns"), [("close", False), ("no_action", False), ("hold", True), ("escalate", True)]
)
def test_given_an_automatic_close_when_a_person_decides_then_hold_and_escalate_overturn_it(
    decision: str, *, overturns: bool
) -> None:
    story, alert = auto_closed_alert()

    story.submit(a_decision(alert, decision, NOON + DAY, id="dsp_1"))

    (disposition,) = (row for row in story.all(DispositionRow) if row.id == "dsp_1")
    assert (disposition.recommendation, disposition.overturns_draft) == ("close", overturns)


def test_given_an_automatic_close_that_is_overturned_then_it_waits_on_the_clock_of_a_person() -> None:
    story, alert = auto_closed_alert()

    story.submit(a_decision(alert, "escalate", NOON + DAY))

    waiting = story.alert("repeated_amount")
    assert (waiting.route, waiting.sla_tier) == ("reviewed", "standard")
    assert evidence_of(waiting)["routeReason"] == "reopened"
    assert waiting.due_at == T0 + NOON + DAY + round(CLOCK_V1.standard_hours * HOUR_US)
    assert evidence_of(waiting)["escalation"] == {
        "at": format_instant(T0 + NOON + DAY),
        "by": "operator:j.lee",
    }


def test_given_a_key_without_a_person_then_it_decides_only_what_waits_for_nobody() -> None:
    key = {"operator": "key:live_abcdefg", "operator_kind": OperatorKind.KEY}
    story, closed = auto_closed_alert()
    waiting = denied_entity()

    refused = waiting.submit(a_decision(waiting.alert("kyc_denied_moving"), "close", 2 * HOUR, **key))
    first = story.submit(a_decision(closed, "hold", NOON + DAY, **key))
    again = story.submit(a_decision(closed, "close", NOON + 2 * DAY, **key))

    assert [results_of(rows) for rows in (refused, first, again)] == [["needs_person"], ["made"], ["needs_person"]]
    assert story.all(DispositionRow)[-1].decided_by == "key:live_abcdefg"


def test_given_an_alert_that_nobody_knows_then_the_result_says_so() -> None:
    story = denied_entity()
    alert = msgspec.structs.replace(story.alert("kyc_denied_moving"), id="00000000-0000-5000-8000-000000000000")

    rows = story.submit(a_decision(alert, "close", 2 * HOUR))

    assert results_of(rows) == ["unknown"]


def test_given_a_decision_from_the_future_then_it_was_made_when_the_log_took_it() -> None:
    story = denied_entity()
    entry = a_decision(story.alert("kyc_denied_moving"), "close", 90 * DAY)

    story.append(EntryKind.DECISION, msgspec.json.encode(entry), at=T0 + 2 * HOUR)

    assert story.alert("kyc_denied_moving").closed_at == T0 + 2 * HOUR


@settings(max_examples=50, deadline=None)
@given(words=st.lists(st.sampled_from(("close", "no_action")), min_size=50, max_size=50), again=st.integers(0, 49))
def test_given_fifty_closing_decisions_in_a_row_then_one_is_made_and_the_others_are_final(
    words: list[str], again: int
) -> None:
    story = denied_entity()
    alert = story.alert("kyc_denied_moving")
    asked = [a_decision(alert, word, 2 * HOUR + place, id=f"dsp_{place}") for place, word in enumerate(words)]

    results = [result for entry in asked for result in results_of(story.submit(entry))]
    repeated = story.submit(asked[again])

    assert results == ["made", *["final"] * 49]
    assert [row.id for row in story.all(DispositionRow)] == ["dsp_0"]
    assert results_of(repeated) == ([] if again == 0 else ["final"])


@settings(max_examples=60, deadline=None)
@given(words=st.lists(st.sampled_from(WORDS), max_size=12))
def test_given_any_decisions_in_a_row_then_each_that_is_made_is_one_that_the_table_allows(words: list[str]) -> None:
    story = denied_entity()
    alert, status = story.alert("kyc_denied_moving"), "open"

    for place, word in enumerate(words):
        rows = story.submit(a_decision(alert, word, 2 * HOUR + place, id=f"dsp_{place}"))
        outcome = OUTCOMES[status][word]
        is_decided = outcome in set(AlertStatus)
        status = outcome if is_decided else status
        assert results_of(rows) == ["made" if is_decided else outcome]
        assert story.alert("kyc_denied_moving").status == status


def test_given_an_entry_that_cannot_be_read_then_it_is_set_aside_and_no_alert_changes() -> None:
    story = denied_entity()

    for kind in (EntryKind.DECISION, EntryKind.DECISIONS, EntryKind.SPLIT, EntryKind.APPEAL, EntryKind.LABEL):
        (row,) = story.append(kind, b'{"id": 1}', at=T0 + 2 * HOUR).last_rows
        assert isinstance(row, QuarantineRow)

    assert story.alert("kyc_denied_moving").status == "open"


OF_ACTIONS = {
    *("not_waiting", "pending", "in_force", "unchanged", "same_cap", "not_eligible", "too_early"),
    *("own_request", "not_requester", "not_requested"),
}


def test_given_the_results_then_every_word_is_one_that_can_come_of_an_entry() -> None:
    refusals = {word for outcomes in OUTCOMES.values() for word in outcomes.values()} - set(AlertStatus)

    of_alerts = {"made", "unknown", "not_final", "appealed", "needs_person", "narrative_too_short"}
    of_stacks = {"not_in_stack", "whole_stack"}
    assert refusals | of_alerts | of_stacks | OF_ACTIONS == set(EntryResult)
