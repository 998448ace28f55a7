"""The actor of a report, with the conditions that find its transfers and alerts.

How     An entity's transfers include those of its accounts that were stored while the owner was unknown. The accounts
        are looked up first: a condition on a few values costs a tenth of one on another table.
Errors  none
"""

from typing import Final, NamedTuple

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.store.duck.account_owners import FIRST_OWNERS
from clearhold.store.tables.predicate import placeholders

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_ACCOUNTS: Final = f"""
    SELECT account_id FROM ({FIRST_OWNERS.format(matching="tenant_id = ? AND program_id = ?")}) WHERE owner_id = ?"""
_COUNTERPARTY: Final = "counterparty"


class ReportedActor(NamedTuple):
    """``type`` is entity, agent or counterparty."""

    program_id: str
    type: str
    id: str
    account_ids: tuple[str, ...]

    @property
    def transfers(self) -> tuple[str, list[str]]:
        """The condition of its transfers, and its values."""
        if self.type == _COUNTERPARTY:
            return "counterparty_id = ?", [self.id]
        if not self.account_ids:
            return "entity_id = ?", [self.id]
        of_accounts = f"entity_id IS NULL AND account_id IN {placeholders(self.account_ids)}"
        return f"(entity_id = ? OR ({of_accounts}))", [self.id, *self.account_ids]

    @property
    def alerts(self) -> tuple[str, list[str]]:
        """The condition of the alerts on it, on its accounts and on its transfers in its program, and its values."""
        condition, ids = self.transfers
        subject = _COUNTERPARTY if self.type == _COUNTERPARTY else "entity"
        of_transfers = f"""subject_type = 'transfer' AND program_id = ? AND subject_id IN (
            SELECT transfers.id FROM transfers WHERE program_id = ? AND {condition})"""
        sql = f"(subject_type = '{subject}' AND subject_id = ?) OR ({of_transfers})"
        values = [self.id, self.program_id, self.program_id, *ids]
        if self.account_ids:
            sql += f" OR (subject_type = 'account' AND subject_id IN {placeholders(self.account_ids)})"
            values += self.account_ids
        return f"({sql})", values


class ReportActors:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def find(self, principal: Principal, program_id: str, kind: str, actor_id: str) -> ReportedActor:
        """The actor with the accounts whose first owner it is."""
        if kind == _COUNTERPARTY:
            return ReportedActor(program_id, kind, actor_id, ())
        values = [principal.tenant_id, program_id, actor_id]
        with self._connection.cursor() as cursor:
            accounts = cursor.execute(_ACCOUNTS, values).fetchall()
        return ReportedActor(program_id, kind, actor_id, tuple(sorted(account_id for (account_id,) in accounts)))
