"""Bank events and their results, for reading; only ingest writes them.

Errors  NotFoundError for an event or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, or for an id that several programs have while the request names none of them
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import BankIds, CursorText, Moment, PageLimit, ProgramId, ProgramIds
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_operation
from clearhold.api.lists.lists import (
    DEFAULT_LIMIT,
    UNREADABLE,
    ListPage,
    ListReader,
    Place,
    filter_of,
    to_answer,
    unusable_cursor,
)
from clearhold.api.program_service import several_programs
from clearhold.features.bank.masking import masked_raw, object_in
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import MEANING_OF_RESULT, TAKES_EFFECT, EventResult, EventSubjectType
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.inputs import Consequences, EventFilter, Events

_TAG: Final = "events"
_OFFSET: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_OFFSET_LIMIT: Final = 2**63

UNKNOWN_EVENT: Final = "Unknown event on this tenant. One that has just been received can be read a moment later."
_RESULT_MEANING = " ".join(f"{result}: {meaning}" for result, meaning in MEANING_OF_RESULT.items())
_REASON = "One sentence on the result; null for most results."
_PATH = "The field that the sentence is about, such as data.amount."


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters and page of the list of events; ``from`` and ``to`` are of their arrival, and ``subjectType`` and
    ``subjectId`` of the transfers and parties that they are about.
    """

    program_id: ProgramIds | None = None
    subject_type: (
        Annotated[tuple[EventSubjectType, ...], msgspec.Meta(min_length=1, max_length=len(EventSubjectType))] | None
    ) = None
    subject_id: BankIds | None = None
    result: Annotated[tuple[EventResult, ...], msgspec.Meta(min_length=1, max_length=len(EventResult))] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class EventQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramId | None = None


class EventSubject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an event is about."""

    type: Annotated[EventSubjectType, about("What the event is about.")]
    id: Annotated[str, about("The bank's id of the transfer or party.")]


class EventDelivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One delivery under an event's id that is in the log."""

    received_at: Annotated[str, about("When it was made durable.")]
    result: Annotated[EventResult, msgspec.Meta(description=_RESULT_MEANING)]
    reason: Annotated[str | None, msgspec.Meta(description=_REASON)]
    path: Annotated[str | None, msgspec.Meta(description=_PATH)]
    corrects: Annotated[bool, about("True when events under this id came before and none of them took effect.")]


class EventSummary(EventDelivery, frozen=True, kw_only=True, rename="camel"):
    """One delivery of an event and its result."""

    id: Annotated[str, about("The event's id.")]
    tenant_id: Annotated[str, about("The tenant.")]
    program_id: Annotated[str, about("The program that it was sent to.")]
    type: Annotated[str, about("The event's type.")]
    created_at: Annotated[str, about("When the bank created it.")]
    subject: Annotated[EventSubject | None, about("What it is about, where that could be read.")]
    simulated: Simulated = msgspec.UNSET


class Event(EventSummary, frozen=True, kw_only=True, rename="camel"):
    """The delivery that took effect, else the newest one, with its consequences and all deliveries under the id."""

    raw: Annotated[
        dict[str, Any] | None, about("Its data as the bank sent it, masked; null while the log cannot be read.")
    ]
    alert_ids: Annotated[tuple[str, ...], about("The alerts that it opened or changed.")]
    preflight_id: Annotated[str | None, about("The pre-flight that was open on its transfer, if there was one.")]
    deliveries: Annotated[
        tuple[EventDelivery, ...],
        about("Newest first, at most 100, without exact repetitions."),
    ]


class EventPage(ListPage[EventSummary], frozen=True, kw_only=True, rename="camel"):
    """A page of deliveries, newest first."""


def to_delivery(row: EventRow) -> EventDelivery:
    received_at = format_instant(row.appended_at)
    return to_answer(row, EventDelivery, received_at=received_at, corrects=row.is_correction)


def to_summary(row: EventRow) -> EventSummary:
    subject = None
    if row.subject_type is not None and row.subject_id is not None:
        subject = EventSubject(type=EventSubjectType(row.subject_type), id=row.subject_id)
    received_at = format_instant(row.appended_at)
    return to_answer(
        row, EventSummary, id=row.event_id, received_at=received_at, corrects=row.is_correction, subject=subject
    )


def to_event(
    row: EventRow, consequences: Consequences, deliveries: tuple[EventDelivery, ...], raw: dict[str, Any] | None
) -> Event:
    consequent = msgspec.structs.asdict(consequences)
    return Event(**msgspec.structs.asdict(to_summary(row)), **consequent, deliveries=deliveries, raw=raw)


class EventService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._events = resources.programs, Events(resources.stores.database)
        self._log = resources.events
        self._list = ListReader(self._events.list_page, lambda _, rows: self._marked(rows), _place, _key)

    async def page(self, principal: Principal, query: EventsQuery) -> EventPage:
        """Every delivery, newest first by arrival; a programId of another tenant is a 404."""
        wanted = filter_of(EventFilter, query, self._programs.filter_by(principal, query.program_id))
        return EventPage.of(*await self._list.page(principal, wanted, query))

    async def read(self, principal: Principal, event_id: str, query: EventQuery) -> Event:
        return await in_reader(self._read, principal, event_id, query.program_id)

    def _read(self, principal: Principal, event_id: str, program_id: str | None) -> Event:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        rows = self._events.find(principal, event_id, named)
        if not rows:
            raise NotFoundError(UNKNOWN_EVENT, ErrorCode.EVENT_NOT_FOUND)
        if len({row.program_id for row in rows}) > 1:
            raise several_programs("an event")
        row = next((each for each in rows if each.result in TAKES_EFFECT), rows[0])
        event = to_event(row, self._events.consequences(row), tuple(map(to_delivery, rows)), self._raw(row))
        return self._programs.marked(event, row.program_id)

    def _raw(self, row: EventRow) -> dict[str, Any] | None:
        """The event's data in the log; an entry in neither place is lost with a part of the log."""
        try:
            entry = self._log.entry(row.shard, row.offset)
        except ConnectionError:
            return None
        return None if entry is None else masked_raw(object_in(entry.body))

    def _marked(self, rows: Sequence[EventRow]) -> list[EventSummary]:
        return [self._programs.marked(to_summary(row), row.program_id) for row in rows]


def _place(row: EventRow) -> Place:
    return Place(row.appended_at, str(row.offset), row.program_id)


def _key(place: Place) -> tuple[int, int, str]:
    if not _OFFSET.fullmatch(place.id) or int(place.id) >= _OFFSET_LIMIT:
        raise unusable_cursor(UNREADABLE)
    return place.at, int(place.id), place.program_id


_WRONG: Final = {
    "receivedAt": "2026-03-05T17:10:03.412Z",
    "result": "unusable",
    "reason": "data.amount must be whole cents, as an integer such as 985000 or the same as a string of digits.",
    "path": "data.amount",
    "corrects": False,
}
_RIGHT: Final = {
    "receivedAt": "2026-03-05T17:24:41.020Z",
    "result": "applied",
    "reason": None,
    "path": None,
    "corrects": True,
}
EVENT_SUMMARY: Final[dict[str, Any]] = examples_of(__file__)["event_summary"]
EVENT: Final[dict[str, Any]] = {
    **EVENT_SUMMARY,
    "alertIds": ["3b1f7c52-6a0e-5d0a-9f33-1d2c7b9e4a55"],
    "preflightId": None,
    "raw": {"id": "acht_2zExample0001", "amount": 985000, "status": "SETTLED"},
    "deliveries": [_RIGHT, _WRONG],
}

_LIST: Final = list_operation(
    "listEvents",
    tag=_TAG,
    summary="The results of bank events: every delivery in the log, newest first by arrival.",
    scope=KeyScope.ALERTS_READ,
    page=EventPage,
    query=EventsQuery,
    example=EVENT_SUMMARY,
)
_READ: Final = Operation(
    id="getEvent",
    tag=_TAG,
    summary="The result of one bank event, with its consequences. "
    "400 if several programs have an event of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Event},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.EVENT_NOT_FOUND),
    answer_example=EVENT,
    query=RequestSchema(EventQuery),
)


AREA: Final = Area(
    routes=(
        answer_route("/api/events", _LIST, _TAG, EventService.page),
        answer_route("/api/events/{event_id:str}", _READ, _TAG, EventService.read),
    ),
    provide={_TAG: EventService},
)
