"""What the interface shows, held against what was signed: dispositions, alerts, and the scores of transfers.

Links and sealed bodies are the standard. A chain that holds says nothing of the tables beside it, and those are what
people look at.

Unit  a difference names the table, the id of the row, and the columns that are not what the record says
"""

from collections.abc import Iterator, Mapping
from typing import Final

import duckdb
import msgspec

from features.core.principal import Principal

MOST_DIFFERENCES: Final = 20
MISSING: Final = "missing"
"""In place of columns: the record has what the table lacks."""

UNRECORDED: Final = "unrecorded"
"""In place of columns: the table has what the record lacks."""

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter
_DISPOSITION_FIELDS: Final = {
    "alert_id": "alertId",
    "decided_by": "decidedBy",
    "decision": "decision",
    "narrative": "narrative",
    "narrative_model": "narrativeModel",
    "recommendation": "recommendation",
    "policy_version": "policyVersion",
    "alert_sha256": "alertSha256",
    "policy_sha256": "policySha256",
}
_ALERT_FIELDS: Final = {
    "detector": "detector",
    "subject_type": "subjectType",
    "subject_id": "subjectId",
    "transfer_id": "transferId",
    "band_at_alert": "bandAtAlert",
    "policy_version": "policyVersion",
    "dedupe_key": "dedupeKey",
    "appeal_of": "appealOf",
}
_SEVERITIES: Final = "['low', 'medium', 'high']"


def _same_texts(row: str, body: str, fields: Mapping[str, str]) -> dict[str, str]:
    return {
        column: f"{row}.{column} IS NOT DISTINCT FROM json_extract_string({body}, '$.{key}')"
        for column, key in fields.items()
    }


_SAME_DISPOSITION: Final = _same_texts("d", "r.body", _DISPOSITION_FIELDS) | {
    "program_id": "d.program_id = r.program_id",
    "overturns_draft": (
        "d.overturns_draft IS NOT DISTINCT FROM CAST(json_extract_string(r.body, '$.overturnsDraft') AS BOOLEAN)"
    ),
    "created_at": "epoch_ms(d.created_at) = epoch_ms(CAST(json_extract_string(r.body, '$.createdAt') AS TIMESTAMP))",
}
_SAME_ALERT: Final = _same_texts("a", "b.body", _ALERT_FIELDS) | {
    "score_at_alert": (
        "a.score_at_alert IS NOT DISTINCT FROM CAST(json_extract_string(b.body, '$.scoreAtAlert') AS BIGINT)"
    ),
    "opened_at": "epoch_ms(a.opened_at) = epoch_ms(CAST(json_extract_string(b.body, '$.openedAt') AS TIMESTAMP))",
    "severity": f"list_position({_SEVERITIES}, a.severity) >= "
    f"list_position({_SEVERITIES}, json_extract_string(b.body, '$.severity'))",
}


def _differing(same: Mapping[str, str]) -> str:
    """A list of the columns that are not the same."""
    columns = ", ".join(f"CASE WHEN {condition} THEN NULL ELSE '{column}' END" for column, condition in same.items())
    return f"list_filter([{columns}], lambda name: name IS NOT NULL)"


_DISPOSITIONS: Final = f"""
    SELECT coalesce(d.id, r.id), CASE
        WHEN r.id IS NULL THEN ['{UNRECORDED}'] WHEN d.id IS NULL THEN ['{MISSING}']
        ELSE {_differing(_SAME_DISPOSITION)} END AS columns
    FROM (SELECT * FROM dispositions WHERE tenant_id = $tenant) d
    FULL JOIN (SELECT * FROM record_chain WHERE tenant_id = $tenant AND chain = 'dispositions') r ON r.id = d.id
    WHERE len(columns) > 0 ORDER BY ALL
"""
# A decision leaves the alert in one status, and without one it still waits.
_STATUS: Final = """
    SELECT a.id, ['status'] FROM alerts_latest a LEFT JOIN (
        SELECT json_extract_string(body, '$.alertId') AS alert_id,
            arg_max(json_extract_string(body, '$.decision'), seq) AS decision,
            arg_max(json_extract_string(body, '$.decidedBy'), seq) AS decided_by
        FROM record_chain WHERE tenant_id = $tenant AND chain = 'dispositions' GROUP BY 1
    ) last ON last.alert_id = a.id
    WHERE a.tenant_id = $tenant AND NOT CASE
        WHEN last.decision IS NULL THEN a.status IN ('open', 'held')
        WHEN last.decision = 'hold' THEN a.status = 'held'
        WHEN last.decision = 'escalate' THEN a.status = 'escalated'
        WHEN last.decided_by LIKE 'policy:%' THEN a.status = 'auto_closed'
        ELSE a.status = 'closed' END
    ORDER BY ALL
"""
_ALERTS: Final = f"""
    SELECT a.id, CASE WHEN b.alert_id IS NULL THEN ['{UNRECORDED}'] ELSE {_differing(_SAME_ALERT)} END AS columns
    FROM alerts_latest a LEFT JOIN alert_bodies b
        ON b.tenant_id = a.tenant_id AND b.alert_id = a.id AND b.sha256 = a.alert_sha256
    WHERE a.tenant_id = $tenant AND len(columns) > 0 ORDER BY ALL
"""
_BODIES: Final = """
    SELECT alert_id, ['body'] FROM alert_bodies WHERE tenant_id = $tenant AND sha256(body) <> sha256 ORDER BY ALL
"""
# The score that a sealed body quotes is that of the transfer's newest version when the alert was opened.
_SCORES: Final = """
    SELECT transfer_id, ['score', 'score_band'] FROM (
        SELECT b.alert_id, json_extract_string(b.body, '$.transferId') AS transfer_id,
            {'score': CAST(json_extract_string(b.body, '$.scoreAtAlert') AS BIGINT),
             'band': json_extract_string(b.body, '$.bandAtAlert')} AS quoted,
            arg_max({'score': CAST(t.score AS BIGINT), 'band': t.score_band}, t."offset") AS stored
        FROM alert_bodies b JOIN transfers t ON t.tenant_id = b.tenant_id AND t.program_id = b.program_id
            AND t.id = json_extract_string(b.body, '$.transferId') AND t."offset" <= b."offset"
        WHERE b.tenant_id = $tenant GROUP BY ALL
    ) WHERE quoted.band IS NOT NULL AND stored IS DISTINCT FROM quoted ORDER BY ALL
"""
_CHECKS: Final = (
    ("dispositions", _DISPOSITIONS),
    ("alert_bodies", _BODIES),
    ("alerts", _STATUS),
    ("alerts", _ALERTS),
    ("transfers", _SCORES),
)
_COUNT: Final = """
    SELECT (SELECT count(*) FROM dispositions WHERE tenant_id = $tenant)
        + (SELECT count(*) FROM alerts_latest WHERE tenant_id = $tenant)
"""


class RowDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is not what the record says, and in which of its columns."""

    table: str
    id: str
    columns: tuple[str, ...]


class RowsCheck(msgspec.Struct, frozen=True, kw_only=True):
    """So many rows of dispositions and alerts were compared; the first of the differences."""

    checked: int
    differences: tuple[RowDifference, ...]


class ShownRows:
    """Reads what has been committed. Whoever wires it opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def check(self, principal: Principal) -> RowsCheck:
        """All rows of the principal's tenant that quote the record."""
        principal.require_tenant_wide()
        return self.check_of_tenant(principal.tenant_id)

    def check_of_tenant(self, tenant_id: str) -> RowsCheck:
        """As ``check``, for the service's own use."""
        with self._connection.cursor() as cursor:
            cursor.begin()  # one state of the tables for all of it: they go on growing
            (checked,) = cursor.execute(_COUNT, {"tenant": tenant_id}).fetchall()[0]
            differences = tuple(_differences(cursor, tenant_id))
            cursor.rollback()
        return RowsCheck(checked=checked, differences=differences)


def _differences(cursor: duckdb.DuckDBPyConnection, tenant_id: str) -> Iterator[RowDifference]:
    for table, query in _CHECKS:
        for id_, columns in cursor.execute(query, {"tenant": tenant_id}).fetchmany(MOST_DIFFERENCES):
            yield RowDifference(table=table, id=id_, columns=tuple(columns))
