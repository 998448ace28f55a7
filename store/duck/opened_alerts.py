"""Alerts as they opened, for another look at their routing: read from the bodies that dispositions cite.

How     The newest alerts are chosen by narrow columns, then each of their bodies is taken apart once
Bound   ``limit`` alerts, newest first, then by id
Null    a field that the body does not have
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from clearhold.features.core.entries.actions import AutonomyBody
from clearhold.features.core.principal import Principal
from clearhold.features.policy.dry_run import Autonomies, OpenedAlert
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables import Predicate, Span

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_PATHS: Final = {
    "detector": ("$.detector", "VARCHAR"),
    "severity": ("$.severity", "VARCHAR"),
    "subject_type": ("$.subjectType", "VARCHAR"),
    "hard": ("$.hardSignal", "BOOLEAN"),
    "appeal_of": ("$.appealOf", "VARCHAR"),
    "snapshot_id": ("$.evidence.snapshotId", "VARCHAR"),
    "score": ("$.evidence.score", "BIGINT"),
    "band": ("$.evidence.band", "VARCHAR"),
    "program_n": ("$.evidence.programN", "BIGINT"),
    "degraded": ("$.evidence.degraded", "BOOLEAN"),
    "policy_version": ("$.policyVersion", "VARCHAR"),
    "route": ("$.route", "VARCHAR"),
    "route_reason": ("$.evidence.routeReason", "VARCHAR"),
    "sla_tier": ("$.slaTier", "VARCHAR"),
    "auto_hold": ("$.evidence.autoHold", "BOOLEAN"),
}
_LISTED: Final = ", ".join(f"'{path}'" for path, _ in _PATHS.values())
_COLUMNS: Final = ", ".join(
    f"CAST(parts[{place}] AS {kind}) AS {name}" for place, (name, (_, kind)) in enumerate(_PATHS.items(), 1)
)
_OPENED: Final = f"""
    WITH newest AS (
        SELECT program_id, alert_id, "offset" FROM alert_bodies WHERE {{matching}}
        ORDER BY created_at DESC, alert_id LIMIT ?
    ), taken AS (
        SELECT alert_id, program_id, "offset", created_at, json_extract_string(body, [{_LISTED}]) AS parts
        FROM alert_bodies SEMI JOIN newest USING (program_id, alert_id, "offset") WHERE {{matching}}
    ), apart AS (SELECT alert_id, program_id, "offset", epoch_us(created_at) AS opened_at, {_COLUMNS} FROM taken)
    SELECT alert_id, program_id, "offset", opened_at, detector, severity, subject_type, hard, appeal_of IS NOT NULL,
        snapshot_id IS NOT NULL, score, band, program_n, degraded, policy_version, route, route_reason, sla_tier,
        auto_hold
    FROM apart ORDER BY opened_at DESC, alert_id"""
_AUTONOMIES: Final = """
    SELECT program_id, "offset", body FROM policies
    WHERE {matching} AND of_program AND split_part(version, '-', 1) = 'autonomy' ORDER BY program_id, "offset"
    """
_BODY: Final = msgspec.json.Decoder(AutonomyBody)
_FIELDS: Final = OpenedAlert.__struct_fields__


class OpenedAlerts(CommittedRows):
    def newest(self, principal: Principal, program_ids: Sequence[str], span: Span, limit: int) -> list[OpenedAlert]:
        """The newest alerts of the programs that the log opened in the span."""
        matching = Predicate(principal)
        matching.of_programs(program_ids)
        matching.between("created_at", *span)
        sql = _OPENED.format(matching=matching.sql)
        rows = self._read(sql, [*matching.values, limit, *matching.values])
        return [OpenedAlert(**dict(zip(_FIELDS, row, strict=True))) for row in rows]

    def autonomies(self, principal: Principal, program_ids: Sequence[str]) -> Autonomies:
        """Every version of the programs' autonomy, by program."""
        matching = Predicate(principal)
        matching.of_programs(program_ids)
        versions = defaultdict[str, list[tuple[int, AutonomyBody]]](list)
        for program_id, offset, body in self._read(_AUTONOMIES.format(matching=matching.sql), matching.values):
            versions[program_id].append((offset, _BODY.decode(body)))
        return versions
