"""Rows of KRI snapshots. Field order is column order. Instants are microseconds since the epoch."""

import msgspec


class KriSnapshotRow(msgspec.Struct, frozen=True, gc=False):
    """All indicators of a program as of one instant, with the program's score. ``cause`` is a ``SnapshotCause``."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    cause: str
    as_of_at: int
    window_days: int
    kris: str  # JSON: KriValue by name
    program_score: int | None
    program_score_n: int
    program_score_version: str
    band: str
    created_at: int
