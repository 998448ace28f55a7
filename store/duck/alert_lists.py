"""Lists of alerts in any order: pages of keys, and alerts without their evidence.

How     Of alerts that wait, pages come from memory (``waiting_alerts.py``); of all others, from the table, whose orders
        are by numbers that never change, or, ``worst``, only rise. Only waiting alerts are due: the order ``dueAt`` has
        no others. An account's alerts are about it or rest on a transfer of it
Errors  none
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.entries.actions import person_key
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import WAITING, SubjectType
from clearhold.store.duck.alert_orders import SCORE_PLACE, AlertOrder
from clearhold.store.duck.alerts import AlertFilter, Alerts, assignee_keys
from clearhold.store.duck.committed_rows import CommittedRows, RowKey, Timeline, order_words
from clearhold.store.duck.waiting_alert import WaitingAlert
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.tables import TEXTS, Predicate, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_ORDERS: Final[Mapping[AlertOrder, Mapping[str, str]]] = {
    AlertOrder.WORST: order_words(rank="queue_rank"),
    AlertOrder.SCORE: order_words(rank=f"({SCORE_PLACE})"),
    AlertOrder.OPENED_AT: order_words(at="opened_at"),
}
_IDS: Final = "SELECT DISTINCT id FROM alerts WHERE {matching}"


class ListPlace(NamedTuple):
    """The number and id of the last alert on a page, and ``as_of`` of the list's first page."""

    number: int
    id: str
    as_of: int


class KeyPage(NamedTuple):
    """Keys of alerts in order; ``last`` is the place of the last one, None where the alert's row gives its number."""

    keys: list[RowKey]
    has_more: bool
    last: ListPlace | None


class AlertLists:
    """Thread-safe."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, waiting: WaitingAlertIndex) -> None:
        self._table, self._ids, self._waiting = Alerts(connection), AllowedIds(connection), waiting

    def page(self, principal: Principal, wanted: AlertFilter, after: ListPlace | None, limit: int) -> KeyPage:
        """The keys of at most ``limit`` alerts after ``after``."""
        if waits_only(wanted):
            return self._of_waiting(principal, wanted, after, limit)
        place = None if after is None else (after.number, after.id)
        order = _ORDERS[wanted.sort]
        keys = self._table.page_keys(principal, wanted.predicate(principal), place, limit + 1, order)
        return KeyPage(keys[:limit], len(keys) > limit, None)

    def _of_waiting(self, principal: Principal, wanted: AlertFilter, after: ListPlace | None, limit: int) -> KeyPage:
        page = self._waiting.page(
            principal,
            wanted.sort,
            matcher(wanted, self._ids.narrowed(principal, wanted)),
            after=None if after is None else (after.number, after.id),
            as_of=None if after is None else after.as_of,
            limit=limit,
        )
        last = ListPlace(page.number, page.alerts[-1].id, page.as_of) if page.alerts else None
        return KeyPage([(alert.id, alert.offset) for alert in page.alerts], page.has_more, last)


def waits_only(wanted: AlertFilter) -> bool:
    """Whether only waiting alerts can match."""
    is_asked = wanted.statuses is not None and set(wanted.statuses) <= set(WAITING)
    return wanted.sort is AlertOrder.DUE_AT or wanted.overdue is True or is_asked


_FILTERS: Final = tuple(name for name in AlertFilter.__struct_fields__ if name not in {"sort", "now"})


def matcher(wanted: AlertFilter, ids: frozenset[str] | None) -> Callable[[WaitingAlert], bool]:
    """The filters as a function; ``ids`` are the alerts that the filters on other tables allow, None for any."""
    among = [
        (name, frozenset(values))
        for name, values in (
            ("id", ids),
            ("program_id", wanted.program_ids),
            ("status", wanted.statuses),
            ("route", wanted.routes),
            ("detector", wanted.detectors),
            ("severity", wanted.severities),
            ("sla_tier", wanted.sla_tiers),
            ("band_at_alert", wanted.bands),
            ("subject_type", wanted.subject_types),
            ("subject_id", wanted.subject_ids),
            ("stack_id", wanted.stack_ids),
        )
        if values is not None
    ]
    if all(getattr(wanted, name) is None for name in _FILTERS) and ids is None:
        return _is_any
    start, end, now = wanted.opened_from, wanted.opened_to, wanted.now
    assignees = None if wanted.assignees is None else assignee_keys(wanted.assignees)

    def matches(alert: WaitingAlert) -> bool:
        is_overdue = alert.due_at is not None and alert.due_at < now
        return (
            all(getattr(alert, name) in values for name, values in among)
            and (start is None or alert.opened_at >= start)
            and (end is None or alert.opened_at < end)
            and (assignees is None or person_key(alert.assignee) in assignees)
            and (wanted.from_history is None or alert.from_history is wanted.from_history)
            and (wanted.overdue is None or is_overdue is wanted.overdue)
        )

    return matches


def _is_any(_: WaitingAlert) -> bool:
    return True


class AllowedIds(CommittedRows):
    def narrowed(self, principal: Principal, wanted: AlertFilter) -> frozenset[str] | None:
        """The alerts that the filters on other tables allow; None without such a filter."""
        predicate = Predicate(principal)
        if not wanted.narrow(principal, predicate):
            return None
        return frozenset(id_ for (id_,) in self._read(_IDS.format(matching=predicate.sql), predicate.values))


class AlertFigures(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The figures of evidence that a summary has; that of an appeal has the transfers alone."""

    finding: str | None = None
    amount_cents: str | None = None
    currency: str | None = None
    rests_on_count: int | None = None
    transfer_ids: tuple[str, ...] = ()


_FIGURES: Final = msgspec.json.Decoder(AlertFigures)


class AlertSummaryRow(msgspec.Struct, frozen=True):
    """The columns of an alert's summary."""

    tenant_id: str
    program_id: str
    id: str
    offset: int
    detector: str
    severity: str
    subject_type: str
    subject_id: str
    transfer_id: str | None
    summary: str
    score_at_alert: int | None
    band_at_alert: str | None
    hard_signal: bool
    status: str
    route: str
    opened_at: int
    due_at: int | None
    sla_tier: str
    from_history: bool
    queue_rank: int
    stack_id: str | None
    evidence: str  # JSON; of a row in memory, the figures alone

    @property
    def figures(self) -> AlertFigures:
        return _FIGURES.decode(self.evidence)


class AlertSummaries(
    Timeline[AlertSummaryRow, AlertSummaryRow], table="alerts", row_type=AlertSummaryRow, rank="queue_rank"
):
    """Reads the rows of keys. They are kept in memory without the rest of their evidence: it is scattered over the
    table, and most of the cost of a page.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, waiting: WaitingAlertIndex) -> None:
        super().__init__(connection)
        self._kept = waiting.kept_rows

    def of_keys(self, principal: Principal, keys: Sequence[RowKey]) -> list[AlertSummaryRow]:
        tenant_id = principal.tenant_id

        def read(missing: list[RowKey]) -> dict[RowKey, AlertSummaryRow]:
            rows = super(AlertSummaries, self).of_keys(principal, [key[1:] for key in missing])
            return {(tenant_id, row.id, row.offset): _without_rest(row) for row in rows}

        return self._kept.read([(tenant_id, *key) for key in keys], read)


def _without_rest(row: AlertSummaryRow) -> AlertSummaryRow:
    return msgspec.structs.replace(row, evidence=msgspec.json.encode(row.figures).decode())


_NAMES: Final = f"""
    SELECT '{{kind}}', program_id, id, arg_max(name, "offset") FROM {{table}}
    WHERE tenant_id = ? AND id IN {TEXTS} GROUP BY ALL"""
_NAMED: Final = {SubjectType.ENTITY: "entities", SubjectType.COUNTERPARTY: "counterparties"}
_OWNERS: Final = f"""
    SELECT program_id, account_id, arg_max(name, "offset") FROM (
        SELECT program_id, id AS account_id, arg_max(entity_id, "offset") AS id FROM accounts
        WHERE tenant_id = ? AND id IN {TEXTS} GROUP BY program_id, account_id
    ) JOIN entities USING (program_id, id) WHERE tenant_id = ? GROUP BY program_id, account_id"""

SubjectKey = tuple[str, str, str]
"""Type, program and id of a subject."""


class SubjectNames(CommittedRows):
    def of(self, principal: Principal, subjects: set[SubjectKey]) -> dict[SubjectKey, str | None]:
        """The newest names of entities and counterparties; the others are left out."""
        names: dict[SubjectKey, str | None] = {}
        for kind, table in _NAMED.items():
            ids = sorted({id_ for type_, _, id_ in subjects if type_ == kind})
            if ids:
                tuples = self._read(_NAMES.format(kind=kind, table=table), [principal.tenant_id, listed(ids)])
                names |= {(type_, program, id_): name or None for type_, program, id_, name in tuples}
        return names

    def of_owners(self, principal: Principal, subjects: set[SubjectKey]) -> dict[SubjectKey, str | None]:
        """The newest names of the owners of accounts; accounts without a known owner are left out."""
        ids = sorted({id_ for type_, _, id_ in subjects if type_ == SubjectType.ACCOUNT})
        tuples = self._read(_OWNERS, [principal.tenant_id, listed(ids), principal.tenant_id]) if ids else []
        return {(SubjectType.ACCOUNT.value, program, id_): name or None for program, id_, name in tuples}
