"""Reads dispositions and actions with their links, whose hashes are the record's.

Errors  none; an unknown disposition or action is None
"""

from collections.abc import Iterator, Sequence
from typing import Final

import duckdb
import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.features.core.entries.actions import ActionStatus
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import ActionRow, DispositionRow
from clearhold.store.duck.committed_rows import CommittedRows, Place, Timeline
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import TEXTS, Predicate, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

MOST_OF_ONE_ALERT: Final = 1_000

_TABLE: Final = Timeline("dispositions", DispositionRow, at="created_at")
_LINKS: Final = f"""
    SELECT id, prev_hash, hash FROM record_chain
    WHERE tenant_id = ? AND chain = ? AND "offset" BETWEEN ? AND ? AND id IN {TEXTS}"""


class DispositionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    alert_ids: tuple[str, ...] | None = None
    decisions: tuple[str, ...] | None = None
    decided_by: tuple[str, ...] | None = None
    overturned: bool | None = None
    created_from: int | None = None
    created_to: int | None = None


class StoredDisposition(msgspec.Struct, frozen=True, kw_only=True):
    """A disposition and its link in the tenant's chain."""

    row: DispositionRow
    prev_hash: str | None
    hash: str


class Dispositions(CommittedRows):
    def find(self, principal: Principal, disposition_id: str) -> StoredDisposition | None:
        """ForbiddenError when the tenant has it on a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            row = _TABLE.find(cursor, principal, disposition_id)
            return None if row is None else _linked(cursor, principal, [row])[0]

    def of_alert(self, principal: Principal, alert_id: str) -> list[StoredDisposition]:
        """The decisions on one alert, in log order."""
        decisions = self.list_page(principal, DispositionFilter(alert_ids=(alert_id,)), None, MOST_OF_ONE_ALERT)
        return sorted(decisions, key=lambda stored: stored.row.offset)

    def list_page(
        self, principal: Principal, wanted: DispositionFilter, after: Place | None, limit: int
    ) -> list[StoredDisposition]:
        with self._connection.cursor() as cursor:
            rows = _TABLE.page(cursor, principal, _predicate(principal, wanted), after, limit)
            return _linked(cursor, principal, rows)

    def export(self, principal: Principal, wanted: DispositionFilter, batch: int) -> Iterator[list[StoredDisposition]]:
        """All of them in the order of pages, in the state at the first batch."""
        with self._connection.cursor() as cursor:
            for rows in _TABLE.export(self._connection, principal, _predicate(principal, wanted), batch):
                yield _linked(cursor, principal, rows)


def _predicate(principal: Principal, wanted: DispositionFilter) -> Predicate:
    predicate = Predicate(principal)
    predicate.among("program_id", wanted.program_ids)
    predicate.among("alert_id", wanted.alert_ids)
    predicate.among("decision", wanted.decisions)
    predicate.among("decided_by", wanted.decided_by)
    if wanted.overturned is not None:
        predicate.add("coalesce(overturns_draft, false) = ?", wanted.overturned)
    predicate.between("created_at", wanted.created_from, wanted.created_to)
    return predicate


def _linked(
    cursor: duckdb.DuckDBPyConnection, principal: Principal, rows: Sequence[DispositionRow]
) -> list[StoredDisposition]:
    if not rows:
        return []
    offsets = [row.offset for row in rows]
    values = [principal.tenant_id, Chain.DISPOSITIONS, min(offsets), max(offsets), listed([row.id for row in rows])]
    links = {link[0]: link[1:] for link in cursor.execute(_LINKS, values).fetchall()}
    return [StoredDisposition(row=row, prev_hash=links[row.id][0], hash=links[row.id][1]) for row in rows]


_ACTIONS: Final = Timeline("actions", ActionRow, at="created_at")
_ROW: Final = row_builder(ActionRow)
# A request's link has the id and the time of its action.
_ACTION_LINKS: Final = f"""
    SELECT id, prev_hash, hash FROM record_chain
    WHERE tenant_id = ? AND chain = ? AND created_at BETWEEN make_timestamp(?) AND make_timestamp(?)
    AND id IN {TEXTS}"""
# The text is a JSON list of ids, which ``list_has_any`` would decode for each row.
_RELEASED: Final = f"""(released_alert_ids IS NOT NULL AND EXISTS (
    SELECT 1 FROM {TEXTS} AS wanted(id) WHERE contains(released_alert_ids, wanted.id)))"""
_READ: Final = f"""
    SELECT {select_list(ActionRow)} FROM actions WHERE tenant_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1"""
_IN_STATUS: Final = """
    SELECT tenant_id, id FROM actions GROUP BY tenant_id, id HAVING arg_max(status, "offset") = ?
    QUALIFY row_number() OVER (PARTITION BY tenant_id ORDER BY min(created_at), id) <= ?"""


class ActionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    alert_ids: tuple[str, ...] | None = None
    statuses: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    created_from: int | None = None
    created_to: int | None = None


class StoredAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action and the link of its request on the tenant's chain."""

    row: ActionRow
    prev_hash: str | None
    hash: str


class Actions(CommittedRows):
    def find(self, principal: Principal, action_id: str) -> StoredAction | None:
        """ForbiddenError when the tenant has it on a program, or as a whole, out of the principal's reach."""
        with self._connection.cursor() as cursor:
            row = _ACTIONS.find(cursor, principal, action_id)
            return None if row is None else _linked_actions(cursor, principal, [row])[0]

    def of_alert(self, principal: Principal, alert_id: str) -> list[StoredAction]:
        """The actions that name one alert or released it, in the order of their requests."""
        actions = self.list_page(principal, ActionFilter(alert_ids=(alert_id,)), None, MOST_OF_ONE_ALERT)
        return sorted(actions, key=lambda stored: (stored.row.created_at, stored.row.id))

    def list_page(
        self, principal: Principal, wanted: ActionFilter, after: Place | None, limit: int
    ) -> list[StoredAction]:
        with self._connection.cursor() as cursor:
            rows = _ACTIONS.page(cursor, principal, _predicate_of_actions(principal, wanted), after, limit)
            return _linked_actions(cursor, principal, rows)


class ActionTable(CommittedRows):
    """The newest rows of all tenants' actions, for their execution."""

    def read(self, tenant_id: str, action_id: str) -> ActionRow | None:
        values = self._first(_READ, [tenant_id, action_id])
        return None if values is None else _ROW(values)

    def approved(self, limit: int) -> list[tuple[str, str]]:
        """Tenant and id of approved actions without an outcome, the oldest of each tenant."""
        with self._connection.cursor() as cursor:
            return cursor.execute(_IN_STATUS, [ActionStatus.APPROVED.value, limit]).fetchall()


def _predicate_of_actions(principal: Principal, wanted: ActionFilter) -> Predicate:
    predicate = Predicate(principal)
    predicate.among("program_id", wanted.program_ids)
    if wanted.alert_ids is not None:
        ids = listed(wanted.alert_ids)
        predicate.add(f"(alert_id IN {TEXTS} OR {_RELEASED})", ids, ids)
    predicate.among("status", wanted.statuses)
    predicate.among("type", wanted.types)
    predicate.between("created_at", wanted.created_from, wanted.created_to)
    return predicate


def _linked_actions(
    cursor: duckdb.DuckDBPyConnection, principal: Principal, rows: Sequence[ActionRow]
) -> list[StoredAction]:
    if not rows:
        return []
    times = [row.created_at for row in rows]
    values = [principal.tenant_id, Chain.ACTIONS, min(times), max(times), listed([row.id for row in rows])]
    links = {link[0]: link[1:] for link in cursor.execute(_ACTION_LINKS, values).fetchall()}
    return [StoredAction(row=row, prev_hash=links[row.id][0], hash=links[row.id][1]) for row in rows]
