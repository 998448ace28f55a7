"""crs-v1: each signal fires and nearly fires, hard countries are listed without a score, every score adds up."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.core.reason import Score
from features.core.vocabulary import Band
from features.scorers import crs_v1
from features.scorers.crs_v1 import CounterpartyInputs
from tests.checks.scorecards import assert_complete, assert_sound, found, weights

QUIET: Final[dict[str, Any]] = {"transfers": 10, "transfers_60d": 10, "relationship_days": 60, "country": "US"}
CASES: Final[tuple[tuple[str, int, dict[str, Any], dict[str, Any]], ...]] = (
    ("CRS-RET-01", 15, {"unauthorized_returns_60d": 1}, {"unauthorized_returns_60d": 0}),
    ("CRS-RET-02", 30, {"unauthorized_returns_60d": 2}, {"unauthorized_returns_60d": 1}),
    ("CRS-RET-03", 20, {"returns_60d": 2}, {"returns_60d": 2, "transfers_60d": 11}),
    ("CRS-RET-03", 20, {"returns_60d": 2, "transfers_60d": 2}, {"returns_60d": 1, "transfers_60d": 2}),
    ("CRS-CPY-01", 10, {"relationship_days": 6}, {"relationship_days": 7}),
    ("CRS-CPY-02", 5, {"relationship_days": 7}, {"relationship_days": 6}),
    ("CRS-CPY-02", 5, {"relationship_days": 29}, {"relationship_days": 30}),
    ("CRS-CPY-03", 15, {"account_changed_days": 89}, {"account_changed_days": 90}),
    ("CRS-CPY-04", 20, {"shared_entities_30d": 3}, {"shared_entities_30d": 2}),
    ("CRS-GEO-01", 40, {"country": "MM"}, {"country": None}),
    ("CRS-GEO-02", 12, {"country": "VE"}, {"country": "IR"}),
    ("CRS-GEO-03", 40, {"country": "CU"}, {"country": "SY"}),
    ("CRS-HIS-01", -5, {"transfers": 20, "relationship_days": 90}, {"transfers": 19, "relationship_days": 90}),
    ("CRS-HIS-01", -5, {"transfers": 20, "relationship_days": 90}, {"transfers": 20, "relationship_days": 89}),
    (
        "CRS-HIS-01",
        -5,
        {"transfers": 20, "relationship_days": 90},
        {"transfers": 20, "relationship_days": 90, "returns": 1},
    ),
)


def scored(**over: Any) -> Score:
    return crs_v1.score(CounterpartyInputs(**QUIET | over))


def test_given_a_quiet_counterparty_then_it_scores_nothing_for_no_reason() -> None:
    score = scored()

    assert (score.version, score.value, score.n, score.confidence) == ("crs-v1", 0, 10, 0.33)
    assert score.reasons == ()


def test_given_the_reasons_then_each_signal_has_a_case() -> None:
    assert_complete(crs_v1.CARD, {case[0] for case in CASES})


@pytest.mark.parametrize(("reason_id", "weight", "fires", "nearly"), CASES)
def test_given_a_signal_when_its_line_is_reached_then_it_fires_and_one_short_of_it_does_not(
    reason_id: str, weight: int, fires: dict[str, Any], nearly: dict[str, Any]
) -> None:
    assert [reason.weight for reason in found(scored(**fires), reason_id)] == [weight]
    assert found(scored(**nearly), reason_id) == []


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


COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 20, 60, 1_000)))
DAYS: Final = st.none() | st.sampled_from((0, 6, 7, 29, 30, 89, 90, 4_000))
INPUTS: Final = st.builds(
    CounterpartyInputs,
    transfers=COUNTS,
    transfers_60d=COUNTS,
    returns=COUNTS,
    returns_60d=COUNTS,
    unauthorized_returns_60d=COUNTS,
    shared_entities_30d=COUNTS,
    relationship_days=DAYS,
    account_changed_days=DAYS,
    country=st.none() | st.sampled_from(("US", "DE", "VE", "IR", "KP", "CU", "MM")),
)


@settings(max_examples=300, deadline=None)
@given(inputs=INPUTS)
def test_given_any_inputs_then_the_reasons_add_up_to_the_score(inputs: CounterpartyInputs) -> None:
    assert_sound(crs_v1.CARD, inputs, n=inputs.transfers, least=3)
