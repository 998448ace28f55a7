"""A challenger compared with the champion that it runs beside, on the same transfers.

Unit    instants are texts, UTC; shares are of 1; ``psi`` is a sum over scores by tens and unscored
Null    a share of nothing, and a test without a decision that differs, are null, never 0
"""

from typing import Annotated

import msgspec

from clearhold.features.core.measured import Measured
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
