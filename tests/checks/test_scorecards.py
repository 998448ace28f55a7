"""Every scorecard of an actor: each signal fires at its line and not one short of it, and every score adds up."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.scorers.cards import DEFAULTS
from tests.checks import ars_v1_cases, crs_v1_cases, ers_v1_cases
from tests.checks.scorecards import ScorecardCases, SignalCase, assert_complete, assert_sound, found

WITHOUT_A_CARD: Final = {"trs-v1", "prs-v1"}
CARDS: Final[dict[str, ScorecardCases[Any]]] = {
    cases.card.version: cases for cases in (ars_v1_cases.CASES, crs_v1_cases.CASES, ers_v1_cases.CASES)
}
SIGNALS: Final = [
    pytest.param(version, case, id=f"{case.reason_id}-{number}")
    for version, cases in CARDS.items()
    for number, case in enumerate(cases.signals)
]


def test_given_the_scorers_then_each_scorecard_among_them_has_cases() -> None:
    assert {default.version for default in DEFAULTS.values()} - WITHOUT_A_CARD == set(CARDS)


@pytest.mark.parametrize("version", CARDS)
def test_given_quiet_inputs_then_they_score_nothing_for_no_reason(version: str) -> None:
    cases = CARDS[version]

    score = cases.score({})

    assert (score.version, score.value, score.n, score.confidence) == (
        version,
        0,
        cases.quiet_n,
        cases.quiet_confidence,
    )
    assert score.reasons == ()


@pytest.mark.parametrize("version", CARDS)
def test_given_the_reasons_then_each_signal_has_a_case(version: str) -> None:
    assert_complete(CARDS[version].card, {case.reason_id for case in CARDS[version].signals})


@pytest.mark.parametrize(("version", "case"), SIGNALS)
def test_given_a_signal_when_its_line_is_reached_then_it_fires_and_one_short_of_it_does_not(
    version: str, case: SignalCase
) -> None:
    cases = CARDS[version]

    assert [reason.weight for reason in found(cases.score(case.fires), case.reason_id)] == [case.weight]
    assert found(cases.score(case.misses), case.reason_id) == []


@pytest.mark.parametrize("version", CARDS)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_given_any_inputs_then_the_reasons_add_up_to_the_score(version: str, data: st.DataObject) -> None:
    cases = CARDS[version]
    inputs = data.draw(cases.any_inputs)

    assert_sound(cases.card, inputs, n=cases.n_of(inputs), least=cases.least)
