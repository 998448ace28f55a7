"""trs-v1: what holds for every score, whatever fires: the sum, the bounds, the order, the floor, the caps."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.thresholds import COUNTED_SIGNALS
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.vocabulary import Band, Reason, Score, band_of
from clearhold.features.scorers.signal import COMMON, Family
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.checks.scorecards import found
from tests.support.builders import a_vector
from tests.support.vectors import VECTORS


def scored(**over: object) -> Score:
    return trs_v1.DEFAULT.score(a_vector(**over), degraded=False)


def fired(vector: FeatureVector, family: Family | None = None) -> list[Reason]:
    reasons = trs_v1.DEFAULT.fired(vector)
    return [reason for reason in reasons if family in (None, trs_v1.SCORER.families[reason.id])]


def counting(vector: FeatureVector, family: Family) -> list[Reason]:
    """Those whose points are not taken away for being common."""
    common = (vector.common_signals or "").split()
    return [reason for reason in fired(vector, family) if reason.id not in common or reason.weight < 0]


def below_the_floor(vector: FeatureVector) -> bool:
    has_history = vector.entity_prior_transfers >= 5 or (vector.program_n_90d or 0) >= 30
    return vector.amount_cents is None or not has_history


@settings(max_examples=200, deadline=None)
@given(vector=VECTORS, degraded=st.booleans())
def test_given_any_vector_when_it_is_scored_then_the_weights_add_up_and_the_order_is_settled(
    *, vector: FeatureVector, degraded: bool
) -> None:
    score = trs_v1.DEFAULT.score(vector, degraded=degraded)

    assert (score.value is None) == (score.confidence is None) == below_the_floor(vector)
    if score.value is not None:
        assert 0 <= score.value <= 100
        assert sum(reason.weight for reason in score.reasons) == score.value
    assert all(isinstance(reason.weight, int) for reason in score.reasons)
    order = [(-reason.weight, reason.id) for reason in score.reasons]
    assert order == sorted(order)
    assert len({reason.id for reason in score.reasons}) == len(score.reasons)
    assert trs_v1.DEFAULT.score(vector, degraded=degraded) == score


@settings(max_examples=100, deadline=None)
@given(vector=VECTORS)
def test_given_any_vector_when_it_is_scored_then_hard_signals_are_listed_scored_or_not(vector: FeatureVector) -> None:
    score = trs_v1.DEFAULT.score(vector, degraded=False)

    hard = {reason.id for reason in fired(vector) if reason.hard}
    assert {reason.id for reason in score.reasons if reason.hard} == hard
    assert score.hard == bool(hard)
    if score.value is None:
        assert all(reason.hard for reason in score.reasons)


@settings(max_examples=100, deadline=None)
@given(vector=VECTORS)
def test_given_any_vector_when_a_family_is_over_its_cap_then_the_cap_is_a_reason_of_its_own(
    vector: FeatureVector,
) -> None:
    score = trs_v1.DEFAULT.score(vector, degraded=False)
    if score.value is None:
        return

    common = (vector.common_signals or "").split()
    assert sum(reason.weight for reason in found(score, trs_v1.SCORER.cap_id(COMMON))) == -sum(
        reason.weight for reason in fired(vector) if reason.id in common and reason.weight > 0
    )
    of_facts = dict.fromkeys(Family, 0)
    for fact, most in trs_v1.DEFAULT.facts.items():
        points = sum(reason.weight for reason in counting(vector, fact.family) if reason.id in fact.signals)
        expected = [most - points] if points > most else []
        assert [reason.weight for reason in found(score, trs_v1.SCORER.cap_id(fact.name))] == expected
        of_facts[fact.family] += sum(expected)
    for family, most in trs_v1.DEFAULT.caps.items():
        points = sum(reason.weight for reason in counting(vector, family)) + of_facts[family]
        expected = [most - points] if points > most else []
        assert [reason.weight for reason in found(score, trs_v1.SCORER.cap_id(family))] == expected


def test_given_the_facts_then_each_signal_is_of_one_at_most_and_of_its_family() -> None:
    signals = [signal for fact in trs_v1.SCORER.facts for signal in fact.signals]

    assert len(set(signals)) == len(signals)
    for fact in trs_v1.SCORER.facts:
        assert {trs_v1.SCORER.signals[signal].family for signal in fact.signals} == {fact.family}


def test_given_the_families_then_their_caps_are_the_documented_ones() -> None:
    assert {family.value: points for family, points in trs_v1.DEFAULT.caps.items()} == {
        "amount": 30,
        "timing": 50,
        "relationship": 50,
        "returns": 45,
        "identity": 60,
        "geography": 40,
        "declared": 30,
        "flow": 70,
        "card": 45,
    }
    assert Family.HISTORY not in trs_v1.SCORER.capped


def test_given_points_beyond_a_hundred_when_a_transfer_is_scored_then_the_ceiling_is_a_reason() -> None:
    score = scored(
        entity_verification_status="DENIED",
        counterparty_country="IR",
        rail="intl_wire",
        counterparty_first_time=True,
    )

    # 60 denied, 40 + 40 geography cut to 40, 20 + 15 undeclared cut to 30, 5 for the first time
    assert score.value == 100
    assert [reason.weight for reason in found(score, "TRS-CAP-06")] == [-40]
    assert [reason.weight for reason in found(score, "TRS-CAP-99")] == [-35]
    assert [reason.weight for reason in found(score, "TRS-CAP-07")] == [-5]


def test_given_only_a_good_history_when_a_transfer_is_scored_then_the_floor_is_a_reason() -> None:
    score = scored(entity_prior_transfers=60, pair_count_of_newest_64=5)

    assert score.value == 0
    assert [(reason.id, reason.weight) for reason in score.reasons] == [("TRS-CAP-00", 5), ("TRS-HIS-01", -5)]


def test_given_a_good_history_when_a_hard_signal_fires_then_it_stays_hard_and_no_points_of_it_are_lost() -> None:
    history = {"entity_prior_transfers": 60, "pair_count_of_newest_64": 5}

    score = scored(**history, counterparty_country="CU", declared_countries="")

    assert (score.value, score.hard) == (35, True)
    assert [reason.id for reason in score.reasons] == ["TRS-GEO-03", "TRS-HIS-01"]


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
    assert trs_v1.DEFAULT.score(a_vector(entity_prior_transfers=n), degraded=degraded).confidence == confidence


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


BACK: Final = {"amount_cents": 90_00, "pair_other_way_cents_24h": 100_00}


@pytest.mark.parametrize(
    ("over", "weights"),
    [
        (BACK | {"typology_round_trip": True}, {"TRS-FLO-10": 30, "TRS-FLO-07": 25, "TRS-CAP-10": -25}),
        (BACK, {"TRS-FLO-10": 30}),
        ({"typology_round_trip": True}, {"TRS-FLO-07": 25}),
        # On a card rail a round trip is no signal, and an unknown entity has no day to be paid back in.
        (BACK | {"typology_round_trip": True, "rail": "card"}, {"TRS-FLO-10": 30}),
        (BACK | {"typology_round_trip": True, "entity_prior_transfers": 9}, {"TRS-FLO-07": 25}),
    ],
)
def test_given_a_payment_that_goes_back_to_its_payer_then_it_has_points_once(
    over: dict[str, Any], weights: dict[str, int]
) -> None:
    score = scored(**{"declared_rails": ""} | over)

    assert {reason.id: reason.weight for reason in score.reasons} == weights
    assert score.value == sum(weights.values())


def test_given_a_payment_back_among_much_else_then_facts_are_capped_before_their_family() -> None:
    over = BACK | {"typology_round_trip": True, "quick_hops_2h": 2, "entity_received_count_6h": 2}

    score = scored(**over, entity_paid_count_6h=2)

    flows = {
        "TRS-FLO-10": 30,
        "TRS-FLO-11": 30,
        "TRS-FLO-07": 25,
        "TRS-FLO-09": 20,
        "TRS-CAP-10": -25,
        "TRS-CAP-08": -10,
    }
    assert {reason.id: reason.weight for reason in score.reasons} == flows
    assert score.value == 70


@pytest.mark.parametrize(
    ("common", "weights"),
    [
        (None, {"TRS-FLO-10": 30, "TRS-AMT-04": 6}),  # the program has too few transfers
        ("", {"TRS-FLO-10": 13, "TRS-AMT-04": 0}),
        ("TRS-CPY-01", {"TRS-FLO-10": 13, "TRS-AMT-04": 0}),  # common, and this transfer does not do it
        ("TRS-FLO-10", {"TRS-FLO-10": 13, "TRS-AMT-04": 0, "TRS-CAP-13": -13}),
        ("TRS-AMT-04 TRS-FLO-10", {"TRS-FLO-10": 13, "TRS-AMT-04": 0, "TRS-CAP-13": -13}),
    ],
)
def test_given_signals_that_are_common_in_the_program_then_they_are_listed_and_have_no_points(
    common: str | None, weights: dict[str, int]
) -> None:
    score = scored(**BACK, declared_rails="", repeated_amount_count_24h=5, common_signals=common)

    assert {reason.id: reason.weight for reason in score.reasons} == weights
    assert score.value == sum(weights.values())


@pytest.mark.parametrize(
    ("over", "fixed", "rare"),
    [
        ({"repeated_amount_count_24h": 4, "repeated_amount_permille": 3}, "TRS-AMT-09", "TRS-AMT-10"),
        ({"velocity_count_1h": 3, "velocity_1h_permille": 3, "velocity_count_6h": 3}, "TRS-VEL-03", "TRS-VEL-10"),
    ],
)
def test_given_a_count_and_how_rare_it_is_then_it_has_points_once(over: dict[str, Any], fixed: str, rare: str) -> None:
    usual: dict[str, Any] = {"rail": "card", "declared_rails": "", "entity_busiest_day_count_35d": 0}

    unknown, known = (
        {reason.id: reason.weight for reason in scored(**usual, **over, **more).reasons}
        for more in ({"common_signals": None}, {"common_signals": "", "rarest_permille": 3})
    )

    assert unknown[fixed] > 0
    assert rare not in unknown
    assert (known[fixed], known[rare] > 0) == (0, True)


def test_given_a_common_signal_of_a_capped_fact_then_its_points_are_taken_away_once() -> None:
    over = BACK | {"typology_round_trip": True, "declared_rails": ""}

    score = scored(**over, common_signals="TRS-FLO-10")

    assert {reason.id: reason.weight for reason in score.reasons} == {
        "TRS-FLO-10": 13,
        "TRS-FLO-07": 0,
        "TRS-CAP-13": -13,
    }


def test_given_the_counted_signals_then_each_is_a_signal_that_is_not_hard() -> None:
    signals = trs_v1.SCORER.signals

    assert set(COUNTED_SIGNALS) <= signals.keys()
    assert not [each for each in COUNTED_SIGNALS if signals[each].hard or signals[each].mitigates]
    stated = {Family.RETURNS, Family.IDENTITY, Family.GEOGRAPHY, Family.DECLARED}
    assert not stated & {signals[each].family for each in COUNTED_SIGNALS}
