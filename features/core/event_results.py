"""The results of a bank event, and their meanings.

An id is used up by the first event under it that takes effect. Another event under it is then ``conflicting``; before,
it is taken as new, so that an event whose data could not be used can be corrected under its own id.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec


class EventResult(StrEnum):
    """The result of one delivery of a bank event."""

    APPLIED = "applied"
    WAITING = "waiting"
    STALE = "stale"
    STORED = "stored"
    UNUSABLE = "unusable"
    UNKNOWN = "unknown"
    DUPLICATE = "duplicate"
    CONFLICTING = "conflicting"
    FAILED = "failed"


MEANING_OF_RESULT: Final[Mapping[EventResult, str]] = {
    EventResult.APPLIED: "It took effect. Fields that could not be used were read as absent, and are named.",
    EventResult.WAITING: "It took effect: a decided dispute that labels its transfer as soon as the transfer comes.",
    EventResult.STALE: "Its object is older than the stored one. Nothing newer was overwritten.",
    EventResult.STORED: "It is kept in the log. Clearhold does nothing with such an event.",
    EventResult.UNUSABLE: "It had no effect, because its data could not be used.",
    EventResult.UNKNOWN: "It had no effect, because its type belongs to no known family.",
    EventResult.DUPLICATE: "The same event, byte for byte, came before. It changed nothing.",
    EventResult.CONFLICTING: "Other bytes took effect under its id before, of another event or of this one spelt "
    "differently. It changed nothing.",
    EventResult.FAILED: "It had no effect, through a fault of Clearhold. It is kept, and counted as quarantined.",
}

TAKES_EFFECT: Final = frozenset({EventResult.APPLIED, EventResult.WAITING})
"""The results that use up the event's id."""


class EventSubjectType(StrEnum):
    """The kinds of objects that an event can be about."""

    TRANSFER = "transfer"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    ACCOUNT = "account"


class SubjectOfEvent(msgspec.Struct, frozen=True, gc=False):
    """The object that an event is about."""

    type: EventSubjectType
    id: str


class EventFault(msgspec.Struct, frozen=True, gc=False):
    """A sentence on an event, and the dotted path of its field; it quotes nothing of the caller's."""

    sentence: str
    path: str | None = None


class EventOutcome(msgspec.Struct, frozen=True, gc=False):
    """The result of an event, and its subject if it could be read; ``is_plain``: it certainly has no fault.

    ``fault`` is one that the event's own data does not show.
    """

    result: EventResult
    subject: SubjectOfEvent | None = None
    is_plain: bool = False
    fault: EventFault | None = None
