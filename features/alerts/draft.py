"""A draft: the decision that is proposed of an alert, with its narrative."""

from enum import StrEnum

import msgspec


class Recommendation(StrEnum):
    CLOSE = "close"
    HOLD = "hold"
    ESCALATE = "escalate"


class Draft(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A proposed narrative. A template has no confidence and no model."""

    narrative: str
    recommendation: Recommendation
    confidence: float | None = None
    narrative_model: str | None = None
