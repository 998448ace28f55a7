"""Rows of the parties of transfers: entities, counterparties, bank accounts and programs.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

from typing import Annotated

import msgspec

from clearhold.features.core.words import about


class EntityRow(msgspec.Struct, frozen=True, gc=False):
    """One version of an entity. Tuples are JSON text; ``raw`` is JSON text without account numbers."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
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


class CounterpartyRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a counterparty."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    name: str | None
    routing_number: str | None
    account_last4: str | None
    country_code: str | None
    raw: str | None  # None when this version came without the bank's object: from a transfer that embeds none
    first_seen_at: int  # of the first transfer with it; before that of the first event on it
    updated_at: int
    earlier_accounts: str | None  # JSON of ``EarlierAccount``, the oldest first; None without one


class AccountRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a bank account. ``owner_told_by`` is the source of the owner: bank, or an operator; else None."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
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
