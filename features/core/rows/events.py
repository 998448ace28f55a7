"""Rows of bank events received, and of log entries that could not be applied.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec


class EventRow(msgspec.Struct, frozen=True, gc=False):
    """One delivery of a bank event.

    ``result`` is an ``EventResult``; ``reason`` a sentence on it, and ``path`` the field that the sentence is about.
    ``subject_type`` and ``subject_id`` name the object of the event. ``is_correction`` is true when events under this
    id came before without effect.
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
    subject_type: str | None
    subject_id: str | None
    reason: str | None
    path: str | None
    is_correction: bool


class QuarantineRow(msgspec.Struct, frozen=True, gc=False):
    """An entry that could not be applied; its bytes stay in the log at this offset."""

    program_id: str
    shard: int
    offset: int
    kind: str
    appended_at: int
    error: str
