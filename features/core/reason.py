"""Signals, reasons and scores: the answer of every scorer."""

from typing import Annotated

import msgspec

from clearhold.features.core.bands import band_of
from clearhold.features.core.vocabulary import Band
from clearhold.features.core.words import about


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A signal that fired, with its sentence for people. ``sentence`` holds ids and numbers only, never names."""

    id: Annotated[str, about("Stable id of the reason, as in TRS-ENT-01. docs/reasons.md lists them all.")]
    signal: Annotated[str, about("Code of the signal, as in velocity_spike.")]
    weight: int
    hard: bool
    sentence: Annotated[str, about("The reason in words, with ids and numbers only.")]
    detail: str | None = None


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
