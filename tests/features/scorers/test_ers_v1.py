"""ers-v1: each signal fires and nearly fires; the transfer's part fades and is counted once; every score adds up."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.core.reason import Score
from features.core.vocabulary import Band, PepStatus, VerificationStatus
from features.scorers import ers_v1
from features.scorers.ers_v1 import EntityInputs
from tests.checks.scorecards import assert_complete, assert_sound, found, weights

QUIET: Final[dict[str, Any]] = {
    "transfers_90d": 20,
    "verification_status": "VERIFIED",
    "pep_status": "no",
    "is_high_risk": False,
    "requires_screening": True,
    "screening_age_days": 365,
    "sanctions_match": False,
}
CASES: Final[tuple[tuple[str, int, dict[str, Any], dict[str, Any]], ...]] = (
    ("ERS-TRF-01", 1, {"transfer_score": 1}, {"transfer_score": 1, "transfer_score_days": 1}),
    ("ERS-KYC-01", 60, {"verification_status": "DENIED"}, {"verification_status": None}),
    ("ERS-KYC-02", 15, {"verification_status": "PENDING"}, {"verification_status": "DENIED"}),
    ("ERS-KYC-02", 15, {"verification_status": "UNVERIFIED"}, {"verification_status": None}),
    ("ERS-KYC-02", 15, {"verification_status": "MANUAL_REVIEW"}, {"verification_status": "VERIFIED"}),
    ("ERS-SCR-01", 15, {"pep_status": "yes"}, {"pep_status": "potential"}),
    ("ERS-SCR-02", 8, {"pep_status": "potential"}, {"pep_status": "not_checked"}),
    ("ERS-SCR-03", 15, {"is_high_risk": True}, {"is_high_risk": None}),
    ("ERS-SCR-04", 20, {"screening_age_days": None}, {"screening_age_days": None, "requires_screening": None}),
    ("ERS-SCR-05", 8, {"screening_age_days": 366}, {"screening_age_days": 365}),
    ("ERS-SCR-06", 60, {"sanctions_match": True}, {"sanctions_match": None}),
    ("ERS-RET-01", 15, {"unauthorized_returns_60d": 1}, {"unauthorized_returns_60d": 0}),
    ("ERS-RET-02", 30, {"unauthorized_returns_60d": 2}, {"unauthorized_returns_60d": 1}),
    ("ERS-RET-03", 20, {"returns_30d": 2, "ach_debits_30d": 10}, {"returns_30d": 2, "ach_debits_30d": 11}),
    ("ERS-RET-03", 20, {"returns_30d": 2, "ach_debits_30d": 2}, {"returns_30d": 1, "ach_debits_30d": 1}),
    ("ERS-RET-04", 20, {"probed_counterparties_30d": 2}, {"probed_counterparties_30d": 1}),
)


def scored(**over: Any) -> Score:
    return ers_v1.score(EntityInputs(**QUIET | over))


def test_given_a_quiet_entity_then_it_scores_nothing_for_no_reason() -> None:
    score = scored()

    assert (score.version, score.value, score.n, score.confidence) == ("ers-v1", 0, 20, 0.5)
    assert score.reasons == ()


def test_given_the_reasons_then_each_signal_has_a_case() -> None:
    assert_complete(ers_v1.CARD, {case[0] for case in CASES})


@pytest.mark.parametrize(("reason_id", "weight", "fires", "nearly"), CASES)
def test_given_a_signal_when_its_line_is_reached_then_it_fires_and_one_short_of_it_does_not(
    reason_id: str, weight: int, fires: dict[str, Any], nearly: dict[str, Any]
) -> None:
    assert [reason.weight for reason in found(scored(**fires), reason_id)] == [weight]
    assert found(scored(**nearly), reason_id) == []


@pytest.mark.parametrize("reason_id", ["ERS-KYC-01", "ERS-SCR-06"])
def test_given_a_hard_signal_when_the_entity_is_unscored_then_it_is_listed_and_nothing_else(reason_id: str) -> None:
    over = next(case[2] for case in CASES if case[0] == reason_id)

    score = scored(transfers_90d=4, transfer_score=80, **over)

    assert (score.value, score.confidence, score.n, score.band) == (None, None, 4, Band.UNSCORED)
    assert [reason.id for reason in score.reasons] == [reason_id]
    assert score.hard


@pytest.mark.parametrize(("transfers", "value"), [(4, None), (5, 80)])
def test_given_the_floor_of_transfers_then_the_score_begins_there(transfers: int, value: int | None) -> None:
    assert scored(transfers_90d=transfers, transfer_score=80).value == value


@pytest.mark.parametrize(
    ("days", "left"), [(0, 80), (1, 76), (7, 56), (13, 42), (14, 40), (28, 20), (70, 2), (84, 1), (88, 1), (89, 0)]
)
def test_given_a_transfers_score_when_days_go_by_then_it_halves_every_14(days: int, left: int) -> None:
    assert scored(transfer_score=80, transfer_score_days=days).value == left


def test_given_identity_in_the_transfers_score_then_it_counts_once_and_the_reason_says_so() -> None:
    score = scored(transfer_score=40, transfer_identity_points=15, verification_status="PENDING")

    assert weights(score) == {"ERS-TRF-01": 40, "ERS-KYC-02": 15, "ERS-CAP-03": -15}
    assert score.value == 40


def test_given_an_old_transfer_with_identity_then_only_what_is_left_of_it_is_taken_off() -> None:
    score = scored(transfer_score=40, transfer_score_days=14, transfer_identity_points=30, verification_status="DENIED")

    assert weights(score) == {"ERS-KYC-01": 60, "ERS-TRF-01": 20, "ERS-CAP-03": -15}


def test_given_an_entity_verified_since_then_its_transfers_score_stands_as_it_was() -> None:
    assert weights(scored(transfer_score=40, transfer_identity_points=15)) == {"ERS-TRF-01": 40}


def test_given_returns_in_the_transfers_score_then_they_count_once() -> None:
    score = scored(transfer_score=50, transfer_returns_points=45, unauthorized_returns_60d=1)

    assert weights(score) == {"ERS-TRF-01": 50, "ERS-RET-01": 15, "ERS-CAP-04": -15}


def test_given_families_over_their_caps_then_the_caps_are_reasons_of_their_own() -> None:
    score = scored(
        verification_status="DENIED",
        pep_status="yes",
        unauthorized_returns_60d=2,
        returns_30d=2,
        probed_counterparties_30d=2,
    )

    assert [reason.weight for reason in found(score, "ERS-CAP-01")] == [-15]
    assert [reason.weight for reason in found(score, "ERS-CAP-02")] == [-25]
    assert [reason.weight for reason in found(score, "ERS-CAP-99")] == [-5]
    assert score.value == 100


@pytest.mark.parametrize(
    ("points", "band"), [(29, Band.CLEAR), (30, Band.REVIEW), (69, Band.REVIEW), (70, Band.HOLD), (100, Band.HOLD)]
)
def test_given_points_at_an_edge_then_the_band_changes_there(points: int, band: Band) -> None:
    assert scored(transfer_score=points).band is band


def test_given_a_transfers_score_then_the_sentence_says_when_and_how_much() -> None:
    (reason,) = scored(transfer_score=80, transfer_score_days=3).reasons

    assert reason.sentence == "A transfer of 3 days ago scored 80, which counts for 68 now."


COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 20, 60, 1_000)))
DAYS: Final = st.sampled_from((0, 1, 13, 14, 90, 365, 366, 4_000))
FLAGS: Final = st.none() | st.booleans()
INPUTS: Final = st.builds(
    EntityInputs,
    transfers_90d=COUNTS,
    transfer_score=st.integers(0, 100),
    transfer_score_days=DAYS,
    transfer_identity_points=st.sampled_from((0, 8, 15, 60)),
    transfer_returns_points=st.sampled_from((0, 15, 45)),
    verification_status=st.none() | st.sampled_from([word.value for word in VerificationStatus]),
    pep_status=st.none() | st.sampled_from([word.value for word in PepStatus]),
    is_high_risk=FLAGS,
    requires_screening=FLAGS,
    screening_age_days=st.none() | DAYS,
    sanctions_match=FLAGS,
    returns_30d=COUNTS,
    ach_debits_30d=COUNTS,
    unauthorized_returns_60d=COUNTS,
    probed_counterparties_30d=COUNTS,
)


@settings(max_examples=300, deadline=None)
@given(inputs=INPUTS)
def test_given_any_inputs_then_the_reasons_add_up_to_the_score(inputs: EntityInputs) -> None:
    assert_sound(ers_v1.CARD, inputs, n=inputs.transfers_90d, least=5)
