"""A program's tier: what it lets the platform close, and what widening it takes."""

import msgspec
import pytest

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.entries.actions import PLATFORM, AutonomyBody, AutonomyTier
from clearhold.features.core.instants import DAY_US, DAYS_7, format_instant
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.rows.alerts import ActionRow, DispositionRow, PolicyRow
from clearhold.features.policy.autonomy import Objection, as_left_by
from clearhold.features.policy.seeds import POLICY_V1
from tests.support.alert_rows import evidence_of
from tests.support.autonomy import CANDIDATE, LISTED, AutonomyStory, earned, status_of_next, trusted
from tests.support.clock import T0
from tests.support.policies import in_force_at


def test_given_each_tier_then_it_closes_nothing_the_policys_or_the_granted_ones_too() -> None:
    standard, wide = earned(), trusted()
    narrow = earned()
    assert narrow.request("supervised") == ("act_1", "made")

    assert (status_of_next(narrow), status_of_next(narrow, LISTED)) == ("open", "open")
    assert (status_of_next(standard), status_of_next(standard, LISTED)) == ("open", "auto_closed")
    assert (status_of_next(wide), status_of_next(wide, LISTED)) == ("auto_closed", "auto_closed")
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


def test_given_a_supervised_program_without_evidence_when_two_persons_agree_then_the_policy_holds_again() -> None:
    story = AutonomyStory()
    story.request("supervised")
    action_id, result = story.request("standard")

    assert (result, story.story.one(ActionRow).status, story.autonomy.tier.value) == ("made", "requested", "supervised")
    assert story.approve(action_id, by="ANN").status == "refused"
    assert story.autonomy.tier.value == "supervised"

    action_id, _ = story.request("standard")
    assert story.approve(action_id).status == "executed"
    assert (story.autonomy.tier.value, story.autonomy.effective) == ("standard", POLICY_V1)
    assert status_of_next(story, LISTED) == "auto_closed"


def test_given_a_supervised_program_with_a_withdrawn_detector_then_the_others_alone_come_back_without_evidence() -> (
    None
):
    story = AutonomyStory()
    (alert,) = story.open_alerts(1, LISTED)
    story.label([alert], "bad")
    story.tick(story.now)
    story.request("supervised")
    story.approve(story.request("standard")[0])

    (version, *_) = story.autonomy.history
    assert (version.body.tier.value, version.body.withdrawn) == ("standard", (LISTED,))
    assert set(story.autonomy.effective.auto_closable_detectors) == set(POLICY_V1.auto_closable_detectors) - {LISTED}
    assert status_of_next(story, LISTED) == "open"


def test_given_a_supervised_program_when_a_closed_alert_turns_bad_then_its_detector_does_not_come_back() -> None:
    story = AutonomyStory()
    (alert,) = story.open_alerts(1, LISTED)
    story.request("supervised")
    story.label([alert], "bad")
    story.tick(story.now)
    story.approve(story.request("standard")[0])

    assert story.autonomy.tier.value == "standard"
    assert LISTED not in story.autonomy.effective.auto_closable_detectors
    assert "round_amount" in story.autonomy.effective.auto_closable_detectors


def test_given_the_way_back_to_standard_then_it_is_the_weeks_widening_and_trust_takes_evidence_still() -> None:
    story = earned()
    story.request("supervised")
    story.approve(story.request("standard")[0])

    assert story.request("trusted", at=story.now + DAYS_7 - 1)[1] == "too_early"
    assert story.request("trusted", at=story.now + 1)[1] == "made"
    without = AutonomyStory()
    without.request("supervised")
    assert without.request("trusted")[1] == "not_eligible"


def test_given_a_narrowing_then_the_answer_warns_of_what_it_costs_and_names_the_way_back() -> None:
    story = trusted()
    before = story.autonomy.warnings
    assert before == ()

    story.request("supervised")
    closes_nothing, ended = list(story.autonomy.warnings)
    assert closes_nothing.startswith("Nothing is closed without a person on this program.")
    assert ended == f"No longer granted: {CANDIDATE}. A grant needs evidence and a second person."

    narrowed = AutonomyStory()
    (alert,) = narrowed.open_alerts(1, LISTED)
    narrowed.label([alert], "bad")
    narrowed.tick(narrowed.now)
    assert narrowed.autonomy.warnings == (f"Withdrawn until the evidence on them suffices again: {LISTED}.",)


def test_given_a_granted_detector_that_the_policy_has_always_reviewed_then_it_is_not_closable() -> None:
    body = AutonomyBody(
        version="autonomy-v1", tier=AutonomyTier.TRUSTED, granted=(CANDIDATE, LISTED), withdrawn=(), note="Earned."
    )
    policy = msgspec.structs.replace(POLICY_V1, always_reviewed=(CANDIDATE,), auto_closable_detectors=())

    assert as_left_by(body, policy).auto_closable_detectors == (LISTED,)


def test_given_trust_when_another_policy_comes_into_force_then_both_together_are_a_policy_with_its_own_row() -> None:
    story = trusted()
    narrow = msgspec.structs.replace(POLICY_V1, version="policy-v2", auto_closable_detectors=("round_amount",))

    in_force_at(story.story, "policy-v2", narrow, story.now)

    effective = story.autonomy.effective
    assert effective.version == "policy-v2.autonomy-v1"
    assert effective.auto_closable_detectors == (CANDIDATE, "round_amount")
    bodies = {row.sha256: row.version for row in story.story.last(PolicyRow)}
    assert bodies[digest_of(canonical(effective))] == effective.version
    assert (status_of_next(story), status_of_next(story, LISTED)) == ("auto_closed", "open")
    assert story.evidence(LISTED).alerts == 1
