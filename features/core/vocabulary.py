"""The closed sets of words that the interface uses, and the meanings of fields for the API document, which validate
nothing.
"""

from enum import StrEnum
from typing import Final

from msgspec import Meta


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


class CardReason(StrEnum):
    """The reason of a decision on a card attempt, folded from several issuers' lists."""

    APPROVED = "APPROVED"
    INSUFFICIENT_FUNDS = "INSUFFICIENT_FUNDS"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    MERCHANT_BLOCKED = "MERCHANT_BLOCKED"
    CARD_INACTIVE = "CARD_INACTIVE"
    CARD_CLOSED = "CARD_CLOSED"
    CARD_EXPIRED = "CARD_EXPIRED"
    ACCOUNT_INACTIVE = "ACCOUNT_INACTIVE"
    CARDHOLDER_BLOCKED = "CARDHOLDER_BLOCKED"
    PIN_OR_CVV = "PIN_OR_CVV"
    SUSPECTED_FRAUD = "SUSPECTED_FRAUD"
    PROGRAM_DECLINED = "PROGRAM_DECLINED"
    TECHNICAL = "TECHNICAL"
    OTHER = "OTHER"


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
    """The subject of an alert."""

    TRANSFER = "transfer"
    ENTITY = "entity"
    PROGRAM = "program"
    COUNTERPARTY = "counterparty"
    ACCOUNT = "account"


class ActorType(StrEnum):
    """The subjects of scores beside transfers and programs; an agent is an entity of the program ``agents``."""

    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    AGENT = "agent"


class AlertStatus(StrEnum):
    OPEN = "open"
    AUTO_CLOSED = "auto_closed"
    CLOSED = "closed"
    HELD = "held"
    ESCALATED = "escalated"


WAITING: Final = (AlertStatus.OPEN, AlertStatus.HELD, AlertStatus.ESCALATED)
"""The statuses of an alert that waits for a person's decision."""


class Route(StrEnum):
    AUTOMATED = "automated"
    REVIEWED = "reviewed"


class SlaTier(StrEnum):
    AUTO = "auto"
    STANDARD = "standard"
    COMPLEX = "complex"
    APPEAL = "appeal"


class AlertDecision(StrEnum):
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


def about(words: str) -> Meta:
    return Meta(description=words)


def minted(noun: str) -> Meta:
    """The description of an id that is made here: a UUID."""
    return about(f"The {noun}'s id, minted here.")
