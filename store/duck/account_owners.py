"""First owners of accounts, for transfers that were stored while the owner was not known.

A transfer that lands later is stored with its entity, so an older one needs the account's first owner, not its newest.
Accounts are few beside transfers, and their table has a row for each statement of an owner; stored rows do not change.

Errors  none; an account without an owner is left out
"""

from collections.abc import Sequence
from typing import Final

import duckdb
from msgspec import structs

from clearhold.features.core.rows.transfers import TransferRow
from clearhold.store.tables.predicate import TEXTS, listed, placeholders

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
FIRST_OWNERS: Final = """
    SELECT tenant_id, program_id, id AS account_id, arg_min(entity_id, "offset") AS owner_id FROM accounts
    WHERE entity_id IS NOT NULL AND {matching} GROUP BY tenant_id, program_id, id"""
_OF_ACCOUNTS: Final = f"""
    SELECT program_id, account_id, owner_id FROM ({FIRST_OWNERS.format(matching=f"tenant_id = ? AND id IN {TEXTS}")})"""


def acting_for(entity_ids: Sequence[str]) -> tuple[str, list[str]]:
    """The condition for transfers of these entities, as stored or by the owner of the account."""
    among = f"IN {placeholders(entity_ids)}"
    owners = FIRST_OWNERS.format(matching="true")
    accounts = f"SELECT tenant_id, program_id, account_id FROM ({owners}) WHERE owner_id {among}"
    sql = f"(entity_id {among} OR (entity_id IS NULL AND (tenant_id, program_id, account_id) IN ({accounts})))"
    return sql, [*entity_ids, *entity_ids]


def with_owners(cursor: duckdb.DuckDBPyConnection, tenant_id: str, rows: Sequence[TransferRow]) -> list[TransferRow]:
    """The rows, in order, with the first owner of the account where no entity is stored."""
    accounts = sorted({row.account_id for row in rows if row.entity_id is None and row.account_id is not None})
    if not accounts:
        return [*rows]
    tuples = cursor.execute(_OF_ACCOUNTS, [tenant_id, listed(accounts)]).fetchall()
    owners = {(program_id, account_id): owner_id for program_id, account_id, owner_id in tuples}
    return [
        structs.replace(row, entity_id=owners[row.program_id, row.account_id])
        if row.entity_id is None and (row.program_id, row.account_id) in owners
        else row
        for row in rows
    ]
