"""trs-v1, rule by rule: what makes it fire, and what it stays silent for though almost everything fits."""

from typing import Any, Final

import pytest

from clearhold.features.core.vocabulary import Band, Rail, Score
from clearhold.features.scorers.trs_v1 import joint, purchases, shares
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.checks import trs_v1_cases, trs_v1_flow_cases, trs_v1_habit_cases
from tests.checks.scorecards import found
from tests.support.builders import a_vector

CASES: Final = trs_v1_cases.CASES | trs_v1_flow_cases.CASES | trs_v1_habit_cases.CASES


def scored(**over: Any) -> Score:
    return trs_v1.DEFAULT.score(a_vector(**over), degraded=False)


def test_given_the_rules_of_the_scorer_then_each_reason_with_each_of_its_weights_has_a_case() -> None:
    signals = trs_v1.SCORER.signals

    of_shares = {each.id for each in shares.SIGNALS}
    assert {(case.reason_id, case.weight, case.hard) for case in CASES.values()} == {
        (signal.id, each.points, signals[signal.id].hard)
        for signal in trs_v1.DEFAULT_CARD.signals
        for each in signal.bins
        if signal.id not in of_shares
    }
    of_fitted_cards = {"TRS-AMT-07", "TRS-AMT-08", "TRS-CPY-13", "TRS-FLO-18", "TRS-FLO-22"} | {
        each.id for each in (*purchases.SIGNALS, *joint.SIGNALS)
    }
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
            (
                "USD 600.01; the usual amount is USD 200.00 (n = 40) and the program's 95th percentile is USD 500.00 "
                "(n = 100)."
            ),
        ),
        (
            "much, for one that is hardly known",
            (
                "1 transfer worth USD 3,000.00 in 24 hours; a usual day has 0.7, worth USD 1,000.00 (n = 9). In 5 "
                "weeks the busiest day had 1, the largest USD 100.00."
            ),
        ),
        (
            "often, for one that is hardly known",
            (
                "5 transfers worth USD 100.00 in 24 hours; a usual day has 0.7, worth USD 79.31 (n = 9). In 5 weeks "
                "the busiest day had 1, the largest USD 100.00."
            ),
        ),
        (
            "many payers of one that has no usual yet",
            "Received from 5 different payers in 24 hours; there is no usual week yet.",
        ),
        (
            "funnel of a week to a stranger",
            (
                "Received from 0 payers in 24 hours and 8 in 7 days; of USD 1,000.00 received in 48 hours it sent "
                "USD 800.00. Also the counterparty is new."
            ),
        ),
        (
            "float of a first debit",
            (
                "Collected USD 1,000.01 by ACH debit in 2 banking days and sent USD 800.01 by fast rails before the "
                "debits could be returned. This entity has 1 ACH debit so far, and its age is not known."
            ),
        ),
    ],
)
def test_given_a_reason_when_it_is_read_then_the_sentence_has_the_figures(name: str, sentence: str) -> None:
    case = CASES[name]

    assert [reason.sentence for reason in found(scored(**case.fires), case.reason_id)] == [sentence]
