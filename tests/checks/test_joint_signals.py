"""The signals of two facts by hand; and the nearest amount that changes the band of a card with one of them."""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.scorecards import points_from
from clearhold.features.measurement.assessment import smallest_change, with_amount
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1 import joint
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support.builders import a_vector
from tests.support.cards import changed

BOTH: Final = {
    "program_median_cents": 40_00,
    "velocity_24h_sum_cents": 260_00,
    "entity_prior_transfers": 9,
    "pair_first_time": True,
    "payer_new_payers_30d": 1,
}
BESIDE: Final = {
    joint.DAY_OVER_PROGRAM: 650,
    joint.NEWCOMER: 250,
    joint.FIRST_BY_NEWLY_PAID: 250,
    joint.FIRST_OF_NEWCOMER: 9,
}
SENTENCES: Final = {
    joint.DAY_OVER_PROGRAM: "USD 260.00 in 24 hours, where one transfer of the program has usually USD 40.00.",
    joint.NEWCOMER: "USD 100.00, where the program's median is USD 40.00; the entity has 9 earlier transfers.",
    joint.FIRST_BY_NEWLY_PAID: "First payment between the two parties: USD 100.00, where the program's median is "
    "USD 40.00; the payer met 1 new payer in 30 days.",
    joint.FIRST_OF_NEWCOMER: "First payment between the two parties, after 9 transfers of this entity.",
}
OF_AMOUNTS: Final = [each for each in joint.SIGNALS if each.edges is not None]


def the_vector(**over: Any) -> Any:
    return a_vector(**BOTH | over)


@pytest.mark.parametrize("signal", joint.SIGNALS, ids=lambda each: each.name)
def test_given_both_facts_then_measure_and_sentence_are_as_by_hand(signal: Any) -> None:
    vector = the_vector()

    assert signal.measure(vector) == BESIDE[signal]
    assert signal.sentence(vector, BESIDE[signal]) == SENTENCES[signal]


@pytest.mark.parametrize(
    ("signal", "over"),
    [
        *((signal, {"amount_cents": None}) for signal in OF_AMOUNTS),
        *((signal, {"program_median_cents": median}) for signal in OF_AMOUNTS for median in (None, 0)),
        (joint.NEWCOMER, {"entity_prior_transfers": 10}),
        *((signal, {"pair_first_time": False}) for signal in (joint.FIRST_BY_NEWLY_PAID, joint.FIRST_OF_NEWCOMER)),
        (joint.FIRST_BY_NEWLY_PAID, {"payer_new_payers_30d": 0}),
        (joint.FIRST_BY_NEWLY_PAID, {"payer_new_payers_30d": None}),
    ],
    ids=lambda each: (
        " ".join(f"{name}={value}" for name, value in each.items()) if isinstance(each, dict) else each.name
    ),
)
def test_given_one_of_the_facts_alone_then_nothing_is_measured(signal: Any, over: dict[str, Any]) -> None:
    assert signal.measure(the_vector(**over)) is None


def test_given_no_points_on_the_default_card_then_the_scores_of_a_program_do_not_change() -> None:
    assert not {each.id for each in joint.SIGNALS} & {each.id for each in trs_v1.DEFAULT_CARD.signals}


@pytest.mark.parametrize("signal", OF_AMOUNTS, ids=lambda each: each.name)
@settings(max_examples=25, deadline=None)
@given(amount=st.integers(2, 400), others=st.integers(0, 300), median=st.integers(1, 300), step=st.integers(1, 400))
def test_given_a_card_with_one_of_them_then_the_nearest_amount_that_changes_the_band_is_found(
    signal: Any, amount: int, others: int, median: int, step: int
) -> None:
    hard = [each for each in trs_v1.DEFAULT_CARD.signals if trs_v1.SCORER.signals[each.id].hard]
    signals = (*hard, points_from(signal.id, (step, 35), (2 * step, 75)))
    card = compile_card(changed(trs_v1.DEFAULT_CARD, signals=signals, caps=()), version="scorecard-v1")
    vector = msgspec.structs.replace(
        the_vector(program_median_cents=median, velocity_24h_sum_cents=amount + others), amount_cents=amount
    )

    change = smallest_change(vector, card, degraded=False)

    band = card.score(vector, degraded=False).band
    near = [
        change
        for away in range(1, 301)
        for change in (-away, away)
        if amount + change >= 1 and card.score(with_amount(vector, amount + change), degraded=False).band is not band
    ]
    assert (None if change is None or abs(change.change_cents) > 300 else change.change_cents) == next(iter(near), None)
