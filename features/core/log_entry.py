"""One entry of the ingest log: the only input for a fact that can change a score; the results of a bank event; and how
an entry hands over its rows.

Offsets are integers that grow within a shard, from 1 on: Redis's ``milliseconds-sequence`` as ``milliseconds << 20 |
sequence``. Only the log that gave an offset reads more from it than its order.

An event's id is used up by the first event under it that takes effect. Another event under it is then ``conflicting``;
before, it is taken as new, so that an event whose data could not be used can be corrected under its own id.

The row types stand in ``features/core/rows``, one module for each group of tables; ``store/duck/database.py`` makes the
tables from them. Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec


class EntryKind(StrEnum):
    """The kind of an entry. ``features/shard/appliers.py`` has the decoder and the applier of each kind."""

    BANK = "bank"  # body: the webhook's raw bytes, as signed
    PREFLIGHT = "preflight"  # body: JSON of a features.core.entries.preflight.PreflightRecord
    PROGRAM = "program"  # body: JSON of a features.core.principal.Program, whole, at creation and at each change
    TICK = "tick"  # body: empty; a minute has passed
    DECISION = "decision"  # body: JSON of a features.core.entries.commands.DecisionEntry
    DECISIONS = "decisions"  # body: JSON of a features.core.entries.commands.DecisionsEntry
    SPLIT = "split"  # body: JSON of a features.core.entries.commands.SplitEntry
    NOTE = "note"  # body: JSON of a features.core.entries.commands.NoteEntry
    ASSIGN = "assign"  # body: JSON of a features.core.entries.commands.AssignEntry
    APPEAL = "appeal"  # body: JSON of a features.core.entries.commands.AppealEntry
    LABEL = "label"  # body: JSON of a features.core.entries.commands.LabelEntry
    OWNER = "owner"  # body: JSON of a features.core.entries.commands.OwnerEntry
    DIRECTORY = "directory"  # body: JSON of a features.core.entries.directory.DirectoryEntry
    ACTION = "action"  # body: JSON of a features.core.entries.actions.ActionEntry
    APPROVAL = "approval"  # body: JSON of a features.core.entries.actions.ApprovalEntry
    OUTCOME = "outcome"  # body: JSON of a features.core.entries.actions.OutcomeEntry
    POLICY = "policy"  # body: JSON of a features.core.entries.actions.PolicyEntry
    SNAPSHOT = "snapshot"  # body: JSON of a features.catalogue.kris.SnapshotEntry
    LOSS = "loss"  # body: JSON of a features.core.entries.commands.LossEntry
    AGENT_IMPORT = "agent_import"  # body: JSON of a features.core.entries.directory.AgentImportEntry
    AGENT = "agent"  # body: an item of the scan index as received, as the next two
    PROFILE = "profile"
    SETTLEMENT = "settlement"
    BACKFILL = "backfill"  # body: JSON of a features.core.entries.commands.BackfillStep


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry as the log hands it to a shard. ``appended_at`` is microseconds, set by the appender.

    ``seal`` shows that Clearhold wrote the entry (``store/seals.py``); one without a fitting seal ``is_forged``. Bank
    events have none.
    """

    shard: int
    offset: int
    kind: str
    program_id: str
    appended_at: int
    body: bytes
    seal: bytes = b""
    is_forged: bool = False


_SEAL_NUMBER_BYTES: Final = 8


class SealOrder:
    """Marks repeated entries of a shard as forged, read in the order of the log.

    Seals of a shard begin with a number that grows, so that a copy of an earlier entry, with its seal, has a number
    that came before.
    """

    __slots__ = ("newest",)

    def __init__(self, newest: bytes = b"") -> None:
        self.newest = newest

    def checked(self, entry: LogEntry) -> LogEntry:
        """The entry, marked as forged if it is a repeated one."""
        if not entry.seal or entry.is_forged:
            return entry
        number = entry.seal[:_SEAL_NUMBER_BYTES]
        if number <= self.newest:
            return msgspec.structs.replace(entry, is_forged=True)
        self.newest = number
        return entry


FORGED: Final = "Its seal is missing, wrong, or that of an earlier entry: Clearhold did not write it."


class EntryPosition(msgspec.Struct, frozen=True, gc=False):
    """An entry's place in the log and its instants."""

    shard: int
    offset: int
    event_at: int  # see ``event_time``
    appended_at: int

    def first_columns(self, tenant_id: str, program_id: str, object_id: str) -> tuple[str, str, str, int, int]:
        """The columns that every ``ObjectRow`` begins with, of a row that the entry gives."""
        return tenant_id, program_id, object_id, self.shard, self.offset


def position_of(entry: LogEntry) -> EntryPosition:
    """The position of an entry whose time is its append time."""
    return EntryPosition(entry.shard, entry.offset, entry.appended_at, entry.appended_at)


def event_time(created_at: int, *, appended_at: int) -> int:
    """The time that a bank event counts from: the bank's ``created_at``, at most the append time.

    A time in the future would expire windows too early, so an event is never later than its own log entry.
    """
    return min(created_at, appended_at)


def shard_of(program_id: str, shards: int) -> int:
    """The shard of a program, which never changes."""
    return int.from_bytes(blake2b(program_id.encode(), digest_size=8).digest(), "big") % shards


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
    EventResult.WAITING: "It took effect: a decided dispute that labels its transfer if that comes within 60 days.",
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
_EFFECT: Final = 1


def entry_of(checksum: int, result: EventResult) -> int:
    """The entry stored under an event's id: its checksum, and in the lowest bit whether it took effect."""
    return checksum | _EFFECT if result in TAKES_EFFECT else checksum & ~_EFFECT


def earlier_result(stored: int | None, checksum: int) -> EventResult | None:
    """The result of an event, given the stored entry of its id; None when it is new, or corrects earlier ones."""
    if stored is None:
        return None
    if stored | _EFFECT == checksum | _EFFECT:
        return EventResult.DUPLICATE
    return EventResult.CONFLICTING if stored & _EFFECT else None


class EventSubjectType(StrEnum):
    """The kinds of objects that an event can be about."""

    TRANSFER = "transfer"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    ACCOUNT = "account"


class SubjectOfEvent(msgspec.Struct, frozen=True, gc=False):
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


Kind = TypeVar("Kind", bound=msgspec.Struct)


class EntryRow(msgspec.Struct, frozen=True, gc=False):
    """A row of one program that a log entry gives; a row without an id is known by its place in the log."""

    tenant_id: str
    program_id: str
    shard: int
    offset: int


class ObjectRow(msgspec.Struct, frozen=True, gc=False):
    """One version of an object of a program; the one with the highest offset is the newest."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int


def copied(kind: type[Kind], source: object, /, *first: Any, **others: Any) -> Kind:
    """A Struct with its first fields and those by name as given, and the rest as ``source`` has them."""
    rest = kind.__struct_fields__[len(first) :]
    return kind(*first, **{name: getattr(source, name) for name in rest if name not in others}, **others)


class ChainFactRow(msgspec.Struct, frozen=True, gc=False):
    """One fact for the record: the writer links it to its tenant's chain (``store/record``) as it commits.

    ``chain`` is dispositions or actions; ``body`` is the fact's canonical JSON (``features/core/canonical.py``).
    """

    tenant_id: str
    program_id: str
    chain: str
    id: str
    shard: int
    offset: int
    body: str
    created_at: int


Emit = Callable[[msgspec.Struct], None]
"""Takes one row. Rows are emitted one by one, in the order in which they are committed."""


def no_rows(_: msgspec.Struct) -> None:
    """The ``Emit`` of an entry with committed rows: rows that are built for many entries are not built for it."""
