"""Families of signals, and how much each may add: related signals are not counted twice.

Source  the caps are proposed here [P], to be tuned on labels
"""

from enum import StrEnum
from typing import Final, NamedTuple


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


class Cap(NamedTuple):
    reason_id: str
    points: int


CAPS: Final = {
    Family.AMOUNT: Cap("TRS-CAP-01", 30),
    Family.TIMING: Cap("TRS-CAP-02", 30),
    Family.RELATIONSHIP: Cap("TRS-CAP-03", 30),
    Family.RETURNS: Cap("TRS-CAP-04", 45),
    Family.IDENTITY: Cap("TRS-CAP-05", 60),
    Family.GEOGRAPHY: Cap("TRS-CAP-06", 40),
    Family.DECLARED: Cap("TRS-CAP-07", 30),
    Family.FLOW: Cap("TRS-CAP-08", 60),
    Family.CARD: Cap("TRS-CAP-09", 45),
}
