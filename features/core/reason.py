"""Signals, reasons and scores: the answer of every scorer.

Bands  clear 0-29, review 30-69, hold 70-100; a score that was not measured is unscored, never clear
"""

from typing import Annotated, Final

import msgspec

from clearhold.features.core.vocabulary import Band, about

REVIEW_FROM: Final = 30
HOLD_FROM: Final = 70


def band_of(score: int | None) -> Band:
    return _UNSCORED if score is None else _BANDS[(score >= REVIEW_FROM) + (score >= HOLD_FROM)]


def band_word(score: int | None) -> str:
    """The same as the word in rows."""
    return _UNSCORED_WORD if score is None else _BAND_WORDS[(score >= REVIEW_FROM) + (score >= HOLD_FROM)]


_BANDS: Final = (Band.CLEAR, Band.REVIEW, Band.HOLD)
_UNSCORED: Final = Band.UNSCORED
_BAND_WORDS: Final = tuple(band.value for band in _BANDS)
_UNSCORED_WORD: Final = Band.UNSCORED.value


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A signal that fired, with its sentence for people. ``sentence`` holds ids and numbers only, never names."""

    id: Annotated[str, about("Stable id of the reason, as in TRS-ENT-01. docs/reasons.md lists them all.")]
    signal: Annotated[str, about("Code of the signal, as in velocity_spike.")]
    weight: int
    hard: bool
    sentence: Annotated[str, about("The reason in words, with ids and numbers only.")]
    detail: Annotated[
        str | None, about("The measure that the points are given for, as in hops: 3; null for a check without one.")
    ] = None


class Score(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """0-100 points, or None below the floor; for every non-null value the reasons' weights add up to it exactly."""

    version: str
    value: int | None
    n: int
    confidence: float | None
    reasons: tuple[Reason, ...]

    @property
    def band(self) -> Band:
        return band_of(self.value)

    @property
    def hard(self) -> bool:
        """A hard signal always goes to a person, whatever the points are."""
        return any([reason.hard for reason in self.reasons])  # noqa: C419 - a list costs half as much
