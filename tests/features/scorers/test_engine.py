"""The engine against a plain reading of the card, over random cards and inputs; versions, digests, and what fires."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import points_from, points_when
from clearhold.features.scorers.cards import DEFAULTS, compile_card, faults_of, read_card
from clearhold.features.scorers.signal import Signal
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.checks import ars_v1_cases, crs_v1_cases, ers_v1_cases
from tests.features.scorers.test_prs_v1 import ANY_READINGS
from tests.support.builders import a_vector
from tests.support.cards import cards, changed, points_by_hand, total_by_hand
from tests.support.vectors import VECTORS


class Scored(NamedTuple):
    """Inputs of a scorer, and which of its signals look at one of them."""

    inputs: st.SearchStrategy[Any]
    looks_at: Callable[[Any], Callable[[Signal[Any]], bool]] = lambda _inputs: lambda _signal: True


def on_its_rail(vector: FeatureVector) -> Callable[[Signal[Any]], bool]:
    return lambda signal: vector.rail in signal.rails and (signal.of_attempts or vector.moved is not False)


SCORED: Final = {
    "trs": Scored(VECTORS, on_its_rail),
    "ers": Scored(ers_v1_cases.INPUTS),
    "crs": Scored(crs_v1_cases.INPUTS),
    "ars": Scored(ars_v1_cases.INPUTS),
    "prs": Scored(ANY_READINGS),
}


@pytest.mark.parametrize("name", DEFAULTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), degraded=st.booleans())
def test_given_any_card_without_faults_when_anything_is_scored_then_it_is_the_plain_reading_of_the_card(
    name: str, data: st.DataObject, *, degraded: bool
) -> None:
    card, inputs = data.draw(cards(name)), data.draw(SCORED[name].inputs)
    assert list(faults_of(card)) == []
    compiled = compile_card(card, version="scorecard-v3")
    fired = points_by_hand(card, compiled.scorer, inputs, SCORED[name].looks_at(inputs))
    signals = compiled.scorer.signals

    score = compiled.score(inputs, degraded=degraded)

    assert {reason.id: reason.weight for reason in compiled.fired(inputs)} == fired
    if score.value is None:
        assert score.confidence is None
        fired = {signal_id: points for signal_id, points in fired.items() if signals[signal_id].hard}
        assert {reason.id for reason in score.reasons} == set(fired)
    else:
        assert score.value == total_by_hand(card, compiled.scorer, inputs, fired)
        assert sum(reason.weight for reason in score.reasons) == score.value
        assert {reason.id for reason in score.reasons if reason.id in signals} == set(fired)
    assert score.hard == any(signals[signal_id].hard for signal_id in fired)
    assert score.version == f"{name}-v1+scorecard-v3"
    order = [(-reason.weight, reason.id) for reason in score.reasons]
    assert order == sorted(order)


@pytest.mark.parametrize("name", DEFAULTS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_given_a_card_when_it_is_written_and_read_then_it_is_the_same_card_with_the_same_digest(
    name: str, data: st.DataObject
) -> None:
    card = data.draw(cards(name))

    again, faults = read_card(msgspec.json.encode(card))

    assert (again, faults) == (card, ())
    assert compile_card(card).sha256 == compile_card(again or card).sha256
    assert compile_card(card) is compile_card(again or card)


@pytest.mark.parametrize("name", DEFAULTS)
def test_given_the_default_card_then_it_has_no_fault_and_its_scores_have_the_scorers_own_version(name: str) -> None:
    default = DEFAULTS[name]

    assert list(faults_of(default.card)) == []
    assert (default.version, default.card.scorer) == (f"{name}-v1", name)
    assert compile_card(default.card).version == default.version


def test_given_a_floor_when_the_history_is_at_it_then_the_transfer_is_scored() -> None:
    card = compile_card(changed(trs_v1.DEFAULT_CARD, floor=7, program_floor=50))
    thin, program = {"entity_prior_transfers": 6, "program_n_90d": 49}, {"program_n_90d": 50}

    scores = [card.score(a_vector(**thin | more)) for more in ({}, {"entity_prior_transfers": 7}, program)]

    assert [(score.value, score.n) for score in scores] == [(None, 49), (0, 7), (0, 50)]


def test_given_a_bin_without_points_then_its_signal_is_shown_with_none() -> None:
    quiet = points_when("TRS-SCR-03", 0)
    card = compile_card(changed(trs_v1.DEFAULT_CARD, signals=(*trs_v1.DEFAULT_CARD.signals[:1], quiet)))

    score = card.score(a_vector(entity_is_high_risk=True))

    assert (score.value, [(reason.id, reason.weight) for reason in score.reasons]) == (0, [("TRS-SCR-03", 0)])


@pytest.mark.parametrize(("points", "cuts"), [(60, {}), (61, {"TRS-CAP-05": -1}), (90, {"TRS-CAP-05": -30})])
def test_given_one_signal_over_its_familys_cap_then_the_cap_takes_the_rest(points: int, cuts: dict[str, int]) -> None:
    card = compile_card(changed(trs_v1.DEFAULT_CARD, signals=(points_when("TRS-SCR-03", points),)))

    score = card.score(a_vector(entity_is_high_risk=True))

    assert {reason.id: reason.weight for reason in score.reasons} == {"TRS-SCR-03": points} | cuts
    assert score.value == 60


@pytest.mark.parametrize(("days", "points"), [(None, []), (0, [7]), (2, [7]), (3, [4]), (8, [4]), (9, [])])
def test_given_bins_then_each_holds_from_its_first_measure_to_just_under_its_end(
    days: int | None, points: list[int]
) -> None:
    bins = points_from("TRS-RET-03", (0, 7), (3, 4), below=9)
    card = compile_card(changed(trs_v1.DEFAULT_CARD, signals=(bins,)))

    score = card.score(a_vector(rail="ach", direction="outgoing", type="DEBIT", counterparty_stop_return_days=days))

    assert [reason.weight for reason in score.reasons] == points


def test_given_another_card_then_its_digest_and_version_are_others() -> None:
    card = changed(trs_v1.DEFAULT_CARD, floor=6)

    assert compile_card(card).sha256 != trs_v1.DEFAULT.sha256
    assert compile_card(card, version="scorecard-v1").version == "trs-v1+scorecard-v1"
    assert compile_card(card, version="scorecard-v2").version == "trs-v1+scorecard-v2"
