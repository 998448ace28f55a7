"""trs-v1, rule by rule: what makes it fire, and what it stays silent for though almost everything fits."""

from typing import Any, Final

import pytest

from clearhold.features.core.reason import Score
from clearhold.features.core.vocabulary import Band, Rail
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.checks import trs_v1_cases, trs_v1_flow_cases, trs_v1_habit_cases
from tests.checks.scorecards import found
from tests.support.builders import a_vector

CASES: Final = trs_v1_cases.CASES | trs_v1_flow_cases.CASES | trs_v1_habit_cases.CASES


def scored(**over: Any) -> Score:
    return trs_v1.DEFAULT.score(a_vector(**over), degraded=False)


def test_given_the_rules_of_the_scorer_then_each_reason_with_each_of_its_weights_has_a_case() -> None:
    signals = trs_v1.SCORER.signals

    assert {(case.reason_id, case.weight, case.hard) for case in CASES.values()} == {
        (signal.id, each.points, signals[signal.id].hard)
        for signal in trs_v1.DEFAULT_CARD.signals
        for each in signal.bins
    }
    of_fitted_cards = {"TRS-AMT-07", "TRS-AMT-08"}
    assert set(signals) - of_fitted_cards == {signal.id for signal in trs_v1.DEFAULT_CARD.signals}


def test_given_a_quiet_transfer_when_it_is_scored_then_it_is_nought_without_a_reason() -> None:
    score = scored()

    assert (score.value, score.band, score.reasons) == (0, Band.CLEAR, ())


@pytest.mark.parametrize("name", CASES)
def test_given_what_a_rule_looks_for_when_it_is_there_then_the_rule_fires(name: str) -> None:
    case = CASES[name]

    (reason,) = found(scored(**case.fires), case.reason_id)

    assert (reason.weight, reason.hard) == (case.weight, case.hard)
    assert reason.sentence.endswith(".")


@pytest.mark.parametrize("name", CASES)
def test_given_what_a_rule_looks_for_when_the_rail_is_another_then_it_fires_on_its_own_rails_alone(name: str) -> None:
    case = CASES[name]

    on = [rail.value for rail in Rail if found(scored(**case.fires | {"rail": rail.value}), case.reason_id)]

    assert sorted(on) == sorted(case.rails.split())


@pytest.mark.parametrize(
    ("name", "miss"), [(name, miss) for name, case in CASES.items() for miss in case.misses], ids=str
)
def test_given_what_a_rule_looks_for_when_one_thing_is_missing_then_the_rule_is_silent(
    name: str, miss: dict[str, Any]
) -> None:
    case = CASES[name]

    assert found(scored(**case.fires | miss), case.reason_id) == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "amount spike, own median",
            "600.01 against a usual 200.00 (n = 40) and a 95th percentile of 500.00 on the program (n = 100).",
        ),
        (
            "much, for one that is hardly known",
            "1 transfers and 3,000.00 in 24 h against a usual 0.7 and 1,000.00 a day (n = 9; busiest 1 and 100.00).",
        ),
        (
            "often, for one that is hardly known",
            "5 transfers and 100.00 in 24 h against a usual 0.7 and 79.31 a day (n = 9; busiest 1 and 100.00).",
        ),
        (
            "many payers of one that has no usual yet",
            "5 payers of the receiving side in 24 h and 1 in 7 days (no usual number of payers a week).",
        ),
        (
            "funnel of a week to a stranger",
            "0 payers in 24 h and 8 in 7 days, and 800.00 sent of 1,000.00 received in 48 h; the counterparty is new.",
        ),
        (
            "float of a first debit",
            (
                "800.01 sent by fast rails of 1,000.01 pulled by ACH debits in 2 banking days "
                "(ACH debits so far: 1, age in days: not known)."
            ),
        ),
    ],
)
def test_given_a_reason_when_it_is_read_then_the_sentence_has_the_figures(name: str, sentence: str) -> None:
    case = CASES[name]

    assert [reason.sentence for reason in found(scored(**case.fires), case.reason_id)] == [sentence]
