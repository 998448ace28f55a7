"""Rows of bank events received, and of log entries that could not be applied.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec


class EventRow(msgspec.Struct, frozen=True, gc=False):
    """One bank event received.

    ``result`` is applied; stale (an older snapshot); duplicate or conflicting (an earlier event has the id, with the
    same or another body); stored (a known family without a transfer); waiting (a decided dispute of a transfer that is
    not known yet); unusable (odd data); or unknown (an unknown family).
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    event_id: str
    type: str
    family: str
    created_at: int
    appended_at: int
    result: str
    body_crc32: int


class QuarantineRow(msgspec.Struct, frozen=True, gc=False):
    """An entry that could not be applied; its bytes stay in the log at this offset."""

    program_id: str
    shard: int
    offset: int
    kind: str
    appended_at: int
    error: str
