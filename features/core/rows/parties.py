"""Rows of the parties of transfers: entities, counterparties, bank accounts, on-chain agents and programs; of their
scores, and of a program's KRI snapshots and daily metrics.
"""

from typing import Annotated

import msgspec

from clearhold.features.core.log_entry import EntryRow, ObjectRow
from clearhold.features.core.vocabulary import about


class EntityRow(ObjectRow, frozen=True):
    """One version of an entity. Tuples are JSON text; ``raw`` is JSON text without account numbers."""

    type: str
    name: str
    verification_status: str
    is_high_risk: bool
    pep_status: str
    requires_screening: bool
    review_reasons: str
    last_screened_at: int | None
    country_code: str | None
    legal_type: str | None
    expected_payment_rails: str
    raw: str
    created_at: int
    updated_at: int


class EarlierAccount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An account that a counterparty had before the present one."""

    routing_number: Annotated[str | None, about("Routing number of its bank; null when unknown.")]
    account_last4: Annotated[str | None, about("Last four of the account number; null when unknown.")]


class CounterpartyRow(ObjectRow, frozen=True):
    """One version of a counterparty."""

    name: str | None
    routing_number: str | None
    account_last4: str | None
    country_code: str | None
    raw: str | None  # None when this version came without the bank's object: from a transfer that embeds none
    first_seen_at: int  # of the first transfer with it; before that of the first event on it
    updated_at: int
    earlier_accounts: str | None  # JSON of ``EarlierAccount``, the oldest first; None without one


class AccountRow(ObjectRow, frozen=True):
    """One version of a bank account. ``owner_told_by`` is the source of the owner: bank, or an operator; else None."""

    entity_id: str | None
    type: str | None
    status: str | None
    raw: str
    updated_at: int
    owner_told_by: str | None = None


class DirectoryRow(msgspec.Struct, frozen=True, gc=False):
    """One fetch from the bank's directory, with the kind and the result of ``features/core/entries/directory.py``."""

    tenant_id: str
    program_id: str
    kind: str
    id: str
    shard: int
    offset: int
    fetched_at: int
    result: str
    digest: str | None


class ProgramRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a program in the shard's log; ``body`` is the Program's JSON."""

    tenant_id: str
    id: str
    shard: int
    offset: int
    slug: str
    body: str
    updated_at: int


class AgentRow(ObjectRow, frozen=True):
    """One version of the scan index's statements about an agent, beside its entity."""

    name: str
    chain_id: int
    registry: str
    agent_id: str
    owner: str | None
    wallet: str | None
    verification_status: str
    screening_status: str | None
    last_screened_at: int | None
    registered_at: int | None
    updated_at: int


class AgentImportRow(ObjectRow, frozen=True):
    """The beginning or the end of an import. New objects are counted between the two."""

    stage: str
    agents: int
    profiles: int
    settlements_scanned: int
    transfers: int
    counterparties: int
    agent_counterparties: int
    skipped: str  # JSON: the number of items by reason
    read_until_at: int | None
    oldest_pending_at: int | None  # of the settlements that are not final
    reason: str | None
    updated_at: int


class ShadowScoreRow(msgspec.Struct, frozen=True, gc=False):
    """The score of a transfer by the card in shadow, beside the score in force, at each scoring of the stream."""

    tenant_id: str
    program_id: str
    transfer_id: str
    shard: int
    offset: int
    version: str
    score: int | None
    band: str
    champion_version: str
    champion_score: int | None
    champion_band: str
    bank_created_at: int
    scored_at: int  # when the entry was appended


class ScoreRow(msgspec.Struct, frozen=True, gc=False):
    """One score of an entity, counterparty, agent or program, written when it changed.

    A subject without a row is unscored, and so is one whose newest row has no score. The band changed where ``band``
    and ``former_band`` differ.
    """

    tenant_id: str
    program_id: str
    id: str
    subject_type: str
    subject_id: str
    shard: int
    offset: int
    version: str
    score: int | None
    band: str
    former_band: str  # of the subject's previous row; unscored without one
    n: int
    confidence: float | None
    hard: bool
    degraded: bool
    reasons: str  # JSON of Reason[]
    inputs: str  # JSON of the scorer's inputs
    scored_at: int  # the end of its windows: the entry's own time, never before the subject's last evaluation


class KriSnapshotRow(ObjectRow, frozen=True):
    """All indicators of a program as of one instant, with the program's score. ``cause`` is a ``SnapshotCause``."""

    cause: str
    as_of_at: int
    window_days: int
    kris: str  # JSON: KriValue by name
    program_score: int | None
    program_score_n: int
    program_score_version: str
    band: str
    created_at: int


class MetricsDayRow(EntryRow, frozen=True):
    """A program's totals over the days up to the end of one day, as known at the beginning of the next.

    ``day_at`` is the midnight at which the day began; ``totals`` is the JSON of ``DayTotals``, ``as_of_at`` when it was
    taken. There is one row a program and day.
    """

    day_at: int
    window_days: int
    totals: str
    as_of_at: int
