"""Alerts, decisions and an actor's transfers for reports: counts, volume, returns, bands, the time that people took.

How     Alerts are counted by their newest version among those of the program that opened in the span, because their
        time of opening never changes; nothing else of the table is read. Of transfers, the actor's versions in the span
        are looked up first. Each transfer's newest version is then sought from the oldest of them on, because a newer
        version has a higher log offset. Totals of a whole program are not read here: its owner keeps them by day
Unit    volume in US cents; a transfer in another currency counts with the amount of its newest scoring
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from clearhold.features.bank.statuses import RETURN_UNDONE_STATUSES, UNAUTHORIZED_RETURN_CODES, UNMOVED_STATUSES
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.money import MOST_COUNTED_CENTS, USD
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow
from clearhold.store.duck.alerts import Alerts
from clearhold.store.duck.committed_rows import CommittedRows, Timeline
from clearhold.store.duck.transfers import FIRST_OWNERS
from clearhold.store.tables import Predicate, Span, placeholders

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_ACCOUNTS: Final = f"""
    SELECT account_id FROM ({FIRST_OWNERS.format(matching="tenant_id = ? AND program_id = ?")}) WHERE owner_id = ?"""
_COUNTERPARTY: Final = "counterparty"
_ACCOUNT: Final = "account"


class ReportedActor(NamedTuple):
    """``type`` is entity, agent, counterparty or account."""

    program_id: str
    type: str
    id: str
    account_ids: tuple[str, ...]

    @property
    def transfers(self) -> tuple[str, list[str]]:
        """The condition of its transfers, and its values."""
        if self.type == _COUNTERPARTY:
            return "counterparty_id = ?", [self.id]
        if self.type == _ACCOUNT:
            return "account_id = ?", [self.id]
        if not self.account_ids:
            return "entity_id = ?", [self.id]
        of_accounts = f"entity_id IS NULL AND account_id IN {placeholders(self.account_ids)}"
        return f"(entity_id = ? OR ({of_accounts}))", [self.id, *self.account_ids]

    @property
    def alerts(self) -> tuple[str, list[str]]:
        """The condition of the alerts on it, on its accounts and on its transfers in its program, and its values."""
        condition, ids = self.transfers
        subject = self.type if self.type in {_COUNTERPARTY, _ACCOUNT} else "entity"
        of_transfers = f"""subject_type = 'transfer' AND program_id = ? AND subject_id IN (
            SELECT transfers.id FROM transfers WHERE program_id = ? AND {condition})"""
        sql = f"(subject_type = '{subject}' AND subject_id = ?) OR ({of_transfers})"
        values = [self.id, self.program_id, self.program_id, *ids]
        if self.account_ids:
            sql += f" OR (subject_type = 'account' AND subject_id IN {placeholders(self.account_ids)})"
            values += self.account_ids
        return f"({sql})", values


class ReportActors(CommittedRows):
    def find(self, principal: Principal, program_id: str, kind: str, actor_id: str) -> ReportedActor:
        """The actor with the accounts whose first owner it is.

        They are looked up first: a condition on a few values costs a tenth of one on another table.
        """
        if kind in {_COUNTERPARTY, _ACCOUNT}:
            return ReportedActor(program_id, kind, actor_id, ())
        values = [principal.tenant_id, program_id, actor_id]
        accounts = self._read(_ACCOUNTS, values)
        return ReportedActor(program_id, kind, actor_id, tuple(sorted(account_id for (account_id,) in accounts)))


_UNMOVED: Final = sorted(UNMOVED_STATUSES)
_UNDONE: Final = sorted(RETURN_UNDONE_STATUSES)
_UNAUTHORIZED: Final = sorted(UNAUTHORIZED_RETURN_CODES)

_NEWEST: Final = f"""
    WITH versions AS MATERIALIZED (
        SELECT id, "offset", rail, direction, type, status, return_code, score_band, currency, amount_cents,
            scored_offset, status NOT IN {placeholders(_UNMOVED)} AS moved
        FROM transfers WHERE {{matching}}
    ), newest AS (
        SELECT id, max("offset") AS "offset" FROM transfers
        WHERE tenant_id = ? AND program_id = ? AND "offset" >= (SELECT min("offset") FROM versions)
            AND id IN (SELECT id FROM versions) GROUP BY id
    ), standing AS (
        SELECT *, moved AND return_code IS NOT NULL AND status NOT IN {placeholders(_UNDONE)} AS returned
        FROM versions JOIN newest USING (id, "offset")
    )"""
_TOTALS: Final = f"""{_NEWEST}
    SELECT count(*),
        coalesce(sum(least(amount_cents, {MOST_COUNTED_CENTS})) FILTER (moved AND currency = '{USD}'), 0)::BIGINT,
        count(*) FILTER (returned),
        count(*) FILTER (returned AND rail = 'ach' AND type = 'DEBIT' AND direction = 'outgoing'
            AND return_code IN {placeholders(_UNAUTHORIZED)}),
        count(*) FILTER (score_band = 'clear'), count(*) FILTER (score_band = 'review'),
        count(*) FILTER (score_band = 'hold'), count(*) FILTER (score_band = 'unscored'),
        count(*) FILTER (moved AND currency <> '{USD}')
    FROM standing"""
_FOREIGN_CENTS: Final = f"""{_NEWEST}
    SELECT coalesce(sum(features.amount_cents), 0)::BIGINT FROM transfer_features AS features
    WHERE tenant_id = ? AND program_id = ? AND (features."offset", features.transfer_id) IN (
        SELECT scored_offset, id FROM standing WHERE moved AND currency <> '{USD}')"""


class ReportTransfers(CommittedRows):
    def of_actor(self, principal: Principal, actor: ReportedActor, span: Span) -> DayTotals:
        predicate = Predicate.of_program(principal, actor.program_id)
        predicate.between("bank_created_at", *span)
        sql, ids = actor.transfers
        predicate.add(sql, *ids)
        place = [principal.tenant_id, actor.program_id]
        values = [*_UNMOVED, *predicate.values, *place, *_UNDONE]
        ((*counts, foreign),) = self._read(_TOTALS.format(matching=predicate.sql), [*values, *_UNAUTHORIZED])
        totals = DayTotals(*counts)  # in the order of its first fields
        if not foreign:
            return totals
        ((cents,),) = self._read(_FOREIGN_CENTS.format(matching=predicate.sql), [*values, *place])
        return replace(totals, cents=totals.cents + cents)


_BY_POLICY: Final = "starts_with(decided_by, 'policy:')"

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


class _Dispositions(
    Timeline[DispositionRow, DispositionRow], table="dispositions", row_type=DispositionRow, at="created_at"
):
    """Decisions without their links."""


class ReportAlerts(CommittedRows):
    def counts(self, principal: Principal, program_id: str, span: Span) -> list[AlertCount]:
        """The alerts that opened in the span, by their newest version."""
        predicate = Predicate.of_program(principal, program_id)
        predicate.between("opened_at", *span)
        rows = self._read(_COUNTS.format(matching=predicate.sql), predicate.values)
        return [AlertCount(*row) for row in rows]

    def decisions(self, principal: Principal, program_id: str, span: Span) -> DecisionTotals:
        predicate = Predicate.of_program(principal, program_id)
        predicate.between("created_at", *span)
        (row,) = self._read(_DECISIONS.format(matching=predicate.sql), predicate.values)
        return DecisionTotals(*row)

    def decision_hours(self, principal: Principal, program_id: str, span: Span) -> HoursToDecision:
        """Over the alerts with a person's first decision in the span."""
        within = Predicate.of_program(principal, program_id)
        values = [*within.values, span.end, span.start, *within.values]
        (row,) = self._read(_HOURS.format(within=within.sql), values)
        return HoursToDecision(*row)

    def of_actor(self, principal: Principal, actor: ReportedActor, span: Span, limit: int) -> list[AlertRow]:
        """The worst ``limit`` alerts on the actor, its accounts and its transfers that opened in the span."""
        predicate = Predicate.of_program(principal, actor.program_id)
        predicate.between("opened_at", *span)
        condition, values = actor.alerts
        predicate.add(condition, *values)
        return Alerts(self._connection).page(principal, predicate, None, limit)

    def dispositions_of_actor(
        self, principal: Principal, actor: ReportedActor, span: Span, limit: int
    ) -> list[DispositionRow]:
        """The newest ``limit`` decisions of the span on such alerts, whenever they opened."""
        alerts = Predicate.of_program(principal, actor.program_id)
        condition, values = actor.alerts
        alerts.add(condition, *values)
        predicate = Predicate.of_program(principal, actor.program_id)
        predicate.between("created_at", *span)
        predicate.add(f"alert_id IN (SELECT id FROM alerts WHERE {alerts.sql})", *alerts.values)
        return _Dispositions(self._connection).page(principal, predicate, None, limit)
