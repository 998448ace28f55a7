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
"""

from collections.abc import Sequence
from math import log
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from clearhold.features.core.canonical import MAX_INTEGER, canonical, digest_of
from clearhold.features.core.measured import Measured
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import about

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


class CardCap(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The most points that the signals of one family add."""

    family: str
    points: Annotated[int, Meta(ge=0, le=MOST_POINTS), about("The most points that the signals of the family add.")]


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


def points_from(signal_id: str, *steps: tuple[int, int], below: int | None = None) -> CardSignal:
    """A signal whose points change at each step: (measure, points), to the next step or, last, to ``below``."""
    ends = [*(at_least for at_least, _ in steps[1:]), below]
    bins = [Bin(at_least=first, below=end, points=points) for (first, points), end in zip(steps, ends, strict=True)]
    return CardSignal(id=signal_id, bins=tuple(bins))


def points_when(signal_id: str, points: int) -> CardSignal:
    """A check, which measures 1 when it fires."""
    return points_from(signal_id, (1, points))


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
    10.4803
    """
    expected, actual = (_shares(counts) for counts in (before, after))
    return sum((q - p) * log(q / p) for p, q in zip(expected, actual, strict=True))


def _shares(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) + ADDED * len(counts)
    return [(count + ADDED) / whole for count in counts]
