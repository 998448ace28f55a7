"""Scorecards: the points of each signal, as data. ``features/scorers`` measures signals and adds the points.

A signal is measured as an integer, or not at all: a check that fires is 1, a ratio is a percentage. The bin that
contains the measure gives the points; there are no points outside every bin and without a measure.

Unit    points, integers; a bin holds from ``at_least`` to just under ``below``, None is without an end
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from clearhold.features.core.canonical import MAX_INTEGER, canonical, digest_of
from clearhold.features.core.words import about

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
