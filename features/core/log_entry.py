"""One entry of the ingest log: the only way in for a fact that can change a score.

Offsets are integers that grow within a shard: the log's ``milliseconds-sequence`` as ``milliseconds << 20 | sequence``.
"""

from enum import StrEnum
from hashlib import blake2b

import msgspec


class EntryKind(StrEnum):
    BANK = "bank"  # body: the webhook's raw bytes, as signed
    PREFLIGHT = "preflight"  # body: JSON of a features.preflight.PreflightRecord
    PROGRAM = "program"  # body: JSON of a features.program.Program, whole, at creation and at each change
    TICK = "tick"  # body: empty; a minute has passed
    DECISION = "decision"  # body: JSON of a features.decisions.DecisionEntry
    APPEAL = "appeal"  # body: JSON of a features.decisions.AppealEntry
    LABEL = "label"  # body: JSON of a features.decisions.LabelEntry
    BACKFILL = "backfill"  # body: JSON of a features.backfill.BackfillStep


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """What the log hands to a shard. ``appended_at`` is the entry's time in microseconds, set by who appended it."""

    shard: int
    offset: int
    kind: str
    program_id: str
    appended_at: int
    body: bytes


def shard_of(program_id: str, shards: int) -> int:
    """The shard a program lives in, for good."""
    return int.from_bytes(blake2b(program_id.encode(), digest_size=8).digest(), "big") % shards
