"""Families of signals. A scorer caps the points of each, so that related signals are not counted twice.

A reason's id names its signal, not always its family: TRS-VEL (``velocity_spike``, ``dormant_reactivation``) is of the
family timing, and countries or rails that a program did not declare are of the family declared.
"""

from enum import StrEnum


class Family(StrEnum):
    AMOUNT = "amount"
    TIMING = "timing"
    RELATIONSHIP = "relationship"
    RETURNS = "returns"
    IDENTITY = "identity"
    GEOGRAPHY = "geography"
    DECLARED = "declared"
    HISTORY = "history"
    FLOW = "flow"
    CARD = "card"
