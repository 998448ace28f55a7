"""Reads recorded pre-flights, the transfers that landed for them, and counts of both.

Errors  none; an unknown pre-flight is None
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.principal import Principal
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.schema import LABEL_ORDER
from clearhold.store.tables.predicate import Predicate

# An unconfirmed append may have left a second record; the newer one was answered.
_FIND: Final = 'SELECT body FROM preflights WHERE tenant_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1'
_MATCHED: Final = """
    SELECT transfer_id FROM preflight_matches WHERE tenant_id = ? AND preflight_id = ? ORDER BY "offset" LIMIT 1"""
# The id of a repeatable pre-flight follows from its key (version 5), any other is random (version 4).
_REPEATABLE: Final = "SELECT id FROM preflights WHERE substr(id, 15, 1) = '5'"
_RECORD: Final = msgspec.json.Decoder(PreflightRecord)
# A pre-flight counts once, with its answer; its grade is the newest label of the transfer that landed for it.
_COUNTS: Final = """
    WITH answers AS MATERIALIZED (
        SELECT program_id, id, decision = 'hold' AS held, decision, degraded, latency_ms FROM preflights
        WHERE {within} AND created_at >= make_timestamp(?)
        QUALIFY row_number() OVER (PARTITION BY program_id, id ORDER BY "offset" DESC) = 1
    ), landed AS (
        SELECT program_id, preflight_id AS id, arg_min(transfer_id, "offset") AS transfer_id FROM preflight_matches
        WHERE {within} AND (program_id, preflight_id) IN (SELECT (program_id, id) FROM answers) GROUP BY ALL
    ), verdicts AS (
        SELECT program_id, transfer_id, arg_max(label, {order}) AS label FROM labels WHERE {within} GROUP BY ALL
    )
    SELECT
        count(*),
        count(*) FILTER (decision = 'clear'), count(*) FILTER (decision = 'review'), count(*) FILTER (held),
        count(*) FILTER (degraded), count(transfer_id),
        quantile_cont(latency_ms, 0.5), quantile_cont(latency_ms, 0.9),
        count(*) FILTER (held AND label = 'bad'), count(*) FILTER (held AND label = 'ok'),
        count(*) FILTER (NOT held AND label = 'bad'), count(*) FILTER (NOT held AND label = 'ok')
    FROM answers LEFT JOIN landed USING (program_id, id) LEFT JOIN verdicts USING (program_id, transfer_id)"""


class PreflightCounts(NamedTuple):
    """The number of pre-flights, by decision and by the label of their transfers.

    The two latencies are None without a pre-flight. ``hold_bad`` to ``other_ok`` are those with a labelled transfer.
    """

    total: int
    clear: int
    review: int
    hold: int
    degraded: int
    matched: int
    latency_ms_p50: float | None
    latency_ms_p90: float | None
    hold_bad: int
    hold_ok: int
    other_bad: int
    other_ok: int


class Preflights(CommittedRows):
    def find(self, principal: Principal, preflight_id: str) -> PreflightRecord | None:
        """ForbiddenError when the tenant has it on a program out of the principal's reach."""
        body = self._text(_FIND, principal.tenant_id, preflight_id)
        if body is None:
            return None
        record = _RECORD.decode(body)
        principal.require_program(record.answer.program_id)
        return record

    def matched_transfer_id(self, principal: Principal, preflight_id: str) -> str | None:
        """The transfer that landed for it, if any."""
        return self._text(_MATCHED, principal.tenant_id, preflight_id)

    def counts(self, principal: Principal, program_ids: Sequence[str] | None, *, since: int) -> PreflightCounts:
        """Over pre-flights since an instant, of these programs; None is all that the principal reaches."""
        within = Predicate(principal)
        within.of_programs(program_ids)
        values = [*within.values, since, *within.values, *within.values]
        (counts,) = self._read(_COUNTS.format(within=within.sql, order=LABEL_ORDER), values)
        return PreflightCounts(*counts)

    def _text(self, sql: str, tenant_id: str, preflight_id: str) -> str | None:
        row = self._first(sql, [tenant_id, preflight_id])
        return None if row is None else str(row[0])


def idempotent_ids(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The ids of all pre-flights with an idempotency key of either kind; read once, at start."""
    with connection.cursor() as cursor:
        return [preflight_id for (preflight_id,) in cursor.execute(_REPEATABLE).fetchall()]
