"""Bank events and their results, for reading."""

from typing import Any, Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.events.schemas import Event, EventPage, EventQuery, EventsQuery
from clearhold.api.events.service import EventService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.lists import next_link
from clearhold.api.lists.operations import list_operation
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.events import Events

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
EVENT_SUMMARY: Final[dict[str, Any]] = {
    **_RIGHT,
    "id": "evnt_2zA0005",
    "tenantId": "5f2b6f6e-0f0f-4f2e-9b42-6c0f3a7e1d10",
    "programId": "0d4c9d1e-7c55-4b0b-8a6e-2f6d5f1c9b21",
    "type": "wire.outgoing_transfer.initiated",
    "createdAt": "2026-03-05T17:10:03.000Z",
    "subject": {"type": "transfer", "id": "wire_2zOut01"},
}
EVENT: Final[dict[str, Any]] = {
    **EVENT_SUMMARY,
    "alertIds": ["3b1f7c52-6a0e-5d0a-9f33-1d2c7b9e4a55"],
    "preflightId": None,
    "deliveries": [_RIGHT, _WRONG],
}


_TAG: Final = "events"

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
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.EVENT_NOT_FOUND),
    answer_example=EVENT,
    query=RequestSchema(EventQuery),
)


@get("/api/events", opt=_LIST.as_opt)
async def list_events(request: ApiRequest, events: NamedDependency[EventService]) -> Response[EventPage]:
    page = await events.page(principal_of(request.scope), query_of(request.scope, EventsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/events/{event_id:str}", opt=_READ.as_opt)
async def get_event(event_id: FromPath[str], request: ApiRequest, events: NamedDependency[EventService]) -> Event:
    program_id = query_of(request.scope, EventQuery).program_id
    return await events.read(principal_of(request.scope), event_id, program_id)


def _events(resources: Resources) -> EventService:
    return EventService(programs=resources.programs, events=Events(resources.stores.database))


AREA: Final = Area(routes=(list_events, get_event), provide={"events": _events})
