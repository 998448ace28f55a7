"""One entry of the ingest log: the only input for a fact that can change a score.

Offsets are integers that grow within a shard, from 1 on: Redis's ``milliseconds-sequence`` as ``milliseconds << 20 |
sequence``. Only the log that gave an offset reads more from it than its order.
"""

from enum import StrEnum
from hashlib import blake2b

import msgspec


class EntryKind(StrEnum):
    """The kind of an entry. ``features/shard/appliers.py`` has the decoder and the applier of each kind."""

    BANK = "bank"  # body: the webhook's raw bytes, as signed
    PREFLIGHT = "preflight"  # body: JSON of a features.core.entries.preflight.PreflightRecord
    PROGRAM = "program"  # body: JSON of a features.core.program.Program, whole, at creation and at each change
    TICK = "tick"  # body: empty; a minute has passed
    DECISION = "decision"  # body: JSON of a features.core.entries.commands.DecisionEntry
    APPEAL = "appeal"  # body: JSON of a features.core.entries.commands.AppealEntry
    LABEL = "label"  # body: JSON of a features.core.entries.commands.LabelEntry
    OWNER = "owner"  # body: JSON of a features.core.entries.commands.OwnerEntry
    DIRECTORY = "directory"  # body: JSON of a features.core.entries.directory.DirectoryEntry
    ACTION = "action"  # body: JSON of a features.core.entries.actions.ActionEntry
    APPROVAL = "approval"  # body: JSON of a features.core.entries.actions.ApprovalEntry
    OUTCOME = "outcome"  # body: JSON of a features.core.entries.actions.OutcomeEntry
    POLICY = "policy"  # body: JSON of a features.core.entries.policies.PolicyEntry
    SNAPSHOT = "snapshot"  # body: JSON of a features.core.entries.kris.SnapshotEntry
    LOSS = "loss"  # body: JSON of a features.core.entries.loss.LossEntry
    AGENT_IMPORT = "agent_import"  # body: JSON of a features.core.entries.agents.AgentImportEntry
    AGENT = "agent"  # body: an item of the scan index as received, as the next two
    PROFILE = "profile"
    SETTLEMENT = "settlement"
    BACKFILL = "backfill"  # body: JSON of a features.core.entries.backfill.BackfillStep


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry as the log hands it to a shard. ``appended_at`` is microseconds, set by the appender."""

    shard: int
    offset: int
    kind: str
    program_id: str
    appended_at: int
    body: bytes


class EntryPosition(msgspec.Struct, frozen=True, gc=False):
    """An entry's place in the log and its instants."""

    shard: int
    offset: int
    event_at: int  # see ``event_time``
    appended_at: int


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
