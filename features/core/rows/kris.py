"""Rows of KRI snapshots and of daily metrics.

Field order is column order. Instants are microseconds since the epoch.
"""

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


class MetricsDayRow(msgspec.Struct, frozen=True, gc=False):
    """A program's totals over the days up to the end of one day, as known at the beginning of the next.

    ``day_at`` is the midnight at which the day began; ``totals`` is the JSON of ``DayTotals``, ``as_of_at`` when it was
    taken. There is one row a program and day.
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    day_at: int
    window_days: int
    totals: str
    as_of_at: int
