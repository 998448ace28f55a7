"""A challenger compared with the champion that it runs beside, on the same transfers.

Unit    instants are texts, UTC; shares are of 1; ``psi`` is a sum over scores by tens and unscored
Null    a share of nothing, and a test without a decision that differs, are null, never 0

The population stability index is the sum of (q - p) ln(q / p) over the shares of each class before and after: scores by
tens, 0-9 to 80-89 and 90-100, and unscored. Half a transfer is added to each class, so that an empty one has a
logarithm. Look from 0.10, act from 0.25: the industry's rule of thumb.
"""

from collections.abc import Sequence
from math import log
from typing import Annotated, Final

import msgspec

from clearhold.features.core.measured import Measured
from clearhold.features.core.program import Simulated
from clearhold.features.core.words import about


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
    """The index of two counts of the same classes; null when one of them is empty.

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
