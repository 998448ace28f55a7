"""Alerts and decisions for reports: counts of a program, those of one actor, and the time that people took.

How     Alerts are counted by their newest version among those of the program that opened in the span, because their
        time of opening never changes; nothing else of the table is read.
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from typing import Final, NamedTuple

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow
from clearhold.store.duck.alerts import BY_WEIGHT
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.reports.transfers import ReportedActor
from clearhold.store.duck.timeline import Timeline
from clearhold.store.tables.predicate import Predicate, Span

_DISPOSITIONS: Final = Timeline("dispositions", DispositionRow, at="created_at")
_BY_POLICY: Final = "starts_with(decided_by, 'policy:')"

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_COUNTS: Final = """
    SELECT detector, route, status, count(*) FROM (
        SELECT arg_max(detector, "offset") AS detector, arg_max(route, "offset") AS route,
            arg_max(status, "offset") AS status
        FROM alerts WHERE {matching} GROUP BY id
    ) GROUP BY ALL ORDER BY ALL"""
_DECISIONS: Final = f"""
    SELECT count(*), count(*) FILTER ({_BY_POLICY}), count(*) FILTER (overturns_draft)
    FROM dispositions WHERE {{matching}}"""
# A person's first decision on an alert counts; an appeal is a separate alert.
_HOURS: Final = f"""
    WITH decided AS MATERIALIZED (
        SELECT alert_id AS id, arg_min(created_at, "offset") AS decided_at FROM dispositions
        WHERE {{within}} AND created_at < make_timestamp(?) AND NOT {_BY_POLICY}
        GROUP BY alert_id HAVING decided_at >= make_timestamp(?)
    ), opened AS (
        SELECT id, min(opened_at) AS opened_at FROM alerts
        WHERE {{within}} AND id IN (SELECT id FROM decided) GROUP BY id
    ), waits AS (
        SELECT greatest(epoch_us(decided_at) - epoch_us(opened_at), 0) / 3.6e9 AS hours
        FROM decided JOIN opened USING (id)
    )
    SELECT quantile_cont(hours, 0.5), quantile_cont(hours, 0.9), count(*) FROM waits"""


class AlertCount(NamedTuple):
    detector: str
    route: str
    status: str
    alerts: int


class DecisionTotals(NamedTuple):
    total: int
    by_policy: int
    overturned: int


class HoursToDecision(NamedTuple):
    """From an alert's opening to a person's first decision on it; None without one."""

    median: float | None
    p90: float | None
    n: int


class ReportAlerts(CommittedRows):
    def counts(self, principal: Principal, program_id: str, span: Span) -> list[AlertCount]:
        """The alerts that opened in the span, by their newest version."""
        predicate = _of_program(principal, program_id)
        predicate.between("opened_at", *span)
        rows = self._read(_COUNTS.format(matching=predicate.sql), predicate.values)
        return [AlertCount(*row) for row in rows]

    def decisions(self, principal: Principal, program_id: str, span: Span) -> DecisionTotals:
        predicate = _of_program(principal, program_id)
        predicate.between("created_at", *span)
        (row,) = self._read(_DECISIONS.format(matching=predicate.sql), predicate.values)
        return DecisionTotals(*row)

    def decision_hours(self, principal: Principal, program_id: str, span: Span) -> HoursToDecision:
        """Over the alerts with a person's first decision in the span."""
        within = _of_program(principal, program_id)
        values = [*within.values, span.end, span.start, *within.values]
        (row,) = self._read(_HOURS.format(within=within.sql), values)
        return HoursToDecision(*row)

    def of_actor(self, principal: Principal, actor: ReportedActor, span: Span, limit: int) -> list[AlertRow]:
        """The worst ``limit`` alerts on the actor, its accounts and its transfers that opened in the span."""
        predicate = _of_program(principal, actor.program_id)
        predicate.between("opened_at", *span)
        condition, values = actor.alerts
        predicate.add(condition, *values)
        with self._connection.cursor() as cursor:
            return BY_WEIGHT.page(cursor, principal, predicate, None, limit)

    def dispositions_of_actor(
        self, principal: Principal, actor: ReportedActor, span: Span, limit: int
    ) -> list[DispositionRow]:
        """The newest ``limit`` decisions of the span on such alerts, whenever they opened."""
        alerts = _of_program(principal, actor.program_id)
        condition, values = actor.alerts
        alerts.add(condition, *values)
        predicate = _of_program(principal, actor.program_id)
        predicate.between("created_at", *span)
        predicate.add(f"alert_id IN (SELECT id FROM alerts WHERE {alerts.sql})", *alerts.values)
        with self._connection.cursor() as cursor:
            return _DISPOSITIONS.page(cursor, principal, predicate, None, limit)


def _of_program(principal: Principal, program_id: str) -> Predicate:
    principal.require_program(program_id)
    predicate = Predicate(principal)
    predicate.add("program_id = ?", program_id)
    return predicate
