"""Signals, reasons and scores: what every scorer answers with."""

import msgspec

from clearhold.features.core.bands import band_of
from clearhold.features.core.vocabulary import Band


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A signal that fired, with its sentence for people. ``sentence`` holds ids and numbers only, never names."""

    id: str
    signal: str
    weight: int
    hard: bool
    sentence: str
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
