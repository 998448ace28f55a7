"""A comparison of two cards: each figure from a handful of transfers that can be counted by hand."""

from typing import Any

import pytest

from clearhold.features.core.scorecards import PairCount, score_class, to_comparison, two_sided_p


def pairs(
    champion: int | None, challenger: int | None, transfers: int, label: str | None = None, **over: Any
) -> PairCount:
    """Transfers with these points of both cards."""
    return PairCount(
        champion_band=band_of(champion),
        band=band_of(challenger),
        champion_class=score_class(champion),
        score_class=score_class(challenger),
        label=label,
        is_mature=over.get("is_mature", True),
        transfers=transfers,
    )


def band_of(points: int | None) -> str:
    if points is None:
        return "unscored"
    return "clear" if points < 30 else "review" if points < 70 else "hold"


def compared(*counts: PairCount) -> Any:
    return to_comparison(counts, version="scorecard-v1", champions=["trs-v1"], since="2026-03-01T00:00:00.000Z")


def test_given_counts_then_moves_volumes_precision_and_recall_follow() -> None:
    found = compared(
        pairs(10, 40, 6, "bad"),
        pairs(40, 10, 3, "ok"),
        pairs(40, 80, 1, "bad"),
        pairs(10, 12, 80),
        pairs(10, 40, 3, "ok", is_mature=False),
        pairs(10, 40, 2, "bad", is_mature=False),
        pairs(None, None, 5),
    )

    assert found.transfers == 100
    moves = {(each.champion_band, each.band): each.transfers for each in found.moves}
    assert moves == {
        ("clear", "review"): 11,
        ("review", "clear"): 3,
        ("review", "hold"): 1,
        ("clear", "clear"): 80,
        ("unscored", "unscored"): 5,
    }
    champion, challenger = found.champion, found.challenger
    assert (champion.to_review, champion.per_thousand, champion.hold, champion.unscored) == (4, 40, 0, 5)
    assert (challenger.to_review, challenger.per_thousand, challenger.hold, challenger.unscored) == (12, 120, 1, 5)
    assert [(each.precision.value, each.precision.n) for each in (champion, challenger)] == [(0.25, 4), (1, 7)]
    assert [(each.recall.value, each.recall.n) for each in (champion, challenger)] == [(0.111111, 9), (1, 9)]
    assert (found.labelled_bad, found.labelled_ok, found.provisional_bad, found.provisional_ok) == (7, 3, 2, 3)
    test = found.mc_nemar
    assert (test.labelled, test.only_champion_right, test.only_challenger_right) == (10, 0, 9)
    assert test.p_value == 0.003906


def test_given_nothing_then_counts_are_zero_and_shares_null() -> None:
    found = compared()

    assert (found.transfers, found.moves, found.psi, found.champion.per_thousand) == (0, (), None, None)
    assert (found.mc_nemar.p_value, found.challenger.recall.value) == (None, None)


def test_given_the_same_scores_then_the_population_is_stable_and_a_shift_is_told() -> None:
    assert compared(pairs(10, 10, 500), pairs(40, 40, 500)).psi == 0
    small = compared(pairs(10, 10, 900), pairs(10, 40, 20), pairs(40, 40, 80)).psi
    large = compared(pairs(10, 10, 500), pairs(10, 40, 420), pairs(40, 40, 80)).psi
    assert 0 < small < 0.1
    assert large > 0.25


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [(5, 5, 1.0), (0, 1, 1.0), (0, 6, 0.03125), (9, 1, 0.021484), (600, 600, 1.0), (700, 500, 0.0)],
)
def test_given_a_split_then_its_p_is_that_of_a_fair_coin(one: int, other: int, p: float) -> None:
    assert two_sided_p(one, other) == pytest.approx(p, abs=1e-6)
    assert two_sided_p(one, other) == two_sided_p(other, one)
