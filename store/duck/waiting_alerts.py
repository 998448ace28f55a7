"""The alerts that wait for a person's decision, in memory, in the order of each list; and their numbers.

How     A read first takes in the rows of alerts that were committed since the last one, which DuckDB finds by ``rowid``
        without reading others; the first read takes in the table. So a page costs the same however long the history is.
        Assignments are taken in likewise, before the alerts, so that the alert of each is there. Those of an alert that
        waits again are looked up
Order   See ``alert_orders.py``
Cursor  The pages of a list keep the order as of its first page: an alert whose place changes meanwhile is listed at its
        former place, so none comes twice and none that waits throughout is left out. That holds for the newest
        ``MOST_MOVES`` changes and within one run of the service; beyond it, alerts are listed at their newest place
Unit    instants in microseconds
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import islice
from threading import Lock
from typing import Any, Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import WAITING, AlertStatus
from clearhold.store.duck.alert_orders import PLACES, AlertOrder
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.row_cache import RowCache
from clearhold.store.duck.waiting_alert import WaitingAlert, WaitingAlertColumns
from clearhold.store.duck.waiting_stacks import Members, PlacedStack, StackSort, WaitingStacks
from clearhold.store.tables import TEXTS, listed, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

MOST_MOVES: Final = 10_000
MOST_KEPT: Final = 10_000  # rows of lists, of about 1 kB
_ALL: Final = frozenset(WAITING)


_Key = tuple[int, str]
"""The negative number of an alert in an order, and its id: the first key is the first in the list."""

_Keys = dict[AlertOrder, _Key]


class _Move(NamedTuple):
    """A change of an alert's places, with its former ones; ``at`` is the rowid of the row that made it."""

    at: int
    id: str
    former: _Keys


class WaitingPage(NamedTuple):
    """``number`` is the last one's in the order; ``as_of`` goes into the cursor of the next page."""

    alerts: list[WaitingAlert]
    as_of: int
    has_more: bool
    number: int


class _TenantAlerts:
    """The waiting alerts of one tenant."""

    def __init__(self) -> None:
        self.by_id: dict[str, WaitingAlert] = {}
        self.numbers: Counter[tuple[str, str, str, str | None]] = Counter()
        self.due: defaultdict[str, list[int]] = defaultdict(list)  # by program, sorted due times
        self.orders: dict[AlertOrder, list[_Key]] = {order: [] for order in AlertOrder}
        self._stacks = {_ALL: WaitingStacks()}  # by the statuses whose alerts count, from their first read on
        self._moves: deque[_Move] = deque(maxlen=MOST_MOVES)

    def take(self, alert: WaitingAlert, at: int) -> bool:
        """Replace the alert's former state by this one; whether it begins to wait."""
        former = self.by_id.get(alert.id)
        if former is not None and former.offset >= alert.offset:
            return False
        if former is not None:
            self._uncount(former)
            alert = _assigned(alert, former.assignee)
        if alert.waits:
            self._count(alert)
        keys = _keys_of(alert) if alert.waits else None
        before = None if former is None else _keys_of(former)
        if before is not None and before != keys:
            self._moves.append(_Move(at, alert.id, before))
            for order, key in before.items():
                sequence = self.orders[order]
                del sequence[bisect_left(sequence, key)]
        if keys is None:
            self.by_id.pop(alert.id, None)
            return False
        self.by_id[alert.id] = alert
        if before != keys:
            for order, key in keys.items():
                insort(self.orders[order], key)
        return former is None

    def assign(self, alert_id: str, assignee: str) -> None:
        """Note the assignee of an alert; of one that does not wait, nothing is kept."""
        alert = self.by_id.get(alert_id)
        if alert is not None and alert.assignee != assignee:
            self.by_id[alert_id] = assigned = _assigned(alert, assignee)
            self._add_to_stacks(assigned)

    def _add_to_stacks(self, alert: WaitingAlert) -> None:
        for statuses, stacks in self._stacks.items():
            if alert.status in statuses:
                stacks.add(alert)

    def _count(self, alert: WaitingAlert) -> None:
        self._add_to_stacks(alert)
        self.numbers[_words_of(alert)] += 1
        if alert.due_at is not None:
            insort(self.due[alert.program_id], alert.due_at)

    def _uncount(self, alert: WaitingAlert) -> None:
        for statuses, stacks in self._stacks.items():
            if alert.status in statuses:
                stacks.remove(alert)
        self.numbers[_words_of(alert)] -= 1
        if alert.due_at is not None:
            due = self.due[alert.program_id]
            del due[bisect_left(due, alert.due_at)]

    def stacks_of(self, statuses: frozenset[AlertStatus]) -> WaitingStacks:
        """The stacks of the waiting alerts in these statuses."""
        stacks = self._stacks.get(statuses)
        if stacks is None:
            stacks = self._stacks[statuses] = WaitingStacks()
            for alert in self.by_id.values():
                if alert.status in statuses:
                    stacks.add(alert)
        return stacks

    def after(self, order: AlertOrder, key: _Key | None, as_of: int) -> Iterator[_Key]:
        """The keys behind ``key``, with the places as of a rowid."""
        former: dict[str, _Key] = {}
        for move in reversed(self._moves):
            if move.at <= as_of:
                break
            former[move.id] = move.former[order]
        sequence = self.orders[order]
        start = 0 if key is None else bisect_right(sequence, key)
        present = (each for each in islice(sequence, start, None) if each[1] not in former)
        moved = sorted(each for each in former.values() if each[1] in self.by_id and (key is None or each > key))
        return merge(present, moved) if moved else present


class WaitingCount(NamedTuple):
    """Waiting alerts of one program with equal words; ``band`` is None for an alert without a score."""

    program_id: str
    status: str
    sla_tier: str
    band: str | None
    alerts: int


class DueAlerts(NamedTuple):
    """By program: the numbers of alerts past their due time, and of alerts due within a span after it."""

    overdue: Counter[str]
    soon: Counter[str]


_COLUMNS: Final = select_list(WaitingAlertColumns)
_NEWEST_ROW: Final = "SELECT max(rowid) FROM alerts"
_FIRST: Final = f"""
    SELECT {_COLUMNS} FROM alerts SEMI JOIN (
        SELECT tenant_id, id, max("offset") AS "offset" FROM alerts WHERE rowid <= $upto GROUP BY ALL
    ) AS newest USING (tenant_id, id, "offset")
    WHERE rowid <= $upto AND status IN ({", ".join(f"'{status}'" for status in WAITING)})"""
_SINCE: Final = f"SELECT rowid, {_COLUMNS} FROM alerts WHERE rowid > ? ORDER BY rowid"
_ROW: Final = row_builder(WaitingAlert)
_NEWEST_ASSIGNMENT: Final = "SELECT coalesce(max(rowid), -1) FROM alert_assignments"
_ASSIGNED_SINCE: Final = """
    SELECT rowid, tenant_id, alert_id, coalesce(assignee, '') FROM alert_assignments WHERE rowid > ? ORDER BY rowid"""
_ASSIGNEES: Final = f"""
    SELECT alert_id, arg_max(coalesce(assignee, ''), "offset") FROM alert_assignments
    WHERE tenant_id = ? AND alert_id IN {TEXTS} GROUP BY alert_id"""


class WaitingAlertIndex(CommittedRows):
    """Thread-safe. One for the process."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self._lock = Lock()
        self._read_upto: int | None = None
        self._assigned_upto = -1
        self._wait_again: defaultdict[str, list[str]] = defaultdict(list)  # by tenant: their assignees are not read yet
        self.kept_rows = RowCache[tuple[Any, ...], Any](MOST_KEPT)
        self._of_tenant: dict[str, _TenantAlerts] = {}

    def page(
        self,
        principal: Principal,
        order: AlertOrder,
        matches: Callable[[WaitingAlert], bool],
        *,
        after: tuple[int, str] | None,
        as_of: int | None,
        limit: int,
    ) -> WaitingPage:
        """The first ``limit`` that match and are within the principal's reach, behind the place ``after``."""
        with self._lock:
            newest = self._catch_up()
            start = newest if as_of is None else as_of
            alerts, keys = self._tenant(principal), list[_Key]()
            behind = None if after is None else (-after[0], after[1])
            for key in alerts.after(order, behind, start):
                alert = alerts.by_id[key[1]]
                if principal.reaches(alert.program_id) and matches(alert):
                    keys.append(key)
                    if len(keys) > limit:
                        break
            page = keys[:limit]
            number = -page[-1][0] if page else 0
            return WaitingPage([alerts.by_id[id_] for _, id_ in page], start, len(keys) > limit, number)

    def counts(self, principal: Principal, program_ids: Sequence[str]) -> list[WaitingCount]:
        """The numbers of waiting alerts of these programs, by program, status, tier and band."""
        wanted = {program_id for program_id in program_ids if principal.reaches(program_id)}
        with self._lock:
            self._catch_up()
            numbers = [*self._tenant(principal).numbers.items()]
        return [WaitingCount(*words, number) for words, number in numbers if number and words[0] in wanted]

    def due(self, principal: Principal, program_ids: Sequence[str], *, now: int, within_us: int) -> DueAlerts:
        """The numbers of alerts of these programs that are overdue at ``now``, or due within ``within_us`` from it."""
        wanted = {program_id for program_id in program_ids if principal.reaches(program_id)}
        counts = DueAlerts(Counter(), Counter())
        with self._lock:
            self._catch_up()
            due = self._tenant(principal).due
            for program_id in wanted & due.keys():
                overdue = bisect_left(due[program_id], now)
                counts.overdue[program_id] = overdue
                counts.soon[program_id] = bisect_right(due[program_id], now + within_us) - overdue
        return DueAlerts(+counts.overdue, +counts.soon)

    def stacks(
        self,
        principal: Principal,
        order: StackSort,
        matches: Callable[[WaitingAlert], bool],
        *,
        statuses: frozenset[AlertStatus] = _ALL,
        after: tuple[int, str] | None,
        limit: int,
    ) -> list[PlacedStack]:
        """The first ``limit`` stacks behind a sort key and an id, of their waiting alerts in the statuses, of which
        one matches; a stack is of one program, which the principal reaches.
        """
        with self._lock:
            self._catch_up()
            behind = self._tenant(principal).stacks_of(statuses).after(order, after)
            reached = (stack for stack in behind if principal.reaches(stack.alerts[0].program_id))
            return [*islice((stack for stack in reached if any(map(matches, stack.alerts))), limit)]

    def every_stack(
        self, principal: Principal, statuses: frozenset[AlertStatus] = _ALL
    ) -> Sequence[tuple[str, Members]]:
        """The stacks within the principal's reach with their waiting alerts in the statuses."""
        with self._lock:
            self._catch_up()
            every = self._tenant(principal).stacks_of(statuses).every()
        if principal.program_ids is None:
            return every
        return [stack for stack in every if principal.reaches(stack[1][0].program_id)]

    def stack(self, principal: Principal, stack_id: str) -> Members:
        """The waiting alerts of a stack of the tenant, also outside the principal's reach."""
        with self._lock:
            self._catch_up()
            return self._tenant(principal).stacks_of(_ALL).members(stack_id)

    def warm(self) -> None:
        """Take in the table, so that no caller waits for it."""
        with self._lock:
            self._catch_up()

    def _tenant(self, principal: Principal) -> _TenantAlerts:
        return self._of_tenant.get(principal.tenant_id) or _TenantAlerts()

    def _catch_up(self) -> int:
        """Take in the rows since the last read; returns the newest rowid."""
        is_first = self._read_upto is None
        if is_first:
            self._assigned_upto = self._value(_NEWEST_ASSIGNMENT, [])
            newest = self._value(_NEWEST_ROW, [])
            upto = -1 if newest is None else newest
            rows = [(upto, *values) for values in self._read(_FIRST, {"upto": upto})]
            self._read_upto, assigned = upto, []
        else:
            assigned = self._read(_ASSIGNED_SINCE, [self._assigned_upto])
            rows = self._read(_SINCE, [self._read_upto])
        for at, *values in rows:
            alert = _ROW(values)
            begins = self._of_tenant.setdefault(alert.tenant_id, _TenantAlerts()).take(alert, at)
            if begins and (is_first or not alert.is_new):
                self._wait_again[alert.tenant_id].append(alert.id)
            self._read_upto = at
        for at, tenant_id, alert_id, assignee in assigned:
            self._of_tenant.setdefault(tenant_id, _TenantAlerts()).assign(alert_id, assignee)
            self._assigned_upto = at
        while self._wait_again:
            tenant_id, alert_ids = next(iter(self._wait_again.items()))
            for alert_id, assignee in self._read(_ASSIGNEES, [tenant_id, listed(alert_ids)]):
                self._of_tenant[tenant_id].assign(alert_id, assignee)
            del self._wait_again[tenant_id]
        assert self._read_upto is not None, "the table was taken in"
        return self._read_upto


def _assigned(alert: WaitingAlert, assignee: str) -> WaitingAlert:
    return alert if alert.assignee == assignee else msgspec.structs.replace(alert, assignee=assignee)


def _words_of(alert: WaitingAlert) -> tuple[str, str, str, str | None]:
    """The words of a ``WaitingCount``."""
    return alert.program_id, alert.status, alert.sla_tier, alert.band_at_alert


def _keys_of(alert: WaitingAlert) -> _Keys:
    return {order: (-place(alert), alert.id) for order, place in PLACES.items()}
