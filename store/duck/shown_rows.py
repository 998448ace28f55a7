"""Compares the rows that the interface shows with signed records: dispositions, alerts, actions, notes on alerts, and
transfers as the sealed bodies of alerts quote them.

Links and sealed bodies are the standard. An intact chain proves nothing about the tables beside it, and people read the
tables.

Unit  a difference names the table, the id of the row, and the columns that differ from the record
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import duckdb
import msgspec

from clearhold.features.core.canonical import ALERT_NOTE
from clearhold.features.core.entries.actions import ALWAYS_TWO_APPROVERS
from clearhold.features.core.principal import Principal
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables import camel_case

MOST_DIFFERENCES: Final = 20
MISSING: Final = "missing"
"""In place of columns: a row of the record is missing in the table."""

UNRECORDED: Final = "unrecorded"
"""In place of columns: a row of the table is missing in the record."""

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_DISPOSITION_FIELDS: Final = (
    *("alert_id", "decided_by", "decision", "narrative", "narrative_model", "recommendation", "policy_version"),
    *("alert_sha256", "policy_sha256", "action_id", "identity"),
)
_ALERT_FIELDS: Final = (
    *("detector", "subject_type", "subject_id", "transfer_id", "band_at_alert", "policy_version", "dedupe_key"),
    "appeal_of",
)
_SEVERITIES: Final = "['low', 'medium', 'high']"


def _same_texts(row: str, body: str, columns: Sequence[str], **others: str) -> dict[str, str]:
    """The columns that must equal the fields of the body with their names, or with those in ``others``."""
    keys = {column: others.get(column, camel_case(column)) for column in columns}
    same = "{row}.{column} IS NOT DISTINCT FROM json_extract_string({body}, '$.{key}')"
    return {column: same.format(row=row, column=column, body=body, key=key) for column, key in keys.items()}


_SAME_DISPOSITION: Final = _same_texts("d", "r.body", _DISPOSITION_FIELDS) | {
    "program_id": "d.program_id = r.program_id",
    "warnings": "d.warnings IS NOT DISTINCT FROM nullif(json_extract(r.body, '$.warnings')::VARCHAR, '[]')",
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

_ACTION_FIELDS: Final = ("alert_id", "type", "target_type", "target_id", "requested_by", "requested_identity")
_TWO_APPROVERS: Final = ", ".join(f"'{each.value}'" for each in sorted(ALWAYS_TWO_APPROVERS))
_SAME_ACTION: Final = _same_texts(
    "a", "r.body", _ACTION_FIELDS, type="kind", requested_by="actor", requested_identity="identity"
) | {
    "program_id": "a.program_id = r.program_id",
    "change": "a.change IS NOT DISTINCT FROM nullif(json_extract(r.body, '$.change')::VARCHAR, 'null')",
    "created_at": "epoch_ms(a.created_at) = epoch_ms(CAST(json_extract_string(r.body, '$.createdAt') AS TIMESTAMP))",
    "status": "a.status = s.last OR "
    f"(s.last = 'requested' AND a.status = 'approved' AND a.type NOT IN ({_TWO_APPROVERS}))",
    "approved_by": "a.approved_by IS NOT DISTINCT FROM s.approved_by",
    "released_alert_ids": (
        "a.released_alert_ids IS NOT DISTINCT FROM nullif(json_extract(s.body, '$.releasedAlertIds')::VARCHAR, '[]')"
    ),
    "approved_identity": "a.approved_identity IS NOT DISTINCT FROM s.approved_identity",
    "ended_by": "a.ended_by IS NOT DISTINCT FROM s.ended_by",
    "ended_identity": "a.ended_identity IS NOT DISTINCT FROM s.ended_identity",
    "note": "a.note IS NOT DISTINCT FROM json_extract_string(s.body, '$.note')",
    "error": "a.error IS NOT DISTINCT FROM json_extract_string(s.body, '$.error')",
    "bank_response": "sha256(a.bank_response) IS NOT DISTINCT FROM json_extract_string(s.body, '$.bankResponseSha256')",
    "executed_at": "epoch_ms(a.executed_at) IS NOT DISTINCT FROM epoch_ms(CAST(s.executed_at AS TIMESTAMP))",
}

_SAME_NOTE: Final = _same_texts("n", "r.body", ("alert_id", "note", "written_by", "identity"), written_by="actor") | {
    "program_id": "n.program_id = r.program_id",
    "created_at": "epoch_ms(n.created_at) = epoch_ms(CAST(json_extract_string(r.body, '$.createdAt') AS TIMESTAMP))",
}


def _differing(same: Mapping[str, str]) -> str:
    """A list of the columns that differ."""
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
# A decision determines the alert's status; without one it still waits.
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
_FEATURE: Final = "json_extract_string(q.evidence, '$.features.{}')"
_SAME_QUOTED: Final = {
    "amount_cents": "t.amount_cents = CAST(json_extract_string(q.evidence, '$.amountCents') AS BIGINT)",
    "currency": "t.currency = json_extract_string(q.evidence, '$.currency')",
    "rail": f"t.rail = {_FEATURE.format('rail')}",
    "direction": f"t.direction = {_FEATURE.format('direction')}",
    "type": f"t.type IS NOT DISTINCT FROM {_FEATURE.format('type')}",
    "account_id": "t.account_id IS NOT DISTINCT FROM json_extract_string(q.evidence, '$.accountId')",
    # A side may have become known between this version of the transfer and an alert that was opened later.
    "counterparty_id": "t.counterparty_id IS NOT DISTINCT FROM json_extract_string(q.evidence, '$.counterpartyId') "
    'OR (t.counterparty_id IS NULL AND p.version < q."offset")',
    "entity_id": "t.entity_id IS NOT DISTINCT FROM json_extract_string(q.evidence, '$.entityId') "
    "OR (t.entity_id IS NULL AND json_extract_string(q.evidence, '$.entityId') = o.entity_id)",
    "score": "q.band IS NULL OR t.score IS NOT DISTINCT FROM q.score",
    "score_band": "q.band IS NULL OR t.score_band = q.band",
}
# A sealed body quotes its transfer as of the newest version when the alert was opened; an appeal quotes none.
_QUOTED: Final = f"""
    WITH q AS MATERIALIZED (
        SELECT program_id, "offset", json_extract_string(body, '$.evidence.transferIds[0]') AS transfer_id,
            json_extract(body, '$.evidence') AS evidence,
            CAST(json_extract_string(body, '$.scoreAtAlert') AS BIGINT) AS score,
            json_extract_string(body, '$.bandAtAlert') AS band
        FROM alert_bodies WHERE tenant_id = $tenant
            AND json_extract_string(body, '$.evidence.amountCents') IS NOT NULL AND transfer_id IS NOT NULL
    ), places AS (
        SELECT q.program_id, q.transfer_id, q."offset", max(v."offset") AS version
        FROM q LEFT JOIN transfers v ON v.tenant_id = $tenant AND v.program_id = q.program_id
            AND v.id = q.transfer_id AND v."offset" <= q."offset" GROUP BY ALL
    ), owners AS (
        SELECT program_id, id, entity_id FROM accounts_latest WHERE tenant_id = $tenant
    )
    SELECT q.transfer_id, CASE WHEN t.id IS NULL THEN ['{MISSING}'] ELSE {_differing(_SAME_QUOTED)} END AS columns
    FROM q JOIN places p USING (program_id, transfer_id, "offset")
    LEFT JOIN transfers t ON t.tenant_id = $tenant AND t.program_id = p.program_id AND t.id = p.transfer_id
        AND t."offset" = p.version
    LEFT JOIN owners o ON o.program_id = t.program_id AND o.id = t.account_id
    WHERE len(columns) > 0 GROUP BY ALL ORDER BY ALL
"""
_ENDED: Final = "('declined', 'withdrawn')"
# An action that is approved without a link of it needed no approval; an approved internal change is executed at once.
_ACTIONS: Final = f"""
    WITH links AS (
        SELECT *, json_extract_string(body, '$.actionId') AS action_id,
            json_extract_string(body, '$.transition') AS transition
        FROM record_chain WHERE tenant_id = $tenant AND chain = 'actions' AND transition IS NOT NULL
    ), steps AS (
        SELECT action_id, arg_max(transition, seq) AS last, arg_max(body, seq) AS body,
            max(json_extract_string(body, '$.actor')) FILTER (transition = 'approved') AS approved_by,
            max(json_extract_string(body, '$.identity')) FILTER (transition = 'approved') AS approved_identity,
            max(json_extract_string(body, '$.actor')) FILTER (transition IN {_ENDED}) AS ended_by,
            max(json_extract_string(body, '$.identity')) FILTER (transition IN {_ENDED}) AS ended_identity,
            max(json_extract_string(body, '$.createdAt')) FILTER (transition = 'executed') AS executed_at
        FROM links GROUP BY action_id
    )
    SELECT coalesce(a.id, r.id), CASE
        WHEN r.id IS NULL THEN ['{UNRECORDED}'] WHEN a.id IS NULL THEN ['{MISSING}']
        ELSE {_differing(_SAME_ACTION)} END AS columns
    FROM (SELECT * FROM actions_latest WHERE tenant_id = $tenant) a
    FULL JOIN (SELECT * FROM links WHERE transition = 'requested') r ON r.id = a.id
    LEFT JOIN steps s ON s.action_id = r.id
    WHERE len(columns) > 0 ORDER BY ALL
"""
_NOTES: Final = f"""
    SELECT coalesce(n.id, r.id), CASE
        WHEN r.id IS NULL THEN ['{UNRECORDED}'] WHEN n.id IS NULL THEN ['{MISSING}']
        ELSE {_differing(_SAME_NOTE)} END AS columns
    FROM (SELECT * FROM alert_notes WHERE tenant_id = $tenant) n
    FULL JOIN (
        SELECT * FROM record_chain
        WHERE tenant_id = $tenant AND chain = 'actions' AND json_extract_string(body, '$.kind') = '{ALERT_NOTE}'
    ) r ON r.id = n.id
    WHERE len(columns) > 0 ORDER BY ALL
"""
_CHECKS: Final = (
    ("dispositions", _DISPOSITIONS),
    ("alert_bodies", _BODIES),
    ("alerts", _STATUS),
    ("alerts", _ALERTS),
    ("transfers", _QUOTED),
    ("actions", _ACTIONS),
    ("alert_notes", _NOTES),
)
_COUNT: Final = """
    SELECT (SELECT count(*) FROM dispositions WHERE tenant_id = $tenant)
        + (SELECT count(*) FROM alerts_latest WHERE tenant_id = $tenant)
        + (SELECT count(*) FROM actions_latest WHERE tenant_id = $tenant)
        + (SELECT count(*) FROM alert_notes WHERE tenant_id = $tenant)
"""


class ShownDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A row that differs from the record, and its differing columns."""

    table: str
    id: str
    columns: tuple[str, ...]


class RowsCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The number of compared rows of dispositions, alerts, actions and notes; the first of the differences."""

    checked: int
    differences: tuple[ShownDifference, ...]


class ShownRows(CommittedRows):
    def check(self, principal: Principal) -> RowsCheck:
        """All rows of the principal's tenant that quote the record."""
        principal.require_tenant_wide()
        return self.check_of_tenant(principal.tenant_id)

    def check_of_tenant(self, tenant_id: str) -> RowsCheck:
        """As ``check``, for the service's own use."""
        with self._connection.cursor() as cursor:
            cursor.begin()  # one state of the growing tables for all statements
            (checked,) = cursor.execute(_COUNT, {"tenant": tenant_id}).fetchall()[0]
            differences = tuple(_differences(cursor, tenant_id))
            cursor.rollback()
        return RowsCheck(checked=checked, differences=differences)


def _differences(cursor: duckdb.DuckDBPyConnection, tenant_id: str) -> Iterator[ShownDifference]:
    for table, query in _CHECKS:
        for id_, columns in cursor.execute(query, {"tenant": tenant_id}).fetchmany(MOST_DIFFERENCES):
            yield ShownDifference(table=table, id=id_, columns=tuple(columns))
