"""Holds end with their reason: what an executed clear_hold releases, what it leaves, and what the record says."""

import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from clearhold.features.core.entries.commands import OperatorKind
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.alerts import AlertRow, AlertTransferRow, DispositionRow
from clearhold.features.core.vocabulary import AlertStatus
from clearhold.features.policy.seeds import POLICY_V1
from clearhold.features.shard.shard import ShardState
from tests.support.alert_rows import evidence_of
from tests.support.holds import HeldStory
from tests.support.policies import in_force_at


def test_given_a_held_transfer_when_its_hold_is_cleared_then_its_alerts_are_released_and_linked_on_both_sides() -> None:
    story = HeldStory()
    transfer = story.wire()
    held = story.alerts("held", on=transfer)
    assert len(held) > 1

    action = story.clear(transfer)

    assert story.alerts("held", on=transfer) == []
    for alert in held:
        (now,) = (row for row in story.alerts() if row.id == alert.id)
        (disposition,) = story.dispositions(alert)
        assert (now.status, now.closed_at) == ("closed", action.executed_at)
        assert (disposition.decision, disposition.decided_by) == ("release", "operator:ann")
        assert disposition.action_id == action.id
        assert action.id in disposition.narrative
    assert set(msgspec.json.decode(action.released_alert_ids or "[]")) == {alert.id for alert in held}
    executed = story.links("actions")[-1]
    assert (executed["transition"], executed["releasedAlertIds"]) == (
        "executed",
        msgspec.json.decode(action.released_alert_ids or "[]"),
    )
    released = {link["alertId"]: link for link in story.links("dispositions")}
    assert {released[alert.id]["actionId"] for alert in held} == {action.id}
    ticked = story.story.tick(story.now + 40 * DAY_US)
    assert {row.id for row in ticked if isinstance(row, AlertRow)}.isdisjoint(alert.id for alert in held)


@pytest.mark.parametrize("last", [0, 1, 12, 23])
def test_given_an_alert_of_many_held_transfers_when_they_are_cleared_then_it_is_released_with_the_last_one(
    last: int,
) -> None:
    """Also with one that is older than the findings whose ids an alert has."""
    story = HeldStory()
    transfers = [story.wire() for _ in range(24)]
    shared = {alert.id for alert in story.alerts("held") if evidence_of(alert).get("hits", 0) > 20}
    kept = transfers.pop(last)

    for transfer in transfers:
        story.clear(transfer)
    held = {alert.id for alert in story.alerts("held")}
    story.story.state = ShardState.loaded(iter(list(story.story.state.dump())))
    story.clear(kept)

    assert shared & held
    assert held
    assert story.alerts("held") == []


@pytest.mark.parametrize("count", [3, 24])
def test_given_an_alert_of_many_transfers_when_appealed_then_each_of_them_leads_to_the_appeal(count: int) -> None:
    story = HeldStory()
    transfers = [story.wire() for _ in range(count)]
    shared = next(alert for alert in story.alerts("held") if alert.detector == "kyc_denied_moving")
    story.decide(shared, "release")

    appeal = story.appeal(shared)

    found = {row.transfer_number for row in story.story.all(AlertTransferRow) if row.alert_id == appeal.id}
    assert found == {story.story.program.transfers.row_of(each) for each in transfers}


def test_given_another_transfer_in_the_hold_band_when_one_is_cleared_then_what_holds_the_other_stays_held() -> None:
    story = HeldStory()
    first, second = story.wire(), story.wire()
    shared = [alert for alert in story.alerts("held") if alert.subject_type != "transfer"]
    assert any(set(evidence_of(alert)["transferIds"]) == {first, second} for alert in shared)

    story.clear(first)

    held = story.alerts("held")
    assert held
    assert all(second in evidence_of(alert)["transferIds"] for alert in held)
    story.clear(second)
    assert story.alerts("held") == []


def test_given_an_action_that_names_the_alert_then_it_is_released_although_another_transfer_holds_it_too() -> None:
    story = HeldStory()
    first, _ = story.wire(), story.wire()
    (shared, *_) = [alert for alert in story.alerts("held") if len(evidence_of(alert)["transferIds"]) > 1]

    action = story.clear(first, alert=shared)

    assert shared.id not in {alert.id for alert in story.alerts("held")}
    assert shared.id in msgspec.json.decode(action.released_alert_ids or "[]")


@pytest.mark.parametrize("end", ["failed", "refused", "waiting"])
def test_given_an_action_that_is_not_executed_then_the_hold_stays(end: str) -> None:
    story = HeldStory()
    transfer = story.wire()
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", two_approver_actions=("clear_hold",))
    in_force_at(story.story, "policy-v2", policy, story.now)
    held = {alert.id for alert in story.alerts("held")}
    action_id, _ = story.request("clear_hold", ("transfer", transfer))
    if end == "refused":
        assert story.approve(action_id, by=" ANN").status == "refused"
    if end == "failed":
        story.approve(action_id)
        assert story.conclude(action_id, error="The bank refused.").status == "failed"

    assert {alert.id for alert in story.alerts("held")} == held
    assert story.action(action_id).released_alert_ids is None


def test_given_a_hold_by_a_person_when_cleared_then_it_ends_and_an_escalated_alert_keeps_its_status() -> None:
    story = HeldStory()
    transfer = story.wire()
    one, other, *_ = story.alerts("held", on=transfer)
    assert story.decide(one, "hold") == "made"
    assert story.decide(other, "escalate") == "made"

    story.clear(transfer)

    now = {alert.id: alert.status for alert in story.alerts()}
    assert (now[one.id], now[other.id]) == ("closed", "escalated")
    assert [row.decision for row in story.dispositions(one)] == ["hold", "release"]


@pytest.mark.parametrize("target", ["trf_unknown", "acht_no_such", ""])
def test_given_a_transfer_that_no_one_knows_when_clearing_is_requested_then_nothing_is_recorded(target: str) -> None:
    story = HeldStory()
    story.wire()
    links = len(story.links("actions"))

    assert story.request("clear_hold", ("transfer", target))[1] == "unknown"
    assert story.request("cancel_transfer", ("transfer", target))[1] == "made"
    assert len(story.links("actions")) == links + 1


def test_given_a_key_when_it_would_release_in_place_of_a_person_then_it_is_refused_unless_a_person_approves() -> None:
    story = HeldStory()
    transfer = story.wire()
    by_key: dict[str, Any] = {"by": "key:live_abc", "kind": OperatorKind.KEY}
    assert story.request("clear_hold", ("transfer", transfer), **by_key)[1] == "needs_person"

    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", two_approver_actions=("clear_hold",))
    in_force_at(story.story, "policy-v2", policy, story.now)
    action_id, result = story.request("clear_hold", ("transfer", transfer), **by_key)
    assert result == "made"
    (alert, *_) = story.alerts("held", on=transfer)
    story.approve(action_id)
    story.conclude(action_id)
    assert [row.decided_by for row in story.dispositions(alert)] == ["operator:bob"]


@pytest.mark.parametrize("auto_hold", [True, False])
def test_given_a_closed_alert_of_the_hold_band_when_appealed_then_the_appeal_is_held_as_the_policy_says(
    *, auto_hold: bool
) -> None:
    story = HeldStory()
    transfer = story.wire()
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", hold_band_auto_hold=auto_hold)
    in_force_at(story.story, "policy-v2", policy, story.now)
    (alert, *_) = [row for row in story.alerts("held", on=transfer) if row.band_at_alert == "hold"]
    story.decide(alert, "release")

    appeal = story.appeal(alert)

    assert (appeal.status, evidence_of(appeal)["autoHold"]) == ("held" if auto_hold else "open", auto_hold)
    assert (appeal.sla_tier, appeal.route, appeal.band_at_alert) == ("appeal", "reviewed", "hold")
    assert story.decide(appeal, "hold") == "made"
    story.clear(transfer)
    assert story.alerts("held", on=transfer) == []


def test_given_an_alert_that_a_later_transfer_held_when_appealed_then_the_appeal_is_held_until_that_is_cleared() -> (
    None
):
    story = HeldStory()
    transfer = story.wire()
    (alert, *_) = [row for row in story.alerts("held", on=transfer) if row.transfer_id != transfer]
    assert alert.band_at_alert != "hold"
    story.decide(alert, "release")
    story.story.tick(story.now + 1)

    appeal = story.appeal(alert)

    assert (appeal.status, transfer in evidence_of(appeal)["transferIds"]) == ("held", True)
    story.clear(transfer)
    assert story.alerts("held", on=transfer) == []


def test_given_a_released_alert_of_another_band_when_appealed_then_the_appeal_is_open() -> None:
    story = HeldStory()
    story.story.wire("enti_2", "cpty_vn", 10_00, story.now + 1, beneficiary_country_code="IR")
    (alert, *_) = [row for row in story.alerts("open") if row.band_at_alert != "hold"]
    story.decide(alert, "close")

    assert story.appeal(alert).status == "open"


STEPS = ("wire", "hold", "release", "close", "escalate", "appeal", "clear", "clear of alert", "cancel", "failed clear")


@pytest.mark.parametrize("seed", range(12))
def test_given_any_sequence_of_steps_then_a_cleared_hold_has_ended_and_each_end_is_one_link(seed: int) -> None:
    story, chance = HeldStory(), random.Random(seed)
    transfers, cleared = [story.wire()], set[str]()
    for step in chance.choices(STEPS, weights=(4, 3, 2, 1, 1, 3, 4, 2, 1, 1), k=40):
        transfer = chance.choice(transfers)
        alerts = [row for row in story.alerts() if row.transfer_id == transfer]
        alert = chance.choice(alerts) if alerts else None
        take(story, step, transfer, alert, transfers, cleared)
        if chance.random() < 0.1:
            story.story.state = ShardState.loaded(story.story.state.dump())
    assert_each_hold_ended_once(story)


def take(
    story: HeldStory, step: str, transfer: str, alert: AlertRow | None, transfers: list[str], cleared: set[str]
) -> None:
    if step == "wire":
        transfers.append(story.wire())
        return
    if step in {"hold", "release", "close", "escalate"} and alert is not None:
        story.decide(alert, step)
    elif step == "appeal" and alert is not None and alert.status == "closed":
        if not [row for row in story.alerts() if row.appeal_of == alert.id]:
            story.appeal(alert)
    elif step == "cancel":
        story.execute("cancel_transfer", ("transfer", transfer))
    elif step == "failed clear":
        story.conclude(story.request("clear_hold", ("transfer", transfer))[0], error="The bank refused.")
    elif step.startswith("clear"):
        named = alert if step == "clear of alert" else None
        action = story.clear(transfer, alert=named)
        cleared.add(transfer)
        for row in story.alerts("held"):
            others = set(evidence_of(row)["transferIds"]) - {transfer}
            assert transfer not in evidence_of(row)["transferIds"] or others - cleared, row
        assert named is None or named.id not in {row.id for row in story.alerts("held")}
        for alert_id in msgspec.json.decode(action.released_alert_ids or "[]"):
            assert story.story.program.alerts.get(alert_id) is not None


def assert_each_hold_ended_once(story: HeldStory) -> None:
    """Every change from held to another status has its own link, which is of that entry."""
    ended = Counter[tuple[str, int]]()
    before: dict[str, str] = {}
    for row in story.story.all(AlertRow):
        if before.get(row.id) == AlertStatus.HELD and row.status != AlertStatus.HELD:
            ended[row.id, row.offset] += 1
        before[row.id] = row.status
    signed = Counter((row.alert_id, row.offset) for row in story.story.all(DispositionRow))
    links = Counter(link["alertId"] for link in story.links("dispositions"))
    assert ended
    assert all(count == signed[key] == 1 for key, count in ended.items())
    assert sum(links.values()) == sum(signed.values())
    ids = [link["id"] for link in story.links("dispositions")]
    assert len(ids) == len(set(ids))
