"""Reads dispositions with their links, whose hashes are the record's.

Errors  none; an unknown disposition is None
"""

from collections.abc import Iterator, Sequence
from typing import Final

import duckdb
import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import DispositionRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.timeline import Place, Timeline
from clearhold.store.tables.predicate import TEXTS, Predicate, listed

MOST_OF_ONE_ALERT: Final = 1_000

_TABLE: Final = Timeline("dispositions", DispositionRow, at="created_at")
# ruff: noqa: S608 - statements are built from constants; every value is a parameter
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
