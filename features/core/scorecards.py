"""Scorecards: the points of each signal, as data. ``features/scorers`` measures signals and adds the points. A
challenger is compared with the champion that it runs beside, on the same transfers.

A signal is measured as an integer, or not at all: a check that fires is 1, a ratio is a percentage. The bin that
contains the measure gives the points; there are no points outside every bin and without a measure.

Unit    points, integers; a bin holds from ``at_least`` to just under ``below``, None is without an end. In comparisons
        instants are texts, UTC; shares are of 1; ``psi`` is a sum over scores by tens and unscored
Null    a share of nothing, and a test without a decision that differs, are null, never 0

The population stability index is the sum of (q - p) ln(q / p) over the shares of each class before and after: scores by
tens, 0-9 to 80-89 and 90-100, and unscored. Half a transfer is added to each class, so that an empty one has a
logarithm. Look from 0.10, act from 0.25: the industry's rule of thumb.

Source  Q. McNemar, Psychometrika 12 (1947), in its exact form: a sign test
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb, erfc, log, sqrt
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from clearhold.features.core.canonical import MAX_INTEGER, canonical, digest_of
from clearhold.features.core.measured import Measured, measured, rounded
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import Band, about

MAX_SIGNALS: Final = 100
MAX_BINS: Final = 12
MOST_POINTS: Final = 100

Points = Annotated[int, Meta(ge=-MOST_POINTS, le=MOST_POINTS)]
Measure = Annotated[int, Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Floor = Annotated[int, Meta(ge=1, le=1_000_000)]


class Bin(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The points of one stretch of a measure."""

    at_least: Annotated[Measure, about("The stretch begins here.")]
    below: Annotated[Measure | None, about("It ends just under this; null: it has no end.")] = None
    points: Annotated[Points, about("What a measure in the stretch is worth.")]


class CardSignal(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A signal that counts, by the id of its reason. Bins rise and do not overlap."""

    id: Annotated[
        str,
        Meta(min_length=1, max_length=20),
        about("The id of the signal's reason, as in TRS-CPY-02. docs/reasons.md lists them all."),
    ]
    bins: Annotated[
        tuple[Bin, ...],
        Meta(min_length=1, max_length=MAX_BINS),
        about("Stretches of the measure, rising and without holes; outside of them there are no points."),
    ]
    most_known: Annotated[
        Annotated[int, Meta(ge=0, le=MOST_POINTS)] | None,
        about("The most points where the program's usual transfers are known; null: as many as the bins give."),
    ] = None


class CardCap(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The most points that the signals of one family add, or the signals that see one fact of a transfer."""

    family: Annotated[str, about("The family, as flow, or the fact. docs/reasons.md lists them all.")]
    points: Annotated[int, Meta(ge=0, le=MOST_POINTS), about("The most points that its signals add.")]


class Scorecard(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One scorer's card. ``floor`` is the least n that is scored; of trs, ``program_floor`` is that of the program."""

    scorer: Annotated[str, about("What it scores: trs, for transfers.")]
    name: Annotated[str, Meta(min_length=1, max_length=200), about("The author's name for it.")]
    floor: Annotated[Floor, about("The least number of earlier transfers of the entity that is scored.")]
    program_floor: Annotated[
        Floor | None,
        about("The least number of the program's transfers in 90 days that is scored where the entity has fewer."),
    ] = None
    caps: Annotated[tuple[CardCap, ...], Meta(max_length=20), about("The most points that families of signals add.")]
    signals: Annotated[
        tuple[CardSignal, ...], Meta(min_length=1, max_length=MAX_SIGNALS), about("The signals that count.")
    ]


def scorecard_sha256(card: Scorecard) -> str:
    """The digest that reports, activations and scores cite a card by."""
    return digest_of(canonical(card))


def points_from(
    signal_id: str, *steps: tuple[int, int], below: int | None = None, known: int | None = None
) -> CardSignal:
    """A signal whose points change at each step: (measure, points), to the next step or, last, to ``below``. ``known``
    is the most where the program's usual transfers are known.
    """
    ends = [*(at_least for at_least, _ in steps[1:]), below]
    bins = [Bin(at_least=first, below=end, points=points) for (first, points), end in zip(steps, ends, strict=True)]
    return CardSignal(id=signal_id, bins=tuple(bins), most_known=known)


def points_when(signal_id: str, points: int, *, known: int | None = None) -> CardSignal:
    """A check, which measures 1 when it fires."""
    return points_from(signal_id, (1, points), known=known)


class BandMove(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Transfers by the champion's band and the challenger's."""

    champion_band: Annotated[str, about("The band by the champion's score.")]
    band: Annotated[str, about("The band by the challenger's score.")]
    transfers: Annotated[int, about("How many transfers are in both.")]


class CardFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The transfers that one card puts in review and hold, and the share that is right.

    ``precision`` is over matured labels, ``recall`` over all bad ones, however young.
    """

    to_review: Annotated[int, about("Transfers in review and hold.")]
    per_thousand: Annotated[float | None, about("Transfers in review and hold of a thousand.")]
    hold: Annotated[int, about("Transfers in hold.")]
    unscored: Annotated[int, about("Transfers without a score.")]
    precision: Annotated[Measured, about("The bad share of transfers in review and hold with a matured label.")]
    recall: Annotated[Measured, about("The share in review and hold of all transfers labelled bad.")]


class PairedTest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """McNemar's exact test over transfers with a matured label: where one card decides right and the other wrong.

    Right is a bad transfer in review or hold, and an ok one in neither. ``p_value`` is two-sided.
    """

    labelled: Annotated[int, about("Transfers with a matured label.")]
    only_champion_right: Annotated[int, about("Of these, right by the champion and wrong by the challenger.")]
    only_challenger_right: Annotated[int, about("Of these, right by the challenger and wrong by the champion.")]
    p_value: Annotated[
        float | None,
        about("Chance of such a split when both are equally right; null without a difference."),
    ]


class ShadowComparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The newest scoring of each transfer since the card came into shadow."""

    version: Annotated[str, about("The scorecard that ran in shadow.")]
    champion_versions: Annotated[tuple[str, ...], about("The versions of the scores that it ran beside.")]
    since: Annotated[str | None, about("When it last came into shadow, or 90 days ago; null when it never did.")]
    transfers: Annotated[int, about("Transfers that both scored, each with its newest scoring.")]
    moves: Annotated[tuple[BandMove, ...], about("How many transfers the two cards have in which bands.")]
    champion: Annotated[CardFigures, about("The card in force.")]
    challenger: Annotated[CardFigures, about("The card in shadow.")]
    psi: Annotated[float | None, about("Population stability index of scores by tens: from 0.10 look, from 0.25 act.")]
    labelled_bad: Annotated[int, about("Transfers labelled bad that are at least 60 days old.")]
    labelled_ok: Annotated[int, about("Transfers labelled ok that are at least 60 days old.")]
    provisional_bad: Annotated[int, about("Younger transfers labelled bad; they count for recall alone.")]
    provisional_ok: Annotated[int, about("Younger transfers labelled ok, which may still turn bad: not counted yet.")]
    mc_nemar: Annotated[PairedTest, about("McNemar's test: whether one card is right more often than the other.")]
    simulated: Simulated = msgspec.UNSET


ADDED: Final = 0.5
LAST_TEN: Final = 9
UNSCORED_CLASS: Final = LAST_TEN + 1
SCORE_CLASSES: Final = UNSCORED_CLASS + 1
LOOK: Final = 0.10
ACT: Final = 0.25


def score_class(score: int | None) -> int:
    """The class of a score.

    >>> [score_class(each) for each in (0, 9, 10, 99, 100, None)]
    [0, 0, 1, 9, 9, 10]
    """
    return UNSCORED_CLASS if score is None else min(score // 10, LAST_TEN)


def stability_index(before: Sequence[int], after: Sequence[int]) -> float:
    """The index of two counts of the same classes.

    >>> stability_index((10, 10), (20, 20))
    0.0
    >>> round(stability_index((99, 0), (0, 99)), 4)
    10.4807
    """
    expected, actual = (_shares(counts) for counts in (before, after))
    return sum((q - p) * log(q / p) for p, q in zip(expected, actual, strict=True))


def _shares(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) + ADDED * len(counts)
    return [(count + ADDED) / whole for count in counts]


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
