"""Reading labels: what people, returns and others say a transfer turned out to be. The last one of a transfer counts.

Errors  none of its own; a label that is not there is None
"""

from collections import Counter
from typing import Final

import duckdb
import msgspec

from features.core.principal import Principal
from features.core.rows.alerts import LabelRow
from store.duck.timeline import Place, Timeline
from store.tables.predicate import Predicate

_TABLE: Final = Timeline("labels", LabelRow, at="created_at")
_GRADED: Final = """
    SELECT asked.decision, said.label, count(*) FROM (
        SELECT program_id, id, arg_max(decision, "offset") AS decision FROM preflights WHERE {asked}
        GROUP BY program_id, id
    ) AS asked
    JOIN preflight_matches AS landed
        ON landed.tenant_id = ? AND landed.program_id = asked.program_id AND landed.preflight_id = asked.id
    JOIN (
        SELECT program_id, transfer_id, arg_max(label, "offset") AS label FROM labels WHERE {said}
        GROUP BY program_id, transfer_id
    ) AS said ON said.program_id = landed.program_id AND said.transfer_id = landed.transfer_id
    GROUP BY ALL"""


class LabelFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What a list is narrowed to. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    transfer_ids: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    created_from: int | None = None
    created_to: int | None = None


class Labels:
    """Reads what has been committed. Whoever wires it opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def find(self, principal: Principal, label_id: str) -> LabelRow | None:
        """ForbiddenError when the tenant has it on a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _TABLE.find(cursor, principal, label_id)

    def list_page(self, principal: Principal, wanted: LabelFilter, after: Place | None, limit: int) -> list[LabelRow]:
        predicate = Predicate(principal)
        predicate.among("program_id", wanted.program_ids)
        predicate.among("transfer_id", wanted.transfer_ids)
        predicate.among("label", wanted.labels)
        predicate.between("created_at", wanted.created_from, wanted.created_to)
        with self._connection.cursor() as cursor:
            return _TABLE.page(cursor, principal, predicate, after, limit)

    def graded(self, principal: Principal, *, asked_from: int) -> Counter[tuple[str, str]]:
        """How many pre-flights of each decision landed as a transfer whose label in force is which."""
        asked, said = Predicate(principal), Predicate(principal)
        asked.between("created_at", asked_from, None)
        sql = _GRADED.format(asked=asked.sql, said=said.sql)
        with self._connection.cursor() as cursor:
            found = cursor.execute(sql, [*asked.values, principal.tenant_id, *said.values]).fetchall()
        return Counter({(decision, label): count for decision, label, count in found})
