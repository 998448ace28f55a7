"""What narrows a program's autonomy by itself, what counts as evidence for that, and how a detector comes back."""

import msgspec
import pytest

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.entries.actions import PLATFORM
from clearhold.features.core.entries.commands import OperatorKind
from clearhold.features.core.instants import DAY_US, DAYS_30, HOUR_US
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.rows.alerts import ActionRow, PolicyRow
from clearhold.features.policy.seeds import POLICY_V1
from tests.support.alert_rows import evidence_of
from tests.support.autonomy import CANDIDATE, EVERY, LISTED, AutonomyStory, status_of_next, trusted
from tests.support.clock import T0
from tests.support.policies import in_force_at


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
    assert status_of_next(story) == "open"
    assert status_of_next(story, LISTED) == "auto_closed"
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
    story.story.debit("enti_1", "cpty_1", 200_00, story.now + HOUR_US)
    story.now += EVERY
    debit = story.story.debit("enti_1", "cpty_1", 950_00, story.now)
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


def test_given_a_detector_of_the_policy_when_its_closed_alert_turns_bad_then_it_is_closable_here_no_more() -> None:
    story = AutonomyStory()
    (alert,) = story.open_alerts(1, LISTED)
    story.label([alert], "bad")
    story.tick(story.now)

    assert story.autonomy.tier.value == "standard"
    assert digest_of(canonical(story.autonomy.effective)) in {row.sha256 for row in story.story.last(PolicyRow)}
    assert LISTED not in story.autonomy.effective.auto_closable_detectors
    assert len(story.autonomy.effective.auto_closable_detectors) == len(POLICY_V1.auto_closable_detectors) - 1
    assert status_of_next(story, LISTED) == "open"


@pytest.mark.parametrize(
    ("overturned", "reviewed", "withdrawn"),
    [(1, 20, False), (2, 20, True), (19, 19, False), (3, 60, False), (2, 40, False), (3, 40, True), (20, 20, True)],
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


@pytest.mark.parametrize(
    ("listed", "trust", "after"),
    [
        ((LISTED,), False, ("supervised", ())),
        ((LISTED, "round_amount"), False, ("standard", ("round_amount",))),
        ((LISTED,), True, ("trusted", (CANDIDATE,))),
    ],
)
def test_given_the_withdrawal_of_a_detector_then_a_tier_that_closes_nothing_reads_supervised(
    listed: tuple[str, ...], after: tuple[str, tuple[str, ...]], *, trust: bool
) -> None:
    story = trusted() if trust else AutonomyStory()
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", auto_closable_detectors=listed)
    in_force_at(story.story, "policy-v2", policy, story.now)
    (alert,) = story.open_alerts(1, LISTED)
    assert alert.status == "auto_closed"

    story.label([alert], "bad")
    story.tick(story.now)

    assert (story.autonomy.tier.value, story.autonomy.effective.auto_closable_detectors) == after
    (version, *_) = story.autonomy.history
    assert (version.body.tier.value, version.body.withdrawn) == (after[0], (LISTED,))
    if after[0] == "supervised":
        assert story.request("standard")[1] == "not_eligible"


def test_given_a_trusted_program_whose_policy_lists_nothing_when_its_grant_is_withdrawn_then_it_reads_supervised() -> (
    None
):
    story = trusted()
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", auto_closable_detectors=())
    in_force_at(story.story, "policy-v2", policy, story.now)
    (alert,) = story.open_alerts(1)
    story.label([alert], "bad")
    story.tick(story.now)

    assert (story.autonomy.tier.value, story.autonomy.granted) == ("supervised", ())
    assert story.autonomy.history[0].body.withdrawn == (CANDIDATE,)


@pytest.mark.parametrize(
    ("listed", "tier"),
    [
        ((LISTED,), "supervised"),
        ((), "supervised"),
        ((LISTED, "round_amount"), "standard"),
        (("round_amount",), "standard"),
    ],
)
def test_given_a_withdrawn_detector_when_a_later_policy_lists_it_then_the_tier_is_what_may_still_be_closed(
    listed: tuple[str, ...], tier: str
) -> None:
    story = AutonomyStory()
    (alert,) = story.open_alerts(1, LISTED)
    story.label([alert], "bad")
    story.tick(story.now)
    assert story.autonomy.tier.value == "standard"

    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", auto_closable_detectors=listed)
    in_force_at(story.story, "policy-v2", policy, story.now)

    assert story.autonomy.tier.value == tier
    assert story.autonomy.history[0].body.tier.value == "standard"
    if tier == "supervised":
        assert "Nothing is closed without a person" in story.autonomy.warnings[0]
        assert story.request("standard")[1] == "not_eligible"
        wider = msgspec.structs.replace(policy, version="policy-v3", auto_closable_detectors=("round_amount",))
        in_force_at(story.story, "policy-v3", wider, story.now)
        assert story.autonomy.tier.value == "standard"


@pytest.mark.parametrize(
    ("listed", "reviewed", "tier"),
    [((LISTED,), (CANDIDATE,), "standard"), ((), (CANDIDATE,), "supervised"), ((LISTED,), (), "trusted")],
)
def test_given_a_trusted_program_when_a_later_policy_always_reviews_its_grant_then_it_is_trusted_no_more(
    listed: tuple[str, ...], reviewed: tuple[str, ...], tier: str
) -> None:
    story = trusted()
    policy = msgspec.structs.replace(
        POLICY_V1, version="policy-v2", auto_closable_detectors=listed, always_reviewed=reviewed
    )
    in_force_at(story.story, "policy-v2", policy, story.now)

    assert story.autonomy.tier.value == tier


@pytest.mark.parametrize(("decision", "counts"), [("hold", 1), ("escalate", 1), ("close", 0), ("no_action", 0)])
@pytest.mark.parametrize("detector", [CANDIDATE, LISTED])
def test_given_the_first_decision_of_a_person_then_a_hold_or_an_escalation_overturns(
    detector: str, decision: str, counts: int
) -> None:
    story = AutonomyStory()
    story.review(story.open_alerts(1, detector), decision)

    evidence = story.evidence(detector)
    assert (evidence.recently_reviewed, evidence.recently_overturned) == (1, counts)


def test_given_overturns_of_alerts_that_the_policy_could_not_close_then_they_narrow_nothing() -> None:
    story = AutonomyStory()
    for number in range(20):
        story.now += EVERY
        cents = 100_00 + number * 20_00
        story.story.wire("enti_1", "cpty_1", cents, story.now, beneficiary_address={"country_code": "IR"})
    alerts = [alert for alert in story.story.alerts("high_risk_geography") if alert.status == "open"]
    assert len(alerts) == 20
    story.review(alerts, "hold")

    assert withdrawn(story) == ()


@pytest.mark.parametrize(("passed", "withdrawn"), [(DAYS_30 - 1, True), (DAYS_30, False)])
def test_given_overturns_then_they_count_for_30_days(passed: int, *, withdrawn: bool) -> None:
    story = AutonomyStory()
    alerts = story.open_alerts(20, LISTED)
    story.review(alerts[:2], "hold")
    story.review(alerts[2:], at=story.now + passed)

    story.tick(story.now)

    assert (LISTED not in story.autonomy.effective.auto_closable_detectors) is withdrawn


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
