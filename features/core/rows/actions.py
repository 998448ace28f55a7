"""Rows of actions and of the progress of backfills.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec


class ActionRow(msgspec.Struct, frozen=True, gc=False):
    """One version of an action; the one with the highest offset is the newest. Its hashes are in the record's chain.

    ``program_id`` is the tenant's id for an action on the whole tenant. ``change`` and ``bank_response`` are JSON.
    ``released_alert_ids`` is a JSON list of the alerts whose hold it ended, None without.
    """

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    alert_id: str | None
    type: str
    target_type: str
    target_id: str
    requested_by: str
    approved_by: str | None
    status: str
    change: str | None
    bank_response: str | None
    error: str | None
    executed_at: int | None
    created_at: int
    updated_at: int
    released_alert_ids: str | None
    requested_identity: str | None = None  # of an OperatorIdentity
    approved_identity: str | None = None  # as above


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
