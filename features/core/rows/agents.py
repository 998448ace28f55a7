"""Rows of on-chain agents and their imports. Field order is column order. Instants are microseconds since 1970."""

import msgspec


class AgentRow(msgspec.Struct, frozen=True, gc=False):
    """One version of the scan index's statements about an agent, beside its entity."""

    tenant_id: str
    program_id: str
    id: str  # of its entity
    shard: int
    offset: int
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


class AgentImportRow(msgspec.Struct, frozen=True, gc=False):
    """The beginning or the end of an import. New objects are counted between the two."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
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
