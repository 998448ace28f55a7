"""trs-v1: what holds for every score, whatever fires: the sum, the bounds, the order, the floor, the caps."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.reason import Reason, Score
from features.scorers import trs_v1
from features.scorers.families import CAPS, Family
from features.scorers.trs_v1_rules import RULES
from features.thresholds import CALL_FOR_ACTION_COUNTRIES, INCREASED_MONITORING_COUNTRIES
from features.vector import FeatureVector
from features.vocabulary import Band, PepStatus, Rail, VerificationStatus, band_of
from tests.support.builders import a_vector


def found(score: Score, reason_id: str) -> list[Reason]:
    return [reason for reason in score.reasons if reason.id == reason_id]


def scored(**over: object) -> Score:
    return trs_v1.score(a_vector(**over), degraded=False)


COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 20, 29, 30, 59, 60, 61, 1_000)))
CENTS: Final = st.one_of(
    st.sampled_from((0, 1, 99_99, 2_399_99, 2_400_00, 2_499_99, 2_500_00, 2_999_99, 3_000_00, 9_999_99, 10**18 - 1)),
    st.integers(0, 20_000_00),
)
DAYS: Final = st.none() | st.sampled_from((0, 1, 89, 90, 365, 366, 4_000))
FLAGS: Final = st.none() | st.booleans()
COUNTRIES: Final = st.none() | st.sampled_from(("US", "DE", "FR", "VE", "IR", "KP"))


@st.composite
def vectors(draw: st.DrawFn) -> FeatureVector:
    baseline = draw(st.none() | st.tuples(st.integers(5, 200), CENTS, CENTS))
    n, median, p95 = baseline if baseline is not None else (None, None, None)
    return a_vector(
        amount_cents=draw(CENTS),
        rail=draw(st.sampled_from(Rail)).value,
        counterparty_country=draw(COUNTRIES),
        entity_verification_status=draw(st.none() | st.sampled_from([word.value for word in VerificationStatus])),
        entity_pep_status=draw(st.none() | st.sampled_from([word.value for word in PepStatus])),
        entity_is_high_risk=draw(FLAGS),
        entity_requires_screening=draw(FLAGS),
        entity_screening_age_days=draw(DAYS),
        entity_count_30d=draw(COUNTS),
        velocity_24h_count=draw(COUNTS) + 1,
        velocity_24h_sum_cents=draw(CENTS),
        entity_prior_transfers=draw(COUNTS),
        entity_prior_returns=draw(COUNTS),
        entity_ach_debits_60d=draw(COUNTS),
        entity_unauthorized_returns_60d=draw(COUNTS),
        structuring_window_count=draw(COUNTS),
        structuring_24h_count=draw(COUNTS),
        counterparty_first_time=draw(FLAGS),
        counterparty_n=draw(COUNTS),
        counterparty_prior_returns=draw(COUNTS),
        counterparty_prior_unauthorized_returns=draw(COUNTS),
        program_n_90d=n,
        program_median_cents=median,
        program_p95_cents=p95,
        declared_countries=draw(st.sampled_from(("", "US", "DE,US"))),
        declared_rails=draw(st.sampled_from(("", "ach", "ach,wire"))),
        typology_dormant_days=draw(DAYS),
        typology_just_below_threshold=draw(st.booleans()),
        entity_sum_cents_30d=draw(CENTS),
        entity_n_90d=draw(COUNTS),
        entity_sum_cents_90d=draw(CENTS),
        counterparty_account_changed=draw(st.booleans()),
        entity_returns_30d=draw(COUNTS),
        entity_ach_debits_30d=draw(COUNTS),
    )


def below_the_floor(vector: FeatureVector) -> bool:
    return vector.entity_prior_transfers < 5 and (vector.program_n_90d or 0) < 30


@settings(max_examples=400, deadline=None)
@given(vector=vectors(), degraded=st.booleans())
def test_given_any_vector_when_it_is_scored_then_the_weights_add_up_and_the_order_is_settled(
    *, vector: FeatureVector, degraded: bool
) -> None:
    score = trs_v1.score(vector, degraded=degraded)

    assert (score.value is None) == (score.confidence is None) == below_the_floor(vector)
    if score.value is not None:
        assert 0 <= score.value <= 100
        assert sum(reason.weight for reason in score.reasons) == score.value
    assert all(isinstance(reason.weight, int) for reason in score.reasons)
    order = [(-reason.weight, reason.id) for reason in score.reasons]
    assert order == sorted(order)
    assert len({reason.id for reason in score.reasons}) == len(score.reasons)
    assert trs_v1.score(vector, degraded=degraded) == score


@settings(max_examples=200, deadline=None)
@given(vector=vectors())
def test_given_any_vector_when_it_is_scored_then_hard_signals_are_listed_scored_or_not(vector: FeatureVector) -> None:
    score = trs_v1.score(vector, degraded=False)

    hard = {reason.id for rules in RULES.values() for rule in rules if (reason := rule(vector)) and reason.hard}
    assert {reason.id for reason in score.reasons if reason.hard} == hard
    assert score.hard == bool(hard)
    if score.value is None:
        assert all(reason.hard for reason in score.reasons)


@settings(max_examples=200, deadline=None)
@given(vector=vectors())
def test_given_any_vector_when_a_family_is_over_its_cap_then_the_cap_is_a_reason_of_its_own(
    vector: FeatureVector,
) -> None:
    score = trs_v1.score(vector, degraded=False)
    if score.value is None:
        return

    for family, rules in RULES.items():
        points = sum(reason.weight for rule in rules if (reason := rule(vector)) is not None)
        cap = CAPS.get(family)
        if cap is not None:
            expected = [cap.points - points] if points > cap.points else []
            assert [reason.weight for reason in found(score, cap.reason_id)] == expected


def test_given_the_families_then_their_caps_are_the_documented_ones() -> None:
    assert {family.value: cap.points for family, cap in CAPS.items()} == {
        "amount": 30,
        "timing": 30,
        "relationship": 30,
        "returns": 45,
        "identity": 60,
        "geography": 40,
        "declared": 30,
    }
    assert Family.HISTORY not in CAPS


def test_given_points_beyond_a_hundred_when_a_transfer_is_scored_then_the_ceiling_is_a_reason() -> None:
    score = scored(
        entity_verification_status="DENIED",
        counterparty_country="IR",
        rail="intl_wire",
        counterparty_first_time=True,
    )

    # 60 denied, 40 geography, 20 + 15 undeclared cut to 30, 5 for the first time
    assert score.value == 100
    assert [reason.weight for reason in found(score, "TRS-CAP-99")] == [-35]
    assert [reason.weight for reason in found(score, "TRS-CAP-07")] == [-5]


def test_given_only_a_good_history_when_a_transfer_is_scored_then_the_floor_is_a_reason() -> None:
    score = scored(entity_prior_transfers=60, counterparty_n=20)

    assert score.value == 0
    assert [(reason.id, reason.weight) for reason in score.reasons] == [("TRS-CAP-00", 5), ("TRS-HIS-01", -5)]


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (None, Band.UNSCORED),
        (0, Band.CLEAR),
        (29, Band.CLEAR),
        (30, Band.REVIEW),
        (69, Band.REVIEW),
        (70, Band.HOLD),
        (100, Band.HOLD),
    ],
)
def test_given_a_score_at_an_edge_when_it_is_banded_then_the_edge_belongs_to_the_higher_band(
    value: int | None, band: Band
) -> None:
    assert band_of(value) is band
    assert Score(version="trs-v1", value=value, n=0, confidence=None, reasons=()).band is band


@pytest.mark.parametrize(
    ("prior", "program_n", "is_scored", "n"),
    [
        (5, None, True, 5),
        (4, 30, True, 30),
        (4, 29, False, 29),
        (4, None, False, 4),
        (0, None, False, 0),
        (200, 30, True, 200),
    ],
)
def test_given_a_history_around_the_floor_when_a_transfer_is_scored_then_n_says_what_it_rests_on(
    *, prior: int, program_n: int | None, is_scored: bool, n: int
) -> None:
    score = scored(entity_prior_transfers=prior, program_n_90d=program_n)

    assert (score.value is not None, score.n) == (is_scored, n)


@pytest.mark.parametrize(
    ("n", "degraded", "confidence"),
    [(5, False, 0.2), (20, False, 0.5), (60, False, 0.75), (180, False, 0.9), (20, True, 0.25), (98, True, 0.415)],
)
def test_given_a_history_when_a_transfer_is_scored_then_confidence_grows_with_it(
    *, n: int, degraded: bool, confidence: float
) -> None:
    assert trs_v1.score(a_vector(entity_prior_transfers=n), degraded=degraded).confidence == confidence


def test_given_a_thin_history_and_a_denied_entity_when_it_moves_then_only_the_hard_signal_is_listed() -> None:
    score = scored(
        entity_prior_transfers=0,
        program_n_90d=None,
        entity_verification_status="DENIED",
        counterparty_first_time=True,
        entity_is_high_risk=True,
    )

    assert (score.value, score.band, score.hard) == (None, Band.UNSCORED, True)
    assert [reason.id for reason in score.reasons] == ["TRS-KYC-01"]


def test_given_the_lists_of_countries_then_they_are_those_of_june_2026() -> None:
    assert {"IR", "KP", "MM"} == CALL_FOR_ACTION_COUNTRIES
    assert len(INCREASED_MONITORING_COUNTRIES) == 22
    assert not CALL_FOR_ACTION_COUNTRIES & INCREASED_MONITORING_COUNTRIES
