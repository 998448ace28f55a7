"""ers-v1: the transfer's part fades and is counted once; the caps and the bands."""

import pytest

from clearhold.features.core.vocabulary import Band, VerificationStatus
from clearhold.features.scorers.ers_v1 import DEFAULT, EntityInputs, is_hard
from tests.checks.ers_v1_cases import CASES, scored
from tests.checks.scorecards import found, weights


@pytest.mark.parametrize("reason_id", ["ERS-KYC-01"])
def test_given_a_hard_signal_when_the_entity_is_unscored_then_it_is_listed_and_nothing_else(reason_id: str) -> None:
    over = next(case.fires for case in CASES.signals if case.reason_id == reason_id)

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
        ach_debits_30d=2,
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

    assert reason.sentence == "A transfer 3 days ago scored 80; 68 points remain today."


@pytest.mark.parametrize("status", [None, *(status.value for status in VerificationStatus)])
def test_given_an_entity_below_the_floor_then_its_verification_says_whether_it_is_hard(
    status: str | None,
) -> None:
    everything = EntityInputs(
        transfers_90d=4,
        transfer_score=90,
        verification_status=status,
        pep_status="yes",
        is_high_risk=True,
        requires_screening=True,
        fraud_risk=True,
        returns_30d=9,
        ach_debits_30d=9,
        unauthorized_returns_60d=9,
        probed_counterparties_30d=9,
    )

    assert [DEFAULT.score(inputs).hard for inputs in (everything, EntityInputs(4, verification_status=status))] == 2 * [
        is_hard(status)
    ]
