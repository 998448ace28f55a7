"""A draft: the proposed decision on an alert, with its narrative."""

from enum import StrEnum
from typing import Annotated

import msgspec

from clearhold.features.core.words import about


class Recommendation(StrEnum):
    CLOSE = "close"
    HOLD = "hold"
    ESCALATE = "escalate"


class Draft(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A proposed narrative. A template has no confidence and no model."""

    narrative: str
    recommendation: Recommendation
    confidence: Annotated[float | None, about("0 to 1; null for a draft made from a template.")] = None
    narrative_model: str | None = None
