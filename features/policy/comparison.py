"""The comparison of two cards, from counts of transfers.

Source  Q. McNemar, Psychometrika 12 (1947), in its exact form: a sign test
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb, erfc, sqrt
from typing import Final, NamedTuple

from clearhold.features.core.measured import measured, rounded
from clearhold.features.core.scorecards import (
    SCORE_CLASSES,
    BandMove,
    CardFigures,
    PairedTest,
    ShadowComparison,
    stability_index,
)
from clearhold.features.core.vocabulary import Band

_EXACT_UP_TO: Final = 1_000
_FLAGGED: Final = frozenset({Band.REVIEW.value, Band.HOLD.value})


class PairCount(NamedTuple):
    """The transfers with the same classes under both cards, by band, class of the score and label.

    ``is_mature`` says that the transfer is old enough for its label to count. Until then bad ones become known and ok
    ones do not, so that a share of both would be too high.
    """

    champion_band: str
    band: str
    champion_class: int
    score_class: int
    label: str | None
    is_mature: bool
    transfers: int


def to_comparison(
    counts: Sequence[PairCount], *, version: str, champions: Sequence[str], since: str | None
) -> ShadowComparison:
    mature = [each for each in counts if each.is_mature]
    moves = Counter[tuple[str, str]]()
    for each in counts:
        moves[each.champion_band, each.band] += each.transfers
    return ShadowComparison(
        version=version,
        champion_versions=tuple(champions),
        since=since,
        transfers=_sum(counts),
        moves=tuple(
            BandMove(champion_band=before, band=after, transfers=transfers)
            for (before, after), transfers in sorted(moves.items())
        ),
        champion=_figures(counts, lambda each: each.champion_band),
        challenger=_figures(counts, lambda each: each.band),
        psi=_psi(counts),
        labelled_bad=_sum(mature, _is_bad),
        labelled_ok=_sum(mature, _is_ok),
        provisional_bad=_sum(counts, _is_bad) - _sum(mature, _is_bad),
        provisional_ok=_sum(counts, _is_ok) - _sum(mature, _is_ok),
        mc_nemar=_mc_nemar(mature),
    )


def _figures(counts: Sequence[PairCount], band_of: Callable[[PairCount], str]) -> CardFigures:
    flagged = [each for each in counts if band_of(each) in _FLAGGED]
    mature = [each for each in flagged if each.is_mature]
    bad, transfers = _sum(mature, _is_bad), _sum(counts)
    return CardFigures(
        to_review=_sum(flagged),
        per_thousand=rounded(_sum(flagged) * 1_000 / transfers) if transfers else None,
        hold=_sum(flagged, lambda each: band_of(each) == Band.HOLD),
        unscored=_sum(counts, lambda each: band_of(each) == Band.UNSCORED),
        precision=measured(bad, bad + _sum(mature, _is_ok)),
        recall=measured(_sum(flagged, _is_bad), _sum(counts, _is_bad)),
    )


def _psi(counts: Sequence[PairCount]) -> float | None:
    if not _sum(counts):
        return None
    of_champion, of_challenger = [0] * SCORE_CLASSES, [0] * SCORE_CLASSES
    for each in counts:
        of_champion[each.champion_class] += each.transfers
        of_challenger[each.score_class] += each.transfers
    return rounded(stability_index(of_champion, of_challenger))


def _mc_nemar(mature: Sequence[PairCount]) -> PairedTest:
    labelled = [each for each in mature if each.label is not None]
    champion = _sum(labelled, lambda each: _is_right(each, each.champion_band) and not _is_right(each, each.band))
    challenger = _sum(labelled, lambda each: _is_right(each, each.band) and not _is_right(each, each.champion_band))
    return PairedTest(
        labelled=_sum(labelled),
        only_champion_right=champion,
        only_challenger_right=challenger,
        p_value=two_sided_p(champion, challenger),
    )


def two_sided_p(one: int, other: int) -> float | None:
    """The probability of so uneven a split when both cards are equally often right; None without a difference.

    >>> two_sided_p(1, 9)
    0.021484
    """
    n, fewer = one + other, min(one, other)
    if not n:
        return None
    if n <= _EXACT_UP_TO:
        return rounded(min(1.0, 2 * sum(comb(n, k) for k in range(fewer + 1)) / 2**n))
    return rounded(erfc(max(0, abs(one - other) - 1) / sqrt(2 * n)))


def _is_right(each: PairCount, band: str) -> bool:
    return _is_bad(each) == (band in _FLAGGED)


def _is_bad(each: PairCount) -> bool:
    return each.label == "bad"


def _is_ok(each: PairCount) -> bool:
    return each.label == "ok"


def _sum(counts: Sequence[PairCount], counted: Callable[[PairCount], bool] = lambda _: True) -> int:
    return sum(each.transfers for each in counts if counted(each))
