"""Decisions under the policy's rules: the least narrative, the second person on hard alerts, and warnings."""

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.alerts import AlertRow, EntryResultRow
from clearhold.features.policy.bodies import NarrativeChars, PolicyBody
from clearhold.features.policy.seeds import POLICY_V1
from tests.support.alert_rows import a_decision
from tests.support.bank_events import a_wire, an_account, an_entity, rfc3339
from tests.support.clock import T0
from tests.support.holds import HeldStory
from tests.support.policies import in_force_at

ENOUGH = "Their papers explain it all."
TWO_PERSONS = msgspec.structs.replace(POLICY_V1, version="policy-v2", hard_needs_second_person=True)


def under(policy: PolicyBody = POLICY_V1) -> tuple[HeldStory, AlertRow, AlertRow]:
    """A story under a policy, with the hard alert of one transfer, which is held, and the soft one of another."""
    story = HeldStory()
    if policy is not POLICY_V1:
        in_force_at(story.story, "policy-v2", policy, story.now)
    story.story.wire("enti_2", "cpty_2", 950_00, story.now)
    (soft, *_) = (row for row in story.alerts("open") if row.detector == "amount_spike")
    story.wire()
    (hard, *_) = (row for row in story.alerts("held") if row.hard_signal)
    return story, hard, soft


@pytest.mark.parametrize(
    ("narrative", "result"),
    [
        ("x" * 19, "narrative_too_short"),
        ("x" * 20, "made"),
        (f"  {'x' * 19}\n\u3000", "narrative_too_short"),
        (f" {'x' * 10}  {'y' * 8}\t", "made"),
        ("\u200b" * 40, "narrative_too_short"),
        ("ok" + "\u2800" * 18, "narrative_too_short"),
        ("e\u0301" * 19, "narrative_too_short"),
        ("\u00e9" * 20, "made"),
    ],
)
def test_given_a_hard_alert_then_a_narrative_has_twenty_characters_after_trimming(narrative: str, result: str) -> None:
    story, hard, soft = under()

    assert story.decide(hard, "close", narrative=narrative) == result
    assert story.decide(soft, "close", narrative="x") == "made"


@pytest.mark.parametrize(
    ("chars", "on_hard", "on_soft"),
    [
        (NarrativeChars(hard=0), 1, 1),
        (NarrativeChars(hard=5, high=30, medium=30, low=30), 30, 30),
        (NarrativeChars(hard=40, high=2, medium=2, low=2), 40, 2),
    ],
)
def test_given_lengths_by_severity_then_a_hard_alert_needs_the_longer_of_its_two(
    chars: NarrativeChars, on_hard: int, on_soft: int
) -> None:
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", min_narrative_chars=chars)
    story, hard, soft = under(policy)

    for alert, least in ((hard, on_hard), (soft, on_soft)):
        if least > 1:
            assert story.decide(alert, "escalate", narrative="x" * (least - 1)) == "narrative_too_short"
        assert story.decide(alert, "escalate", narrative="x" * least) == "made"


def test_given_a_body_without_the_new_fields_then_the_defaults_hold_and_the_body_stays_as_written() -> None:
    sent = {
        name: value for name, value in msgspec.to_builtins(POLICY_V1).items() if not name.startswith(("min", "hard"))
    }
    body = msgspec.convert(sent | {"minProgramN": 5}, type(POLICY_V1))

    assert msgspec.to_builtins(body) == sent | {"minProgramN": 5}
    story, hard, _ = under(msgspec.structs.replace(body, version="policy-v2"))
    assert story.decide(hard, "close", narrative="x" * 19) == "narrative_too_short"
    assert story.decide(hard, "close", narrative="x" * 20) == "made"


@pytest.mark.parametrize("decision", ["close", "release", "no_action"])
def test_given_two_persons_for_hard_alerts_when_one_lets_go_then_it_waits_and_another_signs_it(decision: str) -> None:
    story, hard, soft = under(TWO_PERSONS)

    assert story.decide(hard, decision, id="dsp_1", operator="ann", narrative=ENOUGH) == "made"

    action = story.action("dsp_1")
    assert (action.type, action.status, action.alert_id) == ("decide_alert", "requested", hard.id)
    assert msgspec.json.decode(action.change or "") == {"decision": decision, "narrative": ENOUGH}
    assert story.dispositions(hard) == []
    assert story.decide(hard, "close", operator="carl", narrative=ENOUGH) == "pending"
    executed = story.approve("dsp_1", by="bob")
    (disposition,) = story.dispositions(hard)
    assert (executed.status, executed.approved_by) == ("executed", "bob")
    assert (disposition.decided_by, disposition.decision, disposition.narrative) == ("operator:ann", decision, ENOUGH)
    assert disposition.action_id == "dsp_1"
    assert story.links("actions")[-1]["dispositionId"] == disposition.id
    assert {row.id: row.status for row in story.alerts()}[hard.id] == "closed"
    assert [story.decide(soft, each) for each in ("hold", decision)] == ["made", "made"]
    assert [row.decision for row in story.dispositions(soft)] == ["hold", decision]


def test_given_two_persons_when_the_same_one_approves_then_it_is_refused_and_the_alert_waits_still() -> None:
    story, hard, _ = under(TWO_PERSONS)
    story.decide(hard, "release", id="dsp_1", operator="ann", narrative=ENOUGH)

    assert story.approve("dsp_1", by=" ANN ").status == "refused"

    assert story.dispositions(hard) == []
    assert hard.id in {row.id for row in story.alerts("held")}
    assert story.decide(hard, "release", id="dsp_2", operator="ann", narrative=ENOUGH) == "made"
    assert story.approve("dsp_2").status == "executed"


def test_given_two_persons_then_a_hold_and_an_escalation_need_one_and_may_overtake_a_request() -> None:
    story, hard, _ = under(TWO_PERSONS)
    story.decide(hard, "release", id="dsp_1", narrative=ENOUGH)
    assert story.decide(hard, "escalate", narrative=ENOUGH) == "made"

    failed = story.approve("dsp_1")

    assert failed.status == "failed"
    assert (failed.error or "").startswith("The alert was decided since the request")
    assert [row.decision for row in story.dispositions(hard)] == ["escalate"]
    assert story.decide(hard, "release", narrative=ENOUGH) == "not_held"


def test_given_two_persons_then_clearing_the_hold_of_a_hard_alert_needs_them_too() -> None:
    story, hard, _ = under(TWO_PERSONS)
    assert hard.hard_signal
    action_id, result = story.request("clear_hold", ("transfer", story.newest))

    assert (result, story.action(action_id).status) == ("made", "requested")
    story.approve(action_id)
    story.conclude(action_id)
    assert story.alerts("held") == []


def test_given_a_pending_decision_when_the_same_entry_is_applied_again_then_nothing_changes() -> None:
    story, hard, _ = under(TWO_PERSONS)
    entry = a_decision(hard, "close", story.now + 1, id="dsp_1", narrative=ENOUGH)
    story.story.submit(entry)

    assert story.story.submit(entry) == []
    assert len([link for link in story.links("actions") if link["actionId"] == "dsp_1"]) == 1


TARGETS = {
    "cancel_transfer": "transfer",
    "freeze_account": "account",
    "suspend_card_account": "account",
    "clear_hold": "transfer",
}


@pytest.mark.parametrize("decision", ["close", "release", "no_action", "hold", "escalate"])
@pytest.mark.parametrize("type_", TARGETS)
def test_given_an_executed_action_when_a_decision_contradicts_it_then_the_disposition_warns_on_the_record(
    type_: str, decision: str
) -> None:
    story = HeldStory()
    transfer = story.wire(bank_account_id="bacc_1")
    # cleared at the bank before the alert was held again by its appeal
    (alert, *_) = [row for row in story.alerts("held") if row.subject_type != "program"]
    action = story.execute(type_, (TARGETS[type_], transfer if TARGETS[type_] == "transfer" else "bacc_1"))
    if type_ == "clear_hold":
        alert = story.appeal(alert)

    assert story.decide(alert, decision, narrative=ENOUGH) == "made"

    disposition = story.dispositions(alert)[-1]
    contradicts = (decision in {"hold", "escalate"}) is (type_ == "clear_hold")
    warnings = [] if disposition.warnings is None else msgspec.json.decode(disposition.warnings)
    assert len(warnings) == contradicts
    assert all((each["actionId"], each["type"]) == (action.id, type_) for each in warnings)
    assert all(action.id in each["sentence"] for each in warnings)
    assert story.links("dispositions")[-1]["warnings"] == warnings


def test_given_actions_on_other_targets_or_not_executed_then_no_decision_is_warned() -> None:
    story = HeldStory()
    first, _ = story.wire(bank_account_id="bacc_1"), story.wire(bank_account_id="bacc_1")
    story.conclude(story.request("cancel_transfer", ("transfer", first))[0], error="The bank refused.")
    story.execute("freeze_account", ("account", "bacc_2"))
    story.request("freeze_account", ("account", "bacc_1"))
    story.execute("pause_card", ("card", "card_1"))

    for alert in story.alerts("held"):
        assert story.decide(alert, "release", narrative=ENOUGH) == "made"

    assert {row.warnings for alert in story.alerts() for row in story.dispositions(alert)} == {None}


def test_given_a_paused_card_and_a_frozen_account_when_an_alert_on_the_account_is_closed_then_both_are_named() -> None:
    story = HeldStory()
    for place in range(8):
        story.now += 60_000_000
        story.story.card("bacc_7", 29_000_00 + place, story.now, card_id="card_1")
    (alert, *_) = [row for row in story.alerts() if row.subject_id == "bacc_7" or row.transfer_id is not None][-1:]
    card = story.execute("pause_card", ("card", "card_1"))
    account = story.execute("freeze_account", ("account", "bacc_7"))

    story.decide(alert, "close", narrative=ENOUGH)

    (disposition,) = [row for row in story.dispositions(alert) if row.decided_by.startswith("operator:")]
    warnings = msgspec.json.decode(disposition.warnings or "[]")
    assert [(each["actionId"], each["targetId"]) for each in warnings] == [(account.id, "bacc_7"), (card.id, "card_1")]


@pytest.mark.parametrize(
    ("type_", "target", "warns"),
    [
        ("freeze_account", ("account", "bacc_9"), True),
        ("suspend_card_account", ("card_account", "bacc_9"), True),
        ("cancel_transfer", ("transfer", "wire_new"), True),
        ("cancel_transfer", ("transfer", "wire_old"), False),
        ("cancel_transfer", ("transfer", "wire_of_another"), False),
        ("freeze_account", ("account", "bacc_8"), False),
    ],
)
def test_given_an_alert_that_a_delivery_opened_when_it_is_closed_then_actions_on_what_it_rests_on_are_named(
    type_: str, target: tuple[str, str], *, warns: bool
) -> None:
    story = HeldStory()
    story.now += DAY_US
    wires = (("wire_old", "bacc_9", 3), ("wire_new", "bacc_9", 1), ("wire_of_another", "bacc_8", 1))
    for account, owner in (("bacc_9", "enti_9"), ("bacc_8", "enti_8")):
        story.story.deliver("account.created", an_account(id=account, owners=[owner]), at=T0)
    for wire_id, account, hours_ago in wires:
        at = rfc3339(T0 + story.now - hours_ago * HOUR_US)
        data = a_wire(id=wire_id, amount=5_000, bank_account_id=account, created_at=at, updated_at=None)
        story.story.deliver("wire.outgoing_transfer.completed", data, at=T0 + story.now)
    denied = an_entity(id="enti_9", verification_status="DENIED", updated_at=rfc3339(T0 + story.now))
    story.story.deliver("identity.updated", denied, at=T0 + story.now)
    (alert,) = [row for row in story.alerts() if row.subject_id == "enti_9"]
    assert alert.transfer_id is None
    action = story.execute(type_, target)

    story.decide(alert, "close", narrative=ENOUGH)

    (disposition,) = story.dispositions(alert)
    warned = [each["actionId"] for each in msgspec.json.decode(disposition.warnings or "[]")]
    assert warned == [action.id] * warns


@pytest.mark.parametrize(("target", "warns"), [("st_0", True), ("st_2", True), ("st_3", True), ("before", False)])
@pytest.mark.parametrize("is_followed", [True, False])
def test_given_an_alert_that_rests_on_several_transfers_when_it_is_closed_then_each_canceled_one_is_named(
    target: str, *, warns: bool, is_followed: bool
) -> None:
    story = HeldStory()
    wires = {}
    for number, wire_id in enumerate(("before", "st_0", "st_1", "st_2", "st_3")):
        story.now += HOUR_US
        over = {"id": wire_id, "amount": 960_000 if number else 7_000, "counterparty_id": f"cpty_{number}"}
        times = {"created_at": rfc3339(T0 + story.now), "updated_at": None}
        wires[wire_id] = a_wire(bank_account_id="bacc_5", **over, **times)
        story.story.deliver("wire.outgoing_transfer.completed", wires[wire_id], at=T0 + story.now)
    (alert,) = [row for row in story.alerts() if row.detector == "structuring_pattern"]
    action = story.execute("cancel_transfer", ("transfer", target))
    if is_followed:  # by the bank's next statement on it
        story.story.deliver("wire.outgoing_transfer.completed", wires[target] | {"imad": "1"}, at=T0 + story.now)

    story.decide(alert, "close", narrative=ENOUGH)

    (disposition,) = story.dispositions(alert)
    warned = [each["actionId"] for each in msgspec.json.decode(disposition.warnings or "[]")]
    assert warned == [action.id] * warns


def test_given_a_state_that_was_dumped_then_executed_actions_are_still_known() -> None:
    story = HeldStory()
    transfer = story.wire()
    action = story.execute("cancel_transfer", ("transfer", transfer))
    story.story.state = type(story.story.state).loaded(story.story.state.dump())
    (alert, *_) = story.alerts("held")

    story.decide(alert, "release", narrative=ENOUGH)

    assert action.id in (story.dispositions(alert)[0].warnings or "")
    assert len([row for row in story.story.all(EntryResultRow) if row.kind == "decision"]) == 1


@pytest.mark.parametrize("place", [0, 1, 12])
def test_given_an_action_on_any_of_many_transfers_of_an_alert_when_it_is_escalated_then_the_decision_warns(
    place: int,
) -> None:
    story = HeldStory()
    transfers = [story.wire() for _ in range(24)]
    shared = next(alert for alert in story.alerts("held") if alert.detector == "kyc_denied_moving")
    action = story.clear(transfers[place])

    assert story.decide(shared, "escalate") == "made"

    (disposition,) = story.dispositions(shared)
    assert [each["actionId"] for each in msgspec.json.decode(disposition.warnings or "[]")] == [action.id]
