"""The closed sets of words that the interface uses."""

from enum import StrEnum
from typing import Final


class Rail(StrEnum):
    ACH = "ach"
    WIRE = "wire"
    REALTIME = "realtime"
    BOOK = "book"
    INTL_WIRE = "intl_wire"
    CHECK = "check"
    CARD = "card"


class Direction(StrEnum):
    INCOMING = "incoming"
    OUTGOING = "outgoing"


class AchType(StrEnum):
    CREDIT = "CREDIT"
    DEBIT = "DEBIT"


class Band(StrEnum):
    CLEAR = "clear"
    REVIEW = "review"
    HOLD = "hold"
    UNSCORED = "unscored"


class Decision(StrEnum):
    CLEAR = "clear"
    REVIEW = "review"
    HOLD = "hold"


class ProgramSource(StrEnum):
    BANK = "bank"
    SIMULATED = "simulated"


class EntityType(StrEnum):
    PERSON = "PERSON"
    BUSINESS = "BUSINESS"


class VerificationStatus(StrEnum):
    UNVERIFIED = "UNVERIFIED"
    PENDING = "PENDING"
    MANUAL_REVIEW = "MANUAL_REVIEW"
    VERIFIED = "VERIFIED"
    DENIED = "DENIED"


class PepStatus(StrEnum):
    NOT_CHECKED = "not_checked"
    NO = "no"
    YES = "yes"
    POTENTIAL = "potential"


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class SubjectType(StrEnum):
    """What an alert is about."""

    TRANSFER = "transfer"
    ENTITY = "entity"
    PROGRAM = "program"
    COUNTERPARTY = "counterparty"
    ACCOUNT = "account"


class AlertStatus(StrEnum):
    OPEN = "open"
    AUTO_CLOSED = "auto_closed"
    CLOSED = "closed"
    HELD = "held"
    ESCALATED = "escalated"


class Route(StrEnum):
    AUTOMATED = "automated"
    REVIEWED = "reviewed"


class SlaTier(StrEnum):
    AUTO = "auto"
    STANDARD = "standard"
    COMPLEX = "complex"
    APPEAL = "appeal"


class AlertDecision(StrEnum):
    """What a disposition says."""

    CLOSE = "close"
    HOLD = "hold"
    ESCALATE = "escalate"
    RELEASE = "release"
    NO_ACTION = "no_action"


class LabelValue(StrEnum):
    BAD = "bad"
    OK = "ok"


class LabelSource(StrEnum):
    RETURN = "return"
    DISPUTE = "dispute"
    PERSON = "person"
    LAW_ENFORCEMENT = "law_enforcement"


REVIEW_FROM: Final = 30
HOLD_FROM: Final = 70


def band_of(score: int | None) -> Band:
    """Clear 0-29, review 30-69, hold 70-100; a score that was not measured is unscored, never clear."""
    return _BANDS[_place(score)]


def band_word(score: int | None) -> str:
    """The same as the word that rows keep."""
    return _BAND_WORDS[_place(score)]


_BANDS: Final = (Band.CLEAR, Band.REVIEW, Band.HOLD, Band.UNSCORED)
_BAND_WORDS: Final = tuple(band.value for band in _BANDS)


def _place(score: int | None) -> int:
    if score is None:
        return 3
    return (score >= REVIEW_FROM) + (score >= HOLD_FROM)
