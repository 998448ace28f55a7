"""crs-v1: hard countries are listed without a score, and the caps and the floor are reasons."""

import pytest

from clearhold.features.core.vocabulary import Band
from clearhold.features.scorers.crs_v1 import DEFAULT, is_hard
from tests.checks.crs_v1_cases import inputs_of, scored
from tests.checks.scorecards import found, weights
from tests.support.policies import seeded_lists_of


@pytest.mark.parametrize(("transfers", "value"), [(2, None), (3, 12)])
def test_given_the_floor_of_transfers_then_the_score_begins_there(transfers: int, value: int | None) -> None:
    assert scored(transfers=transfers, country="VE").value == value


def test_given_an_embargoed_country_when_the_counterparty_is_unscored_then_the_hard_reasons_are_listed() -> None:
    score = scored(transfers=1, country="IR", unauthorized_returns_60d=2)

    assert (score.value, score.confidence, score.band, score.hard) == (None, None, Band.UNSCORED, True)
    assert [reason.id for reason in score.reasons] == ["CRS-GEO-01", "CRS-GEO-03"]


def test_given_a_country_on_two_lists_then_the_familys_cap_takes_one_off() -> None:
    assert weights(scored(country="IR")) == {"CRS-GEO-01": 40, "CRS-GEO-03": 40, "CRS-CAP-03": -40}


def test_given_related_signals_over_their_caps_then_the_caps_are_reasons() -> None:
    score = scored(
        unauthorized_returns_60d=2, returns_60d=2, shared_entities_30d=3, account_changed_days=0, relationship_days=0
    )

    assert [reason.weight for reason in found(score, "CRS-CAP-01")] == [-5]
    assert [reason.weight for reason in found(score, "CRS-CAP-02")] == [-15]
    assert score.value == 45 + 30


def test_given_nothing_but_a_clean_history_then_the_floor_is_a_reason() -> None:
    score = scored(transfers=20, relationship_days=90)

    assert score.value == 0
    assert weights(score) == {"CRS-CAP-00": 5, "CRS-HIS-01": -5}


@pytest.mark.parametrize("country", [None, "US", "IR", "KP", "CU", "MM", "VE"])
def test_given_a_counterparty_below_the_floor_then_its_country_alone_says_whether_it_is_hard(
    country: str | None,
) -> None:
    everything = inputs_of(
        2,
        transfers_60d=2,
        returns=9,
        returns_60d=9,
        unauthorized_returns_60d=9,
        shared_entities_30d=9,
        relationship_days=1,
        account_changed_days=1,
        country=country,
    )

    assert [DEFAULT.score(inputs).hard for inputs in (everything, inputs_of(2, country=country))] == 2 * [
        is_hard(seeded_lists_of(country))
    ]
