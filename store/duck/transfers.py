"""Reads transfers: one by its id, or a page of the newest, the newest version of each; and first owners of accounts.

Owner   A transfer that lands once its account's owner is known is stored with its entity, so an older one needs the
        account's first owner, not its newest. Accounts are few beside transfers, and their table has a row for each
        statement of an owner; stored rows do not change
Errors  none; an unknown transfer is None, and an account without an owner is left out
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import TransferRow
from clearhold.store.duck.committed_rows import RowFilter, Timeline, programs_sql
from clearhold.store.tables import NUMBERS, TEXTS, Predicate, listed, placeholders, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

FIRST_OWNERS: Final = """
    SELECT tenant_id, program_id, id AS account_id, arg_min(entity_id, "offset") AS owner_id FROM accounts
    WHERE entity_id IS NOT NULL AND {matching} GROUP BY tenant_id, program_id, id"""
_OF_ACCOUNTS: Final = f"""
    SELECT program_id, account_id, owner_id FROM ({FIRST_OWNERS.format(matching=f"tenant_id = ? AND id IN {TEXTS}")})"""


def acting_for(entity_ids: Sequence[str]) -> tuple[str, list[str]]:
    """The condition for transfers of these entities, as stored or by the owner of the account."""
    if not entity_ids:
        return "false", []
    among = f"IN {placeholders(entity_ids)}"
    owners = FIRST_OWNERS.format(matching="true")
    accounts = f"SELECT tenant_id, program_id, account_id FROM ({owners}) WHERE owner_id {among}"
    sql = f"(entity_id {among} OR (entity_id IS NULL AND (tenant_id, program_id, account_id) IN ({accounts})))"
    return sql, [*entity_ids, *entity_ids]


_Read = Callable[[str, list[Any]], list[Any]]


def with_owners(read: _Read, tenant_id: str, rows: Sequence[TransferRow]) -> list[TransferRow]:
    """The rows, in order, with the first owner of the account where no entity is stored."""
    accounts = sorted({row.account_id for row in rows if row.entity_id is None and row.account_id is not None})
    if not accounts:
        return [*rows]
    tuples = read(_OF_ACCOUNTS, [tenant_id, listed(accounts)])
    owners = {(program_id, account_id): owner_id for program_id, account_id, owner_id in tuples}
    return [
        structs.replace(row, entity_id=owners[row.program_id, row.account_id])
        if row.entity_id is None and (row.program_id, row.account_id) in owners
        else row
        for row in rows
    ]


Place = tuple[int, str, str]
"""Where a page ended: bank_created_at, id and program id of its last transfer."""

_FEATURES: Final = row_builder(TransferFeaturesRow)

_FIND: Final = f"""
    SELECT {select_list(TransferRow)} FROM transfers
    WHERE tenant_id = ? AND id = ? {{programs}} ORDER BY {{first}} "offset" DESC LIMIT 1"""
_FIND_FEATURES: Final = f"""
    SELECT {select_list(TransferFeaturesRow)} FROM transfer_features
    WHERE tenant_id = ? AND "offset" IN {{offsets}} AND transfer_id IN {TEXTS}"""
_PROGRAMS_OF: Final = "SELECT DISTINCT program_id FROM transfers WHERE {matching} ORDER BY program_id"
_IDS_AT: Final = f"""
    SELECT "offset", id FROM transfers
    WHERE tenant_id = ? AND program_id = ? AND "offset" BETWEEN ? AND ? AND "offset" IN {NUMBERS}"""
_ALERTS_OF: Final = f"""
    SELECT program_id, transfer_number, alert_id FROM alert_transfers
    WHERE tenant_id = ? AND program_id IN {TEXTS} AND transfer_number IN {NUMBERS}
    GROUP BY ALL ORDER BY min("offset"), alert_id"""


class TransferFilter(RowFilter, frozen=True, kw_only=True):
    bands: tuple[str, ...] | None = msgspec.field(default=None, name="band")
    entity_ids: tuple[str, ...] | None = msgspec.field(default=None, name="entityId")
    counterparty_ids: tuple[str, ...] | None = msgspec.field(default=None, name="counterpartyId")
    account_ids: tuple[str, ...] | None = msgspec.field(default=None, name="accountId")
    rails: tuple[str, ...] | None = msgspec.field(default=None, name="rail")
    directions: tuple[str, ...] | None = msgspec.field(default=None, name="direction")
    statuses: tuple[str, ...] | None = msgspec.field(default=None, name="status")
    amount_from: str | None = msgspec.field(default=None, name="amountFrom")
    amount_to: str | None = msgspec.field(default=None, name="amountTo")
    created_from: int | None = msgspec.field(default=None, name="from")
    created_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("score_band", self.bands)
        if self.entity_ids is not None:
            sql, values = acting_for(self.entity_ids)
            predicate.add(sql, *values)
        predicate.among("counterparty_id", self.counterparty_ids)
        predicate.among("account_id", self.account_ids)
        predicate.among("rail", self.rails)
        predicate.among("direction", self.directions)
        predicate.among("status", self.statuses and tuple(status.upper() for status in self.statuses))
        if self.amount_from is not None:
            predicate.add("amount_cents >= ?", int(self.amount_from))
        if self.amount_to is not None:
            predicate.add("amount_cents <= ?", int(self.amount_to))
        predicate.between("bank_created_at", self.created_from, self.created_to)
        return predicate


class NamedTransfers(RowFilter, frozen=True, kw_only=True):
    """Of one list by id, which no route has."""

    ids: tuple[str, ...]

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("id", self.ids)
        return predicate


class StoredTransferRow(msgspec.Struct, frozen=True, kw_only=True):
    """The newest version, the inputs of its score, once it was scored, and the alerts on it, oldest first."""

    row: TransferRow
    features: TransferFeaturesRow | None
    alert_ids: tuple[str, ...]


class Transfers(
    Timeline[TransferRow, StoredTransferRow],
    table="transfers",
    row_type=TransferRow,
    at="bank_created_at",
    by=("id", "program_id"),
):
    """An id is unique within a program."""

    def find(
        self, principal: Principal, row_id: str, program_ids: Sequence[str] | None = None
    ) -> StoredTransferRow | None:
        """The transfer of that id, in any of the programs (None: of the tenant's).

        Within the principal's reach if there is one; ForbiddenError when the tenant has it only outside a key's mode.
        """
        if program_ids is not None and not program_ids:
            return None
        reach = sorted(principal.program_ids or ())
        first = f"program_id IN {placeholders(reach)} DESC," if reach else ""
        values = [principal.tenant_id, row_id, *(program_ids or ()), *reach]
        selected = self._first(_FIND.format(programs=programs_sql(program_ids), first=first), values)
        if selected is None:
            return None
        row = self._row(selected)
        return self._stored(principal, [row])[0] if principal.finds(row.program_id) else None

    def programs_of(self, principal: Principal, transfer_id: str) -> list[str]:
        """The programs within the principal's reach that have a transfer of that id."""
        predicate = Predicate(principal)
        predicate.add("id = ?", transfer_id)
        tuples = self._read(_PROGRAMS_OF.format(matching=predicate.sql), predicate.values)
        return [program_id for (program_id,) in tuples]

    def paths(self, principal: Principal, features: TransferFeaturesRow) -> dict[str, list[str]]:
        """The transfers of a scoring's paths, by the path's name."""
        offsets: dict[str, list[int]] = msgspec.json.decode(features.paths or "{}")
        every = [offset for path in offsets.values() for offset in path]
        values = [principal.tenant_id, features.program_id, min(every, default=0), max(every, default=0), listed(every)]
        ids = dict(self._read(_IDS_AT, values))
        return {name: [ids[offset] for offset in path] for name, path in offsets.items()}

    def _stored(self, principal: Principal, rows: list[TransferRow]) -> list[StoredTransferRow]:
        tenant_id = principal.tenant_id
        rows = with_owners(self._read, tenant_id, rows)
        features, alert_ids = _features_of(self._read, tenant_id, rows), _alert_ids_of(self._read, tenant_id, rows)
        return [
            StoredTransferRow(
                row=row,
                features=features.get((row.program_id, row.id, row.scored_offset or 0)),
                alert_ids=tuple(alert_ids.get((row.program_id, row.number), ())),
            )
            for row in rows
        ]


class BareTransfers(Transfers, table="transfers", row_type=TransferRow, at="bank_created_at", by=("id", "program_id")):
    """The same without features and alerts, which take most of the time of a page."""

    def _stored(self, principal: Principal, rows: list[TransferRow]) -> list[StoredTransferRow]:
        owned = with_owners(self._read, principal.tenant_id, rows)
        return [StoredTransferRow(row=row, features=None, alert_ids=()) for row in owned]


class ScoredTransfers(
    Transfers, table="transfers", row_type=TransferRow, at="bank_created_at", by=("id", "program_id")
):
    """The same with features and without owners and alerts, for an explanation."""

    def _stored(self, principal: Principal, rows: list[TransferRow]) -> list[StoredTransferRow]:
        features = _features_of(self._read, principal.tenant_id, rows)
        return [
            StoredTransferRow(
                row=row, features=features.get((row.program_id, row.id, row.scored_offset or 0)), alert_ids=()
            )
            for row in rows
        ]


def _features_of(
    read: _Read, tenant_id: str, rows: Sequence[TransferRow]
) -> dict[tuple[str, str, int], TransferFeaturesRow]:
    offsets = sorted({row.scored_offset for row in rows if row.scored_offset is not None})
    if not offsets:
        return {}
    ids = sorted({row.id for row in rows})
    sql = _FIND_FEATURES.format(offsets=placeholders(offsets))
    tuples = read(sql, [tenant_id, *offsets, listed(ids)])
    return {(row.program_id, row.transfer_id, row.offset): row for row in map(_FEATURES, tuples)}


def _alert_ids_of(read: _Read, tenant_id: str, rows: Sequence[TransferRow]) -> dict[tuple[str, int], list[str]]:
    """The alerts that are about these transfers or rest on them, oldest first."""
    programs, numbers = sorted({row.program_id for row in rows}), sorted({row.number for row in rows})
    alert_ids: dict[tuple[str, int], list[str]] = {}
    values = [tenant_id, listed(programs), listed(numbers)]
    for program_id, number, alert_id in read(_ALERTS_OF, values):
        alert_ids.setdefault((program_id, number), []).append(alert_id)
    return alert_ids
