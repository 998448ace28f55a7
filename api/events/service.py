"""Bank events and their results, for reading; only ingest writes them.

Errors  NotFoundError for an event or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, or for an id that several programs have while the request names none of them
"""

import re
from collections.abc import Sequence
from typing import Final

from anyio import to_thread

from clearhold.api.events.schemas import Event, EventPage, EventsQuery, EventSummary, to_delivery, to_event, to_summary
from clearhold.api.lists.cursors import UNREADABLE, Place, unusable_cursor
from clearhold.api.lists.list_reader import ListReader
from clearhold.api.lists.lists import instant_in
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.log_entry import TAKES_EFFECT
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import EventRow
from clearhold.store.duck.events import EventFilter, Events

_OFFSET: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_OFFSET_LIMIT: Final = 2**63

UNKNOWN_EVENT: Final = "Unknown event on this tenant. One that has just been received can be read a moment later."


class EventService:
    def __init__(self, *, programs: ProgramService, events: Events) -> None:
        self._programs, self._events = programs, events
        self._list = ListReader(
            read_page=events.list_page, items_of=lambda _, rows: self._marked(rows), place=_place, key=_key
        )

    async def page(self, principal: Principal, query: EventsQuery) -> EventPage:
        """Every delivery, newest first by arrival; a programId of another tenant is a 404."""
        wanted = EventFilter(
            program_ids=self._programs.filter_by(principal, query.program_id),
            results=query.result,
            received_from=instant_in(query.from_),
            received_to=instant_in(query.to),
        )
        return EventPage.of(*await self._list.page(principal, wanted, query))

    async def read(self, principal: Principal, event_id: str, program_id: str | None) -> Event:
        return await to_thread.run_sync(self._read, principal, event_id, program_id)

    def _read(self, principal: Principal, event_id: str, program_id: str | None) -> Event:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        rows = self._events.find(principal, event_id, named)
        if not rows:
            raise NotFoundError(UNKNOWN_EVENT, ErrorCode.EVENT_NOT_FOUND)
        if len({row.program_id for row in rows}) > 1:
            raise several_programs("an event")
        row = next((each for each in rows if each.result in TAKES_EFFECT), rows[0])
        event = to_event(row, self._events.consequences(row), tuple(map(to_delivery, rows)))
        return self._programs.marked(event, row.program_id)

    def _marked(self, rows: Sequence[EventRow]) -> list[EventSummary]:
        return [self._programs.marked(to_summary(row), row.program_id) for row in rows]


def _place(row: EventRow) -> Place:
    return Place(row.appended_at, str(row.offset), row.program_id)


def _key(place: Place) -> tuple[int, int, str]:
    if not _OFFSET.fullmatch(place.id) or int(place.id) >= _OFFSET_LIMIT:
        raise unusable_cursor(UNREADABLE)
    return place.at, int(place.id), place.program_id
