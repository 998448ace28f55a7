"""ars-v1: a wallet never screened, not covered and clear are three things; the caps; what an unscored agent lists."""

import pytest

from clearhold.features.core.vocabulary import Band
from clearhold.features.scorers import ars_v1
from clearhold.features.scorers.ars_v1 import AgentInputs
from tests.checks.ars_v1_cases import scored
from tests.checks.scorecards import weights


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
