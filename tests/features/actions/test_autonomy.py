"""A program's tier: what it lets the platform close, what widening it takes, and what narrows it."""

from functools import cache

import msgspec
import pytest

from features.core.actions import PLATFORM
from features.core.autonomy import AutonomyBody, AutonomyTier
from features.core.canonical import canonical, digest_of
from features.core.commands import OperatorKind
from features.core.instants import DAY_US, DAYS_7, DAYS_30, HOUR_US, format_instant
from features.core.rows.actions import ActionRow
from features.core.rows.alerts import DispositionRow
from features.core.rows.policies import PolicyRow
from features.core.rows.record import ChainFactRow
from features.policy.autonomy import as_left_by
from features.policy.eligibility import Objection
from features.policy.seeds import POLICY_V1
from tests.support.alert_rows import evidence_of
from tests.support.autonomy import CANDIDATE, LISTED, AutonomyStory
from tests.support.bank_events import rfc3339
from tests.support.clock import T0
from tests.support.policies import in_force_at


@cache
def _earned() -> AutonomyStory:
    story = AutonomyStory()
    story.earn()
    return story


@cache
def _trusted() -> AutonomyStory:
    story = earned()
    action_id, _ = story.request("trusted")
    story.approve(action_id)
    return story


def earned() -> AutonomyStory:
    """A program that earned the candidate, and is still on ``standard``."""
    return _earned().copied()


def trusted() -> AutonomyStory:
    return _trusted().copied()


def statuses(story: AutonomyStory, detector: str = CANDIDATE) -> str:
    return story.open_alerts(1, detector)[0].status


def test_given_each_tier_then_it_closes_nothing_the_policys_or_the_granted_ones_too() -> None:
    standard, wide = earned(), trusted()
    narrow = earned()
    assert narrow.request("supervised") == ("act_1", "made")

    assert (statuses(narrow), statuses(narrow, LISTED)) == ("open", "open")
    assert (statuses(standard), statuses(standard, LISTED)) == ("open", "auto_closed")
    assert (statuses(wide), statuses(wide, LISTED)) == ("auto_closed", "auto_closed")
    assert [each.autonomy.tier.value for each in (narrow, standard, wide)] == ["supervised", "standard", "trusted"]
    assert [each.autonomy.granted for each in (narrow, standard, wide)] == [(), (), (CANDIDATE,)]
    assert standard.autonomy.effective is POLICY_V1
    assert narrow.autonomy.effective.auto_closable_detectors == ()
    assert set(wide.autonomy.effective.auto_closable_detectors) == {*POLICY_V1.auto_closable_detectors, CANDIDATE}


def test_given_a_trusted_program_when_it_closes_a_granted_alert_then_the_disposition_cites_a_body_that_allows_it() -> (
    None
):
    story = trusted()

    (alert,) = story.open_alerts(1)

    disposition = story.story.one(DispositionRow)
    effective = story.autonomy.effective
    assert effective.version == "policy-v1.autonomy-v1"
    assert alert.policy_version == disposition.policy_version == effective.version
    assert evidence_of(alert)["policyVersion"] == effective.version
    assert disposition.decided_by == f"policy:{effective.version}"
    assert disposition.policy_sha256 == digest_of(canonical(effective))
    assert CANDIDATE in effective.auto_closable_detectors


def test_given_trust_then_alerts_that_are_hard_or_always_reviewed_wait_for_a_person_still() -> None:
    story = trusted()

    story.story.wire("enti_1", "cpty_1", 10_00, story.now + DAY_US, beneficiary_address={"country_code": "IR"})

    alert = story.story.alert("high_risk_geography")
    assert (alert.status, alert.route) == ("open", "reviewed")


@pytest.mark.parametrize(
    ("labelled", "reviewed", "result", "standing"),
    [
        (149, 50, "made", ()),
        (148, 50, "not_eligible", (Objection.BAD_RATE_BOUND,)),
        (149, 49, "not_eligible", (Objection.REVIEWED_TOO_FEW,)),
    ],
)
def test_given_evidence_at_its_edge_when_more_trust_is_requested_then_it_is_granted_or_refused(
    labelled: int, reviewed: int, result: str, standing: tuple[Objection, ...]
) -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(150)
    story.label(alerts[:labelled])
    story.review(alerts[:reviewed])
    story.idle(60)

    assert story.evidence().objections == standing
    assert story.request("trusted")[1] == result
    assert story.autonomy.version is None


def test_given_labels_that_mature_then_the_request_is_granted_60_days_after_the_last_transfer_and_not_before() -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(149)
    story.label(alerts)
    story.review(alerts[:50])
    opened_at = story.now

    assert story.request("trusted", at=opened_at + 60 * DAY_US - 1)[1] == "not_eligible"
    assert story.request("trusted", at=opened_at + 60 * DAY_US)[1] == "made"


def test_given_a_request_for_trust_then_it_needs_another_person_and_says_what_it_leads_to() -> None:
    story = earned()
    action_id, _ = story.request("trusted")

    assert story.story.one(ActionRow).status == "requested"
    assert story.autonomy.tier.value == "standard"
    assert story.approve(action_id, by=" Ann ").status == "refused"
    assert story.autonomy.version is None

    action_id, _ = story.request("trusted")
    action = story.approve(action_id)
    assert (action.status, action.requested_by, action.approved_by) == ("executed", "ann", "bob")
    change = msgspec.json.decode(action.change or "")
    assert change["from"] is None
    assert change["body"] == {
        "version": "autonomy-v1",
        "tier": "trusted",
        "granted": [CANDIDATE],
        "withdrawn": [],
        "note": "We ask for trusted.",
    }
    autonomy = story.autonomy
    (version,) = autonomy.history
    assert (version.version, version.active, version.body.granted) == ("autonomy-v1", True, (CANDIDATE,))
    assert autonomy.last_change_at == version.created_at == format_instant(T0 + story.now)
    assert autonomy.next_change_allowed_at == format_instant(T0 + story.now + DAYS_7)
    links = [row for row in story.story.all(ChainFactRow) if row.chain == "actions"][-3:]
    assert [msgspec.json.decode(row.body)["transition"] for row in links] == ["requested", "approved", "executed"]


def test_given_a_widening_then_the_next_one_waits_7_days_from_it_and_a_narrowing_does_not() -> None:
    story = trusted()
    widened_at = story.now

    assert story.request("standard")[1] == "made"
    assert story.autonomy.tier.value == "standard"
    assert story.autonomy.next_change_allowed_at == format_instant(T0 + widened_at + DAYS_7)
    assert story.request("trusted", at=widened_at + DAYS_7 - 1)[1] == "too_early"
    action_id, result = story.request("trusted", at=widened_at + DAYS_7)
    assert result == "made"
    assert story.approve(action_id).status == "executed"
    assert [version.version for version in story.autonomy.history] == ["autonomy-v3", "autonomy-v2", "autonomy-v1"]


def test_given_a_narrowing_by_a_person_then_it_is_carried_out_at_once_and_on_the_record() -> None:
    story = trusted()

    story.request("supervised", by="zoe")

    action = story.story.one(ActionRow)
    assert (action.status, action.requested_by, action.approved_by) == ("executed", "zoe", None)
    links = [msgspec.json.decode(row.body) for row in story.story.last(ChainFactRow)]
    assert [(link["transition"], link["actor"]) for link in links] == [("requested", "zoe"), ("executed", PLATFORM)]
    assert links[1]["change"]["body"]["tier"] == "supervised"
    assert links[1]["policySha256"] == digest_of(canonical(story.autonomy.effective))
    assert story.request("supervised")[1] == "unchanged"


def test_given_the_tier_that_is_in_force_when_it_is_requested_then_nothing_changes() -> None:
    assert earned().request("standard")[1] == "unchanged"
    assert trusted().request("trusted")[1] == "unchanged"


def test_given_a_pending_widening_when_another_is_requested_then_it_is_refused_until_the_first_is_out_of_date() -> None:
    story = earned()
    first, _ = story.request("trusted")

    assert story.request("trusted")[1] == "pending"
    assert story.request("supervised")[1] == "made"
    outdated = story.approve(first)
    assert outdated.status == "failed"
    assert outdated.error == "The autonomy of the program has changed since the request."
    assert story.autonomy.tier.value == "supervised"


def test_given_a_pending_widening_when_its_evidence_is_lost_then_the_approval_fails() -> None:
    story = earned()
    alerts = story.story.alerts(CANDIDATE)
    action_id, _ = story.request("trusted")

    story.label([row for row in alerts if row.subject_type == "transfer"][:1], "bad")

    assert story.evidence().objections == (Objection.BAD_RATE_BOUND,)
    action = story.approve(action_id)
    assert (action.status, action.error) == ("failed", f"The evidence does not hold any more for: {CANDIDATE}.")
    assert (story.autonomy.tier.value, story.autonomy.history) == ("standard", ())


def test_given_a_supervised_program_then_only_what_it_earned_comes_back() -> None:
    story = AutonomyStory()
    story.earn(detector=LISTED)
    story.request("supervised")
    action_id, result = story.request("standard")

    assert result == "made"
    assert story.approve(action_id).status == "executed"
    assert story.autonomy.effective.auto_closable_detectors == (LISTED,)
    (version, _) = story.autonomy.history
    assert set(version.body.withdrawn) == set(POLICY_V1.auto_closable_detectors) - {LISTED}


def test_given_a_supervised_program_without_evidence_then_it_stays_supervised() -> None:
    story = AutonomyStory()
    story.request("supervised")

    assert story.request("standard")[1] == "not_eligible"


def test_given_a_closed_alert_when_it_turns_bad_then_the_next_tick_withdraws_its_detector_and_the_tier_falls() -> None:
    story = trusted()
    (alert,) = story.open_alerts(1)
    story.label([alert], "bad")
    assert story.autonomy.tier.value == "trusted"

    story.tick(story.now)

    action = story.story.one(ActionRow)
    assert (action.requested_by, action.approved_by, action.status) == (PLATFORM, None, "executed")
    links = [msgspec.json.decode(row.body) for row in story.story.last(ChainFactRow)]
    assert [(link["kind"], link["transition"], link["actor"]) for link in links] == [
        ("set_autonomy", "requested", PLATFORM),
        ("set_autonomy", "executed", PLATFORM),
    ]
    body = story.autonomy.history[0].body
    assert (body.version, body.tier.value, body.granted, body.withdrawn) == (
        "autonomy-v2",
        "standard",
        (),
        (CANDIDATE,),
    )
    assert statuses(story) == "open"
    assert statuses(story, LISTED) == "auto_closed"
    assert not [row for row in story.tick(story.now) if isinstance(row, ActionRow)]


def withdrawn(story: AutonomyStory) -> tuple[str, ...]:
    """What is withdrawn once a minute has passed."""
    story.tick(story.now)
    return story.autonomy.history[0].body.withdrawn if story.autonomy.history else ()


def test_given_a_closed_alert_of_several_transfers_when_a_later_one_is_bad_then_it_turned_bad() -> None:
    story = AutonomyStory()
    for _ in range(6):
        story.now += HOUR_US
        story.story.wire("enti_1", "cpty_1", 250_00, story.now)
    alert = story.story.alert("repeated_amount")
    (*_, last) = evidence_of(alert)["transferIds"]
    assert (alert.status, story.evidence("repeated_amount").alerts) == ("auto_closed", 1)
    assert last != alert.transfer_id

    story.label([msgspec.structs.replace(alert, transfer_id=last)], "bad")

    assert withdrawn(story) == ("repeated_amount",)


def test_given_a_closed_alert_when_its_debit_is_returned_as_unauthorized_then_it_turned_bad() -> None:
    story = AutonomyStory()
    story.story.introduce("enti_2", last_screened_at=rfc3339(T0 + story.now))
    debit = story.story.debit("enti_2", "cpty_2", 3_100_00, story.now)
    assert story.story.alert(LISTED).status == "auto_closed"
    assert withdrawn(story) == ()

    story.now += DAY_US
    story.story.return_debit(debit, "R10", story.now)

    assert withdrawn(story) == (LISTED,)


def test_given_a_closed_alert_when_the_holder_wins_the_dispute_of_its_payment_then_it_turned_bad() -> None:
    story = AutonomyStory()
    story.story.card("bacc_7", 29_000_00, story.now, card_id="card_1")
    alert = story.story.alert("amount_spike")
    assert alert.status == "auto_closed"

    story.now += DAY_US
    dispute = {"id": "disp_1", "transaction_id": alert.transfer_id, "amount": 29_000_00, "outcome": "won"}
    story.story.deliver("card.dispute.closed", dispute, at=T0 + story.now)

    assert withdrawn(story) == ("amount_spike",)


def test_given_a_granted_detector_that_the_policy_has_always_reviewed_then_it_is_not_closable() -> None:
    body = AutonomyBody(
        version="autonomy-v1", tier=AutonomyTier.TRUSTED, granted=(CANDIDATE, LISTED), withdrawn=(), note="Earned."
    )
    policy = msgspec.structs.replace(POLICY_V1, always_reviewed=(CANDIDATE,), auto_closable_detectors=())

    assert as_left_by(body, policy).auto_closable_detectors == (LISTED,)


def test_given_a_detector_of_the_policy_when_its_closed_alert_turns_bad_then_it_is_closable_here_no_more() -> None:
    story = AutonomyStory()
    (alert,) = story.open_alerts(1, LISTED)
    story.label([alert], "bad")
    story.tick(story.now)

    assert story.autonomy.tier.value == "standard"
    assert LISTED not in story.autonomy.effective.auto_closable_detectors
    assert len(story.autonomy.effective.auto_closable_detectors) == len(POLICY_V1.auto_closable_detectors) - 1
    assert statuses(story, LISTED) == "open"


@pytest.mark.parametrize(
    ("overturned", "reviewed", "withdrawn"), [(1, 20, False), (2, 20, True), (19, 19, False), (3, 60, False)]
)
def test_given_overturns_then_over_five_percent_of_twenty_in_30_days_withdraw(
    overturned: int, reviewed: int, *, withdrawn: bool
) -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(reviewed, LISTED)
    story.review(alerts[:overturned], "escalate")
    story.review(alerts[overturned:])
    story.tick(story.now)

    assert (LISTED not in story.autonomy.effective.auto_closable_detectors) is withdrawn


@pytest.mark.parametrize(("passed", "withdrawn"), [(DAYS_30 - 1, True), (DAYS_30, False)])
def test_given_overturns_then_they_count_for_30_days(passed: int, *, withdrawn: bool) -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(20, LISTED)
    story.review(alerts[:2], "hold")
    story.review(alerts[2:], at=story.now + passed)

    story.tick(story.now)

    assert (LISTED not in story.autonomy.effective.auto_closable_detectors) is withdrawn


def test_given_trust_when_another_policy_comes_into_force_then_both_together_are_a_policy_with_its_own_row() -> None:
    story = trusted()
    narrow = msgspec.structs.replace(POLICY_V1, version="policy-v2", auto_closable_detectors=("round_amount",))

    in_force_at(story.story, "policy-v2", narrow, story.now)

    effective = story.autonomy.effective
    assert effective.version == "policy-v2.autonomy-v1"
    assert effective.auto_closable_detectors == (CANDIDATE, "round_amount")
    bodies = {row.sha256: row.version for row in story.story.last(PolicyRow)}
    assert bodies[digest_of(canonical(effective))] == effective.version
    assert (statuses(story), statuses(story, LISTED)) == ("auto_closed", "open")
    assert story.evidence(LISTED).alerts == 1


def test_given_decisions_by_a_key_then_they_are_no_reviews() -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(1, LISTED)

    story.review(alerts, "escalate", operator="key:test_abc", operator_kind=OperatorKind.KEY)

    assert (story.evidence(LISTED).reviewed, story.evidence(LISTED).overturned) == (0, 0)


def test_given_an_alert_that_several_persons_decide_then_the_first_of_them_is_its_review() -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(1, LISTED)

    story.review(alerts, "escalate")
    story.review(alerts, "close")

    assert (story.evidence(LISTED).reviewed, story.evidence(LISTED).overturned) == (1, 1)


def test_given_a_withdrawn_detector_when_it_is_earned_again_then_the_same_tier_takes_it_back() -> None:
    story = AutonomyStory()
    (first,) = story.open_alerts(1, LISTED)
    story.label([first], "bad")
    story.tick(story.now)
    assert story.request("standard")[1] == "unchanged"

    alerts = story.open_alerts(150, LISTED)
    story.review(alerts[:50])
    story.label([first, *alerts])
    story.idle(60)
    action_id, result = story.request("standard")

    assert result == "made"
    assert story.approve(action_id).status == "executed"
    assert story.autonomy.effective is POLICY_V1
    assert story.autonomy.version == "autonomy-v2"
