"""Rows of the progress of backfills.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec


class BackfillRow(msgspec.Struct, frozen=True, gc=False):
    """The progress of a backfill after one of its log entries; it resumes from its newest row.

    The fields are those of ``clearhold.features.core.entries.backfill.Progress``.
    """

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    subjects: str  # transfers or actors
    stage: str  # started, running or done
    feature_version: str
    score_version: str
    started_offset: int
    replaying: bool
    position: int
    total: int
    done: int
    changed: int
    actors: int
    counterparties: int
    updated_at: int
