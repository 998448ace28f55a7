"""ars-v1: each signal fires and nearly fires; a wallet never screened, not covered and clear are three things."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.core.reason import Score
from features.core.vocabulary import Band, VerificationStatus
from features.scorers import ars_v1
from features.scorers.ars_v1 import AgentInputs
from tests.checks.scorecards import assert_complete, assert_sound, found, weights

QUIET: Final[dict[str, Any]] = {
    "settlements": 40,
    "settlements_24h": 1,
    "settlements_30d": 30,
    "recent_settlements": 40,
    "distinct_payers": 20,
    "top_payer_settlements": 5,
    "verification_status": "UNVERIFIED",
    "wallet_screening": "clear",
}
CASES: Final[tuple[tuple[str, int, dict[str, Any], dict[str, Any]], ...]] = (
    ("ARS-FLO-01", 12, {"top_payer_settlements": 32}, {"top_payer_settlements": 31}),
    (
        "ARS-FLO-01",
        12,
        {"recent_settlements": 10, "top_payer_settlements": 10},
        {"recent_settlements": 9, "top_payer_settlements": 9},
    ),
    ("ARS-FLO-02", 25, {"self_dealing_settlements": 8}, {"self_dealing_settlements": 7}),
    ("ARS-FLO-02", 25, {"self_dealing_settlements": 8}, {"self_dealing_settlements": 0, "recent_settlements": 0}),
    ("ARS-FLO-03", 25, {"round_trips_30d": 1}, {"round_trips_30d": 0}),
    ("ARS-FLO-03", 25, {"round_trips_30d": 2}, {"round_trips_30d": 3}),
    ("ARS-FLO-04", 35, {"round_trips_30d": 3}, {"round_trips_30d": 2}),
    ("ARS-VEL-01", 15, {"settlements_24h": 5, "settlements_30d": 50}, {"settlements_24h": 5, "settlements_30d": 51}),
    ("ARS-VEL-01", 15, {"settlements_24h": 5, "settlements_30d": 10}, {"settlements_24h": 4, "settlements_30d": 10}),
    ("ARS-VEL-01", 15, {"settlements_24h": 9, "settlements_30d": 10}, {"settlements_24h": 9, "settlements_30d": 9}),
    ("ARS-REG-01", 10, {"registration_age_days": 29}, {"registration_age_days": 30}),
    ("ARS-REG-02", 15, {"owner_changed_days": 29}, {"owner_changed_days": 30}),
    ("ARS-REG-03", 20, {"active": False}, {"active": None}),
    ("ARS-REG-03", 20, {"active": False}, {"active": False, "settlements_30d": 0}),
    ("ARS-REG-04", 20, {"has_wallet": False}, {"has_wallet": None}),
    ("ARS-REG-04", 20, {"has_wallet": False}, {"has_wallet": False, "settlements_30d": 0}),
    (
        "ARS-REP-01",
        10,
        {"feedback_count": 5, "revoked_feedback_count": 1},
        {"feedback_count": 6, "revoked_feedback_count": 1},
    ),
    (
        "ARS-REP-01",
        10,
        {"feedback_count": 5, "revoked_feedback_count": 1},
        {"feedback_count": 4, "revoked_feedback_count": 4},
    ),
    (
        "ARS-REP-02",
        8,
        {"feedback_count": 11, "paid_feedback_count": 1},
        {"feedback_count": 10, "paid_feedback_count": 1},
    ),
    (
        "ARS-REP-02",
        8,
        {"feedback_count": 10, "paid_feedback_count": 0},
        {"feedback_count": 9, "paid_feedback_count": 0},
    ),
    ("ARS-REP-03", 10, {"starred_count": 5, "starred_mean": 49}, {"starred_count": 5, "starred_mean": 50}),
    ("ARS-REP-03", 10, {"starred_count": 5, "starred_mean": 49}, {"starred_count": 4, "starred_mean": 0}),
    (
        "ARS-REP-04",
        -5,
        {"paid_feedback_count": 10, "revoked_feedback_count": 0},
        {"paid_feedback_count": 9, "revoked_feedback_count": 0},
    ),
    ("ARS-REP-04", -5, {"paid_feedback_count": 10, "revoked_feedback_count": 0}, {"paid_feedback_count": 10}),
    ("ARS-VAL-01", 15, {"validation_count": 1, "validation_mean": 49}, {"validation_count": 1, "validation_mean": 50}),
    ("ARS-VAL-01", 15, {"validation_count": 1, "validation_mean": 0}, {"validation_count": 0, "validation_mean": None}),
    ("ARS-KYC-01", 60, {"verification_status": "DENIED"}, {"verification_status": "UNVERIFIED"}),
    ("ARS-SCR-01", 60, {"wallet_screening": "hit"}, {"wallet_screening": "review"}),
    ("ARS-SCR-02", 15, {"wallet_screening": "review"}, {"wallet_screening": None}),
    ("ARS-SCR-03", 8, {"wallet_screening": "not_covered"}, {"wallet_screening": "clear"}),
)


def scored(**over: Any) -> Score:
    return ars_v1.score(AgentInputs(**QUIET | over))


def test_given_a_quiet_agent_then_it_scores_nothing_for_no_reason() -> None:
    score = scored()

    assert (score.version, score.value, score.n, score.confidence) == ("ars-v1", 0, 40, 0.67)
    assert score.reasons == ()


def test_given_the_reasons_then_each_signal_has_a_case() -> None:
    assert_complete(ars_v1.CARD, {case[0] for case in CASES})


@pytest.mark.parametrize(("reason_id", "weight", "fires", "nearly"), CASES)
def test_given_a_signal_when_its_line_is_reached_then_it_fires_and_one_short_of_it_does_not(
    reason_id: str, weight: int, fires: dict[str, Any], nearly: dict[str, Any]
) -> None:
    assert [reason.weight for reason in found(scored(**fires), reason_id)] == [weight]
    assert found(scored(**nearly), reason_id) == []


@pytest.mark.parametrize(("settlements", "value"), [(9, None), (10, 8)])
def test_given_the_floor_of_settlements_then_the_score_begins_there(settlements: int, value: int | None) -> None:
    assert scored(settlements=settlements, wallet_screening="not_covered").value == value


def test_given_a_listed_wallet_when_the_agent_is_unscored_then_the_hit_is_listed() -> None:
    score = scored(settlements=1, wallet_screening="hit", active=False)

    assert (score.value, score.band, score.hard) == (None, Band.UNSCORED, True)
    assert [reason.id for reason in score.reasons] == ["ARS-SCR-01"]


@pytest.mark.parametrize(("screening", "confidence"), [("clear", 0.67), ("not_covered", 0.67), (None, 0.335)])
def test_given_a_wallet_never_screened_then_no_points_are_given_and_the_confidence_is_halved(
    screening: str | None, confidence: float
) -> None:
    assert scored(wallet_screening=screening).confidence == confidence
    assert ars_v1.is_degraded(AgentInputs(settlements=1, wallet_screening=screening)) is (screening is None)


def test_given_repeated_round_trips_then_the_agent_goes_to_a_person() -> None:
    assert scored(round_trips_30d=3).hard
    assert not scored(round_trips_30d=2).hard


def test_given_families_over_their_caps_then_the_caps_and_the_ceiling_are_reasons() -> None:
    score = scored(
        round_trips_30d=3,
        self_dealing_settlements=40,
        top_payer_settlements=40,
        active=False,
        has_wallet=False,
        wallet_screening="hit",
    )

    assert weights(score) == {
        "ARS-SCR-01": 60,
        "ARS-FLO-04": 35,
        "ARS-FLO-02": 25,
        "ARS-REG-03": 20,
        "ARS-REG-04": 20,
        "ARS-FLO-01": 12,
        "ARS-CAP-02": -10,
        "ARS-CAP-01": -12,
        "ARS-CAP-99": -50,
    }
    assert score.value == 100


COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 40, 64, 1_000)))
DAYS: Final = st.none() | st.sampled_from((0, 29, 30, 400))
FLAGS: Final = st.none() | st.booleans()
MAYBE: Final = st.none() | COUNTS
MEANS: Final = st.none() | st.sampled_from((0, 49, 50, 100))
INPUTS: Final = st.builds(
    AgentInputs,
    settlements=COUNTS,
    volume_cents=COUNTS,
    settlements_24h=COUNTS,
    settlements_30d=COUNTS,
    recent_settlements=COUNTS,
    distinct_payers=COUNTS,
    top_payer_settlements=COUNTS,
    self_dealing_settlements=MAYBE,
    round_trips_30d=MAYBE,
    verification_status=st.none() | st.sampled_from([word.value for word in VerificationStatus]),
    registration_age_days=DAYS,
    owner_changed_days=DAYS,
    active=FLAGS,
    has_wallet=FLAGS,
    feedback_count=MAYBE,
    paid_feedback_count=MAYBE,
    revoked_feedback_count=MAYBE,
    starred_count=MAYBE,
    starred_mean=MEANS,
    validation_count=MAYBE,
    validation_mean=MEANS,
    wallet_screening=st.none() | st.sampled_from(("clear", "hit", "review", "not_covered")),
)


@settings(max_examples=300, deadline=None)
@given(inputs=INPUTS)
def test_given_any_inputs_then_the_reasons_add_up_to_the_score(inputs: AgentInputs) -> None:
    assert_sound(ars_v1.CARD, inputs, n=inputs.settlements, least=10)
