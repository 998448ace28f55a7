"""The smallest sets of reasons without which a band would be lower, against scoring without every set of reasons."""

from collections.abc import Iterator
from itertools import combinations
from time import process_time
from typing import Any, Final

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.thresholds import COUNTED_SIGNALS
from clearhold.features.core.scorecards import CardCap, points_when
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, Reason
from clearhold.features.scorers.breakdown import Breakdown
from clearhold.features.scorers.cards import DEFAULTS, SCORERS, compile_card
from clearhold.features.scorers.counterfactual import (
    MOST_IN_ALTERNATIVES,
    MOST_SETS,
    smallest_sets,
)
from clearhold.features.scorers.engine import CEILING, CompiledCard
from clearhold.features.scorers.negated import FIXED, NEGATED, negated
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.features.scorers.test_engine import SCORED
from tests.support.builders import a_vector
from tests.support.cards import cards, changed

MOST_TRIED: Final = 11
"""Reasons up to which every set is tried."""

MOST_S: Final = 0.1
"""About 3 ms on an idle core; a search over sets would take days."""

LISTS: Final = "call_for_action"


def breakdown_of(card: CompiledCard[Any], inputs: Any) -> Breakdown:
    score = card.score(inputs)
    common = None if card.scorer.common is None else (card.scorer.common.of(inputs) or "").split()
    return Breakdown(card, score.value, score.reasons, common)


def below(value: int) -> int:
    return HOLD_FROM if value >= HOLD_FROM else REVIEW_FROM


def minimal_by_trying(card: CompiledCard[Any], inputs: Any, ids: list[str], under: int) -> Iterator[frozenset[str]]:
    """All sets without which the score is under a line, the smaller ones first, without those that contain another."""
    found: list[frozenset[str]] = []
    for size in range(1, len(ids) + 1):
        for chosen in combinations(ids, size):
            if not any(each <= frozenset(chosen) for each in found):
                value = card.without(inputs, chosen)
                if value is not None and value < under:
                    found.append(frozenset(chosen))
    yield from found


@pytest.mark.parametrize("name", ["trs", "ers", "crs", "ars", "prs"])
@settings(max_examples=50, deadline=None)
@given(data=st.data(), is_default=st.booleans())
def test_given_any_card_and_inputs_then_each_set_lowers_the_band_and_no_part_of_it_does(
    name: str, data: st.DataObject, *, is_default: bool
) -> None:
    card = DEFAULTS[name] if is_default else compile_card(data.draw(cards(name)))
    inputs = data.draw(SCORED[name].inputs)
    breakdown = breakdown_of(card, inputs)
    value = breakdown.value

    result = smallest_sets(breakdown)

    if value is None or value < REVIEW_FROM:
        assert (result.sets, result.is_exact) == ((), True)
        return
    assert min(CEILING, max(0, breakdown.total())) == value
    assert sum(row.counts for row in breakdown.families()) == breakdown.total()
    for each in result.sets:
        ids = [reason.id for reason in each.reasons]
        assert card.without(inputs, ids) == each.value < below(value)
        for size in range(len(ids)) if len(ids) <= MOST_IN_ALTERNATIVES and result.is_exact else ():
            for part in combinations(ids, size):
                assert (card.without(inputs, part) or 0) >= below(value)
    positive = [each.reason.id for each in breakdown.counted if each.reason.weight > 0]
    if len(positive) <= MOST_TRIED and result.is_exact:
        event("tried")
        of_search = [order_of(card, inputs, {reason.id for reason in each.reasons}) for each in result.sets]
        tried = minimal_by_trying(card, inputs, positive, below(value))
        of_all = sorted(order_of(card, inputs, each) for each in tried)
        assert of_search == of_all[: len(of_search)]
        left = of_all[len(of_search) : MOST_SETS]
        assert not left or of_all[0][0] > 1, "more than one reason: searches for further sets may be used up"


def order_of(card: CompiledCard[Any], inputs: Any, ids: frozenset[str] | set[str]) -> tuple[int, int, int]:
    total = breakdown_of(card, inputs).total(ids)
    return len(ids), len(FIXED.intersection(ids)), total


def test_given_several_sets_then_the_fewest_reasons_come_first_and_then_those_that_can_be_otherwise() -> None:
    usual = {"program_n_90d": 100, "counterparty_first_time": True, "counterparty_account_changed": True}
    abroad = a_vector(
        rail="wire",
        counterparty_country="IR",
        counterparty_country_lists=LISTS,
        entity_verification_status="PENDING",
        **usual,
    )
    pep = a_vector(rail="wire", entity_pep_status="yes", **usual)

    found = [smallest_sets(breakdown_of(trs_v1.DEFAULT, vector)).sets for vector in (abroad, pep)]

    assert [[([reason.id for reason in each.reasons], each.value) for each in sets] for sets in found] == [
        [
            (["TRS-GEO-01"], 60),
            (["TRS-CPY-03", "TRS-DEC-01"], 60),
            (["TRS-CPY-03", "TRS-KYC-02"], 65),
            (["TRS-KYC-02", "TRS-DEC-01"], 65),
        ],
        [(["TRS-CPY-03"], 20), (["TRS-SCR-01"], 25)],
    ]


def test_given_recorded_reasons_alone_then_the_sets_are_the_same_where_common_signals_do_not_count() -> None:
    vector = a_vector(
        rail="wire",
        counterparty_country_lists=LISTS,
        entity_pep_status="yes",
        counterparty_account_changed=True,
        entity_new_counterparties_24h=9,
        common_signals=" ".join(COUNTED_SIGNALS),
        program_n_90d=100,
    )
    card = compile_card(changed(trs_v1.DEFAULT_CARD, signals=with_points("TRS-CPY-04", 20)))
    score = card.score(vector)
    assert any(reason.signal == "cap_common" for reason in score.reasons)

    known = smallest_sets(breakdown_of(card, vector))
    recorded = smallest_sets(Breakdown(card, score.value, score.reasons, None))

    assert known.sets
    assert known == recorded
    assert all("TRS-CPY-04" not in {reason.id for reason in each.reasons} for each in known.sets)


def test_given_recorded_reasons_of_a_card_that_lets_common_signals_count_in_part_then_nothing_is_claimed() -> None:
    caps = (*(cap for cap in trs_v1.DEFAULT_CARD.caps if cap.family != "common"), CardCap(family="common", points=5))
    card = compile_card(changed(trs_v1.DEFAULT_CARD, caps=caps, signals=with_points("TRS-CPY-04", 20)))
    vector = a_vector(
        counterparty_country_lists=LISTS, entity_new_counterparties_24h=9, common_signals="TRS-CPY-04", program_n_90d=90
    )
    score = card.score(vector)

    result = smallest_sets(Breakdown(card, score.value, score.reasons, None))

    assert score.value == 45
    assert (result.sets, result.is_exact) == ((), False)


def with_points(signal_id: str, points: int) -> Any:
    signals = [each for each in trs_v1.DEFAULT_CARD.signals if each.id != signal_id]
    return (*signals, points_when(signal_id, points))


@pytest.mark.parametrize("points", [3, 5, 9, 40])
def test_given_40_reasons_then_the_search_is_bounded(points: int) -> None:
    ids = [each.id for each in trs_v1.SCORER.signals.values() if not each.mitigates][:40]
    caps = tuple(cap for cap in trs_v1.DEFAULT_CARD.caps if cap.family != "common")
    card = compile_card(changed(trs_v1.DEFAULT_CARD, caps=caps))
    signals = card.scorer.signals
    reasons = [
        Reason(id=each, signal=signals[each].name, weight=points + place % 3, hard=False, sentence="")
        for place, each in enumerate(ids)
    ]
    breakdown = Breakdown(card, 100, reasons, ())
    assert breakdown.total() >= HOLD_FROM

    began = process_time()
    result = smallest_sets(breakdown)
    took = process_time() - began

    assert result.sets
    assert took < MOST_S
    for each in result.sets:
        assert breakdown.total([reason.id for reason in each.reasons]) < HOLD_FROM


def test_given_every_signal_then_it_has_a_negated_clause_and_no_clause_is_without_a_signal() -> None:
    signals = {signal.id: signal for scorer in SCORERS.values() for signal in scorer.signals.values()}

    for signal in signals.values():
        assert signal.id in NEGATED or signal.id.startswith("PRS-"), "write its clause beside the others"
        clause = negated(signal.id, signal.name)
        assert clause
        assert not clause.endswith(".")
    assert set(NEGATED) <= set(signals)
    assert set(signals) >= FIXED
