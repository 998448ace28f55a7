"""Pages of alerts in any order, and alerts without their evidence: rows for people who choose what to open.

Errors  InvalidRequestError for a cursor of another list
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

from clearhold.api.alerts.schemas import ALERT, AlertsQuery
from clearhold.api.area import Resources
from clearhold.api.http.reading import in_reader
from clearhold.api.http.validation import Failure
from clearhold.api.lists.lists import (
    DEFAULT_LIMIT,
    ListPage,
    Place,
    cursor_for,
    moments_exist,
    place_of,
)
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal, Simulated
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import (
    WAITING,
    AlertStatus,
    Band,
    Route,
    Severity,
    SlaTier,
    SubjectType,
    about,
    minted,
)
from clearhold.store.duck.alert_lists import (
    AlertLists,
    AlertSummaries,
    AlertSummaryRow,
    ListPlace,
    SubjectNames,
)
from clearhold.store.duck.alert_notes import AlertAssignments
from clearhold.store.duck.alert_orders import PLACES, AlertOrder
from clearhold.store.duck.alerts import AlertFilter
from clearhold.store.duck.committed_rows import RowKey

NEWEST_TRANSFERS: Final = 5

Row = TypeVar("Row", AlertRow, AlertSummaryRow)
Item = TypeVar("Item")


class AlertSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An alert without its evidence."""

    id: Annotated[str, minted("alert")]
    program_id: str
    status: Annotated[AlertStatus, about("The alert's status.")]
    detector: str
    severity: Severity
    hard_signal: Annotated[bool, about("Whether a person must decide it.")]
    band_at_alert: Annotated[Band | None, about("Band of that score; null without one.")]
    score_at_alert: Annotated[int | None, about("Score at the opening; null without one.")]
    sla_tier: SlaTier | None
    route: Route | None
    due_at: str | None
    opened_at: str
    subject_type: Annotated[SubjectType, about("What the alert is about.")]
    subject_id: Annotated[str, about("The bank's id of what the alert is about.")]
    subject_name: Annotated[str | None, about("Name of an entity, counterparty or program; null while unknown.")]
    transfer_id: Annotated[str | None, about("The bank's id of the transfer; null when none is concerned.")]
    amount_cents: Annotated[str | None, about("Of the newest transfer found, in its currency; null without one.")]
    currency: Annotated[str | None, about("Currency of amountCents; null without one.")]
    sentence: Annotated[str, about("The newest finding in words.")]
    transfer_count: Annotated[int, about("How many transfers it rests on.")]
    transfer_ids: Annotated[tuple[str, ...], about(f"The newest {NEWEST_TRANSFERS} transfers found, the newest last.")]
    from_history: bool
    stack_id: Annotated[str | None, about("The stack of alerts that are looked at together; null without one.")]
    assignee: Annotated[str | None, about("The person that works on it; null: unassigned.")]
    simulated: Simulated = msgspec.UNSET


class AlertSummaryPage(ListPage[AlertSummary], frozen=True, kw_only=True, rename="camel"):
    pass


def sort_is_of_waiting(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """Instants as in all lists; and only waiting alerts are due."""
    yield from moments_exist(plain)
    statuses = plain.get("status") or ()
    if plain.get("sort") == AlertOrder.DUE_AT and not set(statuses) <= set(WAITING):
        words = "must not be dueAt with a status other than open, held or escalated: no other alert is due"
        yield Failure("sort", words, FieldCode.CONFLICTING)


class AlertPages:
    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs = resources.programs
        self._lists, self._names = AlertLists(database, resources.waiting_alerts), SubjectNames(database)
        self._summaries = AlertSummaries(database, resources.waiting_alerts)
        self._assignments = AlertAssignments(database)

    async def read(
        self,
        principal: Principal,
        wanted: AlertFilter,
        query: AlertsQuery,
        rows_of: Callable[[Principal, Sequence[RowKey]], list[Row]],
        items_of: Callable[[Principal, Sequence[Row]], Sequence[Item]],
    ) -> tuple[Sequence[Item], str | None]:
        """The items of a page, and the cursor of the next one; ``now`` is no part of the filters of a cursor."""
        filters = msgspec.structs.replace(wanted, now=0)
        after = None
        if query.cursor is not None:
            place = place_of(query.cursor, filters)
            after = ListPlace(place.at, place.id, place.as_of)

        def read() -> tuple[Sequence[Item], str | None]:
            page = self._lists.page(principal, wanted, after, query.limit or DEFAULT_LIMIT)
            rows = rows_of(principal, page.keys)
            cursor = None
            if page.has_more:
                newest = rows[-1]
                last = page.last or ListPlace(PLACES[wanted.sort](newest), newest.id, 0)
                cursor = cursor_for(Place(last.number, last.id, newest.program_id, last.as_of), filters)
            return items_of(principal, rows), cursor

        return await in_reader(read)

    async def summaries(self, principal: Principal, wanted: AlertFilter, query: AlertsQuery) -> AlertSummaryPage:
        page = await self.read(principal, wanted, query, self._summaries.of_keys, self._to_summaries)
        return AlertSummaryPage.of(*page)

    def summaries_at(self, principal: Principal, keys: Sequence[RowKey]) -> list[AlertSummary]:
        """The alerts of these keys, in their order; for a worker thread."""
        return self._to_summaries(principal, self._summaries.of_keys(principal, keys))

    def _to_summaries(self, principal: Principal, rows: Sequence[AlertSummaryRow]) -> list[AlertSummary]:
        names = self._names.of(principal, {(row.subject_type, row.program_id, row.subject_id) for row in rows})
        assignees = self._assignments.assignees(principal, [row.id for row in rows])
        return [self._to_summary(principal, row, names, assignees.get(row.id)) for row in rows]

    def _to_summary(
        self,
        principal: Principal,
        row: AlertSummaryRow,
        names: Mapping[tuple[str, str, str], str | None],
        assignee: str | None,
    ) -> AlertSummary:
        name = names.get((row.subject_type, row.program_id, row.subject_id))
        if row.subject_type == SubjectType.PROGRAM:
            name = self._programs.read(principal, row.program_id).name
        figures = row.figures
        ids = figures.transfer_ids
        summary = AlertSummary(
            id=row.id,
            program_id=row.program_id,
            status=AlertStatus(row.status),
            detector=row.detector,
            severity=Severity(row.severity),
            hard_signal=row.hard_signal,
            band_at_alert=None if row.band_at_alert is None else Band(row.band_at_alert),
            score_at_alert=row.score_at_alert,
            sla_tier=SlaTier(row.sla_tier),
            route=Route(row.route),
            due_at=None if row.due_at is None else format_instant(row.due_at),
            opened_at=format_instant(row.opened_at),
            subject_type=SubjectType(row.subject_type),
            subject_id=row.subject_id,
            subject_name=name,
            transfer_id=row.transfer_id,
            amount_cents=figures.amount_cents,
            currency=figures.currency,
            sentence=figures.finding or row.summary,
            transfer_count=len(ids) if figures.rests_on_count is None else figures.rests_on_count,
            transfer_ids=ids[-NEWEST_TRANSFERS:],
            from_history=row.from_history,
            stack_id=row.stack_id,
            assignee=assignee,
        )
        return self._programs.marked(summary, row.program_id)


_SHARED: Final = frozenset(AlertSummary.__struct_encode_fields__)
ALERT_SUMMARY: Final[dict[str, Any]] = {name: value for name, value in ALERT.items() if name in _SHARED} | {
    "subjectName": "Ada Example",
    "amountCents": "285000",
    "currency": "USD",
    "sentence": ALERT["evidence"]["finding"],
    "transferCount": 1,
    "transferIds": ["acht_2zExample0001"],
}
