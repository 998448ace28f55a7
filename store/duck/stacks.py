"""Reads stacks: alerts that a person looks at together (``features/alerts/stacks.py``), from the rows of the alerts.

How     The newest version of each alert counts. A stack is listed when one of its alerts in the statuses matches the
        other filters; its figures are of all its alerts in the statuses. Lists of waiting alerts come from memory
        (``waiting_stacks.py``), and only the rows of a page's worst alerts are read. Of other statuses, one pass over
        the table gives the sort key of every stack, and a second one the figures of a page
Errors  none; an unknown stack is None
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import WAITING, AlertStatus
from clearhold.store.duck.alert_lists import AlertSummaries, AlertSummaryRow, AllowedIds, matcher
from clearhold.store.duck.alerts import AlertFilter, Alerts
from clearhold.store.duck.committed_rows import RowKey
from clearhold.store.duck.held_money import HeldMoney
from clearhold.store.duck.waiting_alert import WaitingAlert
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.duck.waiting_stacks import NO_KEY, PlacedStack, StackSort, placed
from clearhold.store.tables import TEXTS, Predicate, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

MOST_IDS: Final = 100  # of a stack's alerts, in its row

_KEYS: Final[Mapping[StackSort, str]] = {
    StackSort.WORST: "max(queue_rank)",
    StackSort.DUE_AT: "-epoch_us(min(due_at))",
    StackSort.SCORE: "max(score_at_alert)",
    StackSort.SIZE: "count(*)",
    StackSort.HELD_CENTS: "max(held_cents)",
}
_NEWEST: Final = """
    newest AS (
        SELECT id, max("offset") AS "offset" FROM alerts WHERE {within} AND {among} GROUP BY id
    )"""
_SINCE_THE_FIRST: Final = """
    "offset" >= coalesce((SELECT min("offset") FROM alerts WHERE {within} AND stack_id IS NOT NULL), 0)"""
# An alert that was taken out of a stack has a newer version in another.
_ONCE_AMONG: Final = f"""
    id IN (SELECT id FROM alerts WHERE {{within}} AND stack_id IN {TEXTS})"""
_COUNTED: Final = """
    counted AS (
        SELECT * EXCLUDE (evidence, draft, summary) FROM alerts SEMI JOIN newest USING (id, "offset")
        WHERE {within} AND stack_id IS NOT NULL {wanted}
    )"""
# A transfer counts once, however many alerts hold it.
_HELD: Final = """
    held AS (
        SELECT stack_id, sum(amount_cents)::BIGINT AS held_cents FROM (
            SELECT DISTINCT stack_id, program_id, transfer_id FROM counted
            WHERE status = 'held' AND transfer_id IS NOT NULL
        ) JOIN (
            SELECT program_id, id AS transfer_id, arg_max(amount_cents, "offset") AS amount_cents FROM transfers
            WHERE tenant_id = ? AND currency = 'USD' AND id IN (SELECT transfer_id FROM counted WHERE status = 'held')
            GROUP BY program_id, id
        ) USING (program_id, transfer_id) GROUP BY stack_id
    )"""
_SORTED: Final = """
    SELECT place, id FROM (
        SELECT stack_id AS id, coalesce({key}, {no_key})::BIGINT AS place FROM counted {held}
        GROUP BY stack_id HAVING bool_or({matching})
    ) WHERE {after} ORDER BY place DESC, id LIMIT ?"""
_WAITS: Final = f"({', '.join(repr(status.value) for status in WAITING)})"
_FIGURES: Final = f"""
    SELECT stack_id, any_value(program_id), any_value(stack_kind), any_value(stack_key), count(*),
        count(*) FILTER (status IN {_WAITS}), epoch_us(min(due_at)), max(score_at_alert), max(queue_rank),
        bool_or(hard_signal), epoch_us(min(opened_at)), epoch_us(max(opened_at)), max(held_cents),
        arg_max(id, (queue_rank, id)), arg_max("offset", (queue_rank, id)),
        list(DISTINCT band_at_alert), list(DISTINCT severity), list(detector), list(status),
        list(id ORDER BY opened_at DESC, id)[1:{MOST_IDS}], list(coalesce(assignee, ''))
    FROM counted LEFT JOIN held USING (stack_id) LEFT JOIN (
        SELECT alert_id AS id, arg_max(coalesce(assignee, ''), "offset") AS assignee FROM alert_assignments
        WHERE tenant_id = ? GROUP BY alert_id
    ) AS assigned USING (id) GROUP BY stack_id"""


_PROGRAM_OF: Final = "SELECT program_id FROM alerts WHERE tenant_id = ? AND stack_id = ? LIMIT 1"


class StackFilter(AlertFilter, frozen=True, kw_only=True):
    """``statuses`` are of the alerts that count: the waiting ones by default."""

    kinds: tuple[str, ...] | None = msgspec.field(default=None, name="kind")
    sort: StackSort = StackSort.WORST  # type: ignore[assignment]  # an order of stacks in place of one of alerts

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("stack_kind", self.kinds)
        return predicate


class StackFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A stack with the figures of its counted alerts; ``worst`` is the alert that a list of them has first."""

    id: str
    program_id: str
    kind: str
    key: str
    size: int
    waiting: int
    due_at: int | None
    score: int | None
    queue_rank: int
    hard: bool
    first_opened_at: int
    last_opened_at: int
    held_cents: int
    bands: tuple[str, ...]
    severities: tuple[str, ...]
    detectors: tuple[str, ...]  # one of each alert
    statuses: tuple[str, ...]  # as above
    alert_ids: tuple[str, ...]  # the newest
    assignees: tuple[str, ...]  # one of each alert, empty for an unassigned one
    worst: AlertSummaryRow
    place: int = 0  # its sort key


class StackTotals(NamedTuple):
    """Numbers of listed stacks and of their waiting alerts; of stacks, the overdue ones, and the ones due later before
    an instant; ``new`` ones have only alerts opened at ``opened_from`` of the filters or later.
    """

    stacks: int
    alerts: int
    overdue: int
    due_before: int
    new: int


class Stacks(Alerts, table="alerts", row_type=AlertRow, rank="queue_rank"):
    """The stacks of a tenant, within the principal's reach."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, waiting: WaitingAlertIndex) -> None:
        super().__init__(connection)
        self._summaries, self._ids = AlertSummaries(connection, waiting), AllowedIds(connection)
        self._waiting, self._held_money = waiting, HeldMoney(connection)

    def page_of(
        self, principal: Principal, wanted: StackFilter, after: tuple[int, str] | None, limit: int
    ) -> list[StackFigures]:
        """At most ``limit`` stacks after a sort key and an id."""
        if wanted.statuses is None or set(wanted.statuses) <= set(WAITING):
            return self._of_waiting(principal, wanted, after, limit)
        within, matching = Predicate(principal), wanted.predicate(principal)
        statuses = wanted.statuses
        by_held = wanted.sort is StackSort.HELD_CENTS
        with_, values = _with(within, statuses, principal, with_money=by_held)
        sql = f"WITH {with_} " + _SORTED.format(
            key=_KEYS[wanted.sort],
            no_key=NO_KEY,
            held="LEFT JOIN held USING (stack_id)" if by_held else "",
            matching=matching.sql,
            after="true" if after is None else "place < ? OR (place = ? AND id > ?)",
        )
        marks = () if after is None else (after[0], after[0], after[1])
        places = self._read(sql, [*values, *matching.values, *marks, limit])
        figures = self._figures(principal, [stack_id for _, stack_id in places], statuses)
        return [msgspec.structs.replace(figures[stack_id], place=place) for place, stack_id in places]

    def totals_of(self, principal: Principal, wanted: StackFilter, before: int) -> StackTotals:
        """The numbers of a whole list of waiting stacks, without reading its rows; ``before`` is as ``due_before``."""
        matches = _matcher(wanted, self._ids.narrowed(principal, wanted))
        since, now = wanted.opened_from or 0, wanted.now
        stacks = alerts = overdue = due_before = new = 0
        for _, members in self._waiting.every_stack(principal):
            if not any(map(matches, members)):
                continue
            stacks += 1
            alerts += len(members)
            due_at = min((alert.due_at for alert in members if alert.due_at is not None), default=None)
            overdue += due_at is not None and due_at < now
            due_before += due_at is not None and now <= due_at < before
            new += all(alert.opened_at >= since for alert in members)
        return StackTotals(stacks, alerts, overdue, due_before, new)

    def held_cents(self, principal: Principal, program_ids: Collection[str]) -> int:
        """US cents of the transfers of all held alerts of these programs, each transfer once."""
        holding = self._waiting.every_stack(principal, frozenset({AlertStatus.HELD}))
        alerts = (each for _, members in holding for each in members if each.program_id in program_ids)
        return self._held_money.total(principal, tuple(alerts))

    def read(self, principal: Principal, stack_id: str) -> StackFigures | None:
        """A stack with the figures of its waiting alerts; of all its alerts when none waits.

        ForbiddenError when the tenant has it on a program outside a key's mode.
        """
        waiting = self._waiting.stack(principal, stack_id)
        if waiting:
            page = [PlacedStack(0, stack_id, waiting)] if principal.finds(waiting[0].program_id) else []
            return next(iter(self._of_placed(principal, page, self._held_by(principal, page))), None)
        program_id = self._value(_PROGRAM_OF, [principal.tenant_id, stack_id])
        if program_id is None or not principal.finds(program_id):
            return None
        return self._figures(principal, [stack_id], None).get(stack_id)

    def keys_of(
        self,
        principal: Principal,
        stack_id: str,
        limit: int,
        *,
        statuses: Sequence[str] | None = None,
        alert_ids: Sequence[str] | None = None,
    ) -> list[RowKey]:
        """The keys of alerts of a stack, the worst first; None is any."""
        wanted = StackFilter(stack_ids=(stack_id,), statuses=None if statuses is None else tuple(statuses))
        predicate = wanted.predicate(principal)
        if alert_ids is not None:
            predicate.add(f"id IN {TEXTS}", listed(alert_ids))
        return self.page_keys(principal, predicate, None, limit)

    def _of_waiting(
        self, principal: Principal, wanted: StackFilter, after: tuple[int, str] | None, limit: int
    ) -> list[StackFigures]:
        statuses = frozenset(map(AlertStatus, WAITING if wanted.statuses is None else wanted.statuses))
        ids = self._ids.narrowed(principal, wanted)
        matches = _matcher(msgspec.structs.replace(wanted, statuses=None), ids)
        if wanted.sort is StackSort.HELD_CENTS:
            every = self._waiting.every_stack(principal, statuses)
            cents: Mapping[str, int] = {}
            if AlertStatus.HELD in statuses:
                holding = self._waiting.every_stack(principal, frozenset({AlertStatus.HELD}))
                cents = self._held_money.of(principal, holding)
            return self._of_placed(principal, placed(every, cents, after, matches, limit), cents)
        page = self._waiting.stacks(principal, wanted.sort, matches, statuses=statuses, after=after, limit=limit)
        return self._of_placed(principal, page, self._held_by(principal, page))

    def _held_by(self, principal: Principal, page: Sequence[PlacedStack]) -> Mapping[str, int]:
        return self._held_money.of(principal, [(stack.id, stack.alerts) for stack in page])

    def _of_placed(
        self, principal: Principal, page: Sequence[PlacedStack], cents: Mapping[str, int]
    ) -> list[StackFigures]:
        """The figures of stacks of the index, which hold ``cents``."""
        worst_of = {stack.id: max(stack.alerts, key=attrgetter("queue_rank", "id")) for stack in page}
        rows = self._summaries.of_keys(principal, [(alert.id, alert.offset) for alert in worst_of.values()])
        worst = {row.id: row for row in rows}
        return [_figures_of(stack, cents.get(stack.id, 0), worst[worst_of[stack.id].id]) for stack in page]

    def _figures(
        self, principal: Principal, stack_ids: Sequence[str], statuses: Sequence[str] | None
    ) -> dict[str, StackFigures]:
        if not stack_ids:
            return {}
        with_, values = _with(Predicate(principal), statuses, principal, stack_ids=stack_ids)
        rows = self._read(f"WITH {with_} {_FIGURES}", [*values, principal.tenant_id])
        worst = {row.id: row for row in self._summaries.of_keys(principal, [(row[13], row[14]) for row in rows])}
        return {
            row[0]: StackFigures(
                id=row[0],
                program_id=row[1],
                kind=row[2],
                key=row[3],
                size=row[4],
                waiting=row[5],
                due_at=row[6],
                score=row[7],
                queue_rank=row[8],
                hard=row[9],
                first_opened_at=row[10],
                last_opened_at=row[11],
                held_cents=row[12] or 0,
                bands=tuple(filter(None, row[15])),
                severities=tuple(row[16]),
                detectors=tuple(row[17]),
                statuses=tuple(row[18]),
                alert_ids=tuple(row[19]),
                assignees=tuple(row[20]),
                worst=worst[row[13]],
            )
            for row in rows
        }


def _matcher(wanted: StackFilter, ids: frozenset[str] | None) -> Callable[[WaitingAlert], bool]:
    """The filters as a function, as of a list of alerts, and by kind."""
    matches, kinds = matcher(wanted, ids), wanted.kinds
    return matches if kinds is None else lambda alert: alert.stack_kind in kinds and matches(alert)


def _figures_of(stack: PlacedStack, held_cents: int, worst: AlertSummaryRow) -> StackFigures:
    """The figures of a stack's waiting alerts."""
    alerts = sorted(stack.alerts, key=lambda alert: (-alert.opened_at, alert.id))
    newest = alerts[0]
    return StackFigures(
        id=stack.id,
        program_id=newest.program_id,
        kind=newest.stack_kind or "",
        key=newest.stack_key or "",
        size=len(alerts),
        waiting=len(alerts),
        due_at=min((alert.due_at for alert in alerts if alert.due_at is not None), default=None),
        score=max((alert.score_at_alert for alert in alerts if alert.score_at_alert is not None), default=None),
        queue_rank=worst.queue_rank,
        hard=any(alert.hard_signal for alert in alerts),
        first_opened_at=alerts[-1].opened_at,
        last_opened_at=newest.opened_at,
        held_cents=held_cents,
        bands=tuple({alert.band_at_alert for alert in alerts if alert.band_at_alert is not None}),
        severities=tuple({alert.severity for alert in alerts}),
        detectors=tuple(alert.detector for alert in alerts),
        statuses=tuple(alert.status for alert in alerts),
        alert_ids=tuple(alert.id for alert in alerts[:MOST_IDS]),
        assignees=tuple(alert.assignee for alert in alerts),
        worst=worst,
        place=stack.place,
    )


def _with(
    within: Predicate,
    statuses: Sequence[str] | None,
    principal: Principal,
    *,
    with_money: bool = True,
    stack_ids: Sequence[str] | None = None,
) -> tuple[str, list[object]]:
    """The newest alerts in the statuses, and the money that they hold; with the values of the parameters."""
    wanted: list[str] = []
    values: list[object] = [*within.values * 2]
    among = _SINCE_THE_FIRST
    if stack_ids is not None:
        among = _ONCE_AMONG
        values.append(listed(stack_ids))
    values += within.values
    for column, of_column in (("status", statuses), ("stack_id", stack_ids)):
        if of_column is not None:
            wanted.append(f"AND {column} IN {TEXTS}")
            values.append(listed(of_column))
    newest = _NEWEST.format(within=within.sql, among=among.format(within=within.sql))
    sql = ",".join((newest, _COUNTED.format(within=within.sql, wanted=" ".join(wanted))))
    return (f"{sql},{_HELD}", [*values, principal.tenant_id]) if with_money else (sql, values)
