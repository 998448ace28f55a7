"""A challenger compared with the champion that it runs beside: what the same transfers get from both.

Unit    instants are texts, UTC; shares are of 1; ``psi`` is a sum over scores by tens and unscored
Null    a share of nothing, and a test without a decision that differs, are null, never 0
"""

import msgspec

from clearhold.features.core.measured import Measured


class BandMove(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Transfers that the champion has in one band and the challenger in another or the same."""

    champion_band: str
    band: str
    transfers: int


class CardFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one card makes of the transfers: those in review and hold, and how right that is.

    ``precision`` is over matured labels, ``recall`` over all bad ones, however young.
    """

    to_review: int
    per_thousand: float | None
    hold: int
    unscored: int
    precision: Measured
    recall: Measured


class PairedTest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """McNemar's exact test over transfers with a matured label: where one card decides right and the other wrong.

    Right is a bad transfer in review or hold, and an ok one in neither. ``p_value`` is two-sided.
    """

    labelled: int
    only_champion_right: int
    only_challenger_right: int
    p_value: float | None


class ShadowComparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The newest scoring of each transfer since the card came into shadow."""

    version: str
    champion_versions: tuple[str, ...]
    since: str | None
    transfers: int
    moves: tuple[BandMove, ...]
    champion: CardFigures
    challenger: CardFigures
    psi: float | None
    labelled_bad: int
    labelled_ok: int
    provisional_bad: int
    provisional_ok: int
    mc_nemar: PairedTest
