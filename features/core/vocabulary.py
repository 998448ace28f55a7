"""The closed sets of words that the interface uses; the meanings of fields for the API document, which validate
nothing; and reasons and scores, the answer of every scorer.

Bands  clear 0-29, review 30-69, hold 70-100; a score that was not measured is unscored, never clear
"""

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta


def words(code: str) -> str:
    """A code of ours as words, for sentences; an id that a bank chose, as of a rule, stays.

    >>> words("amount_repeated_in_a_day"), words("rule:my_rule")
    ('amount repeated in a day', 'rule:my_rule')
    """
    return code if ":" in code else code.replace("_", " ")


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


class StackKind(StrEnum):
    """The thing that the alerts of a stack share; a split and an appeal have a stack that nothing joins."""

    ENTITY = "entity"
    ACCOUNT = "account"
    COUNTERPARTY = "counterparty"
    TRANSFER = "transfer"
    PROGRAM = "program"
    APPEAL = "appeal"
    SPLIT = "split"


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
