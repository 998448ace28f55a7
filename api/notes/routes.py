"""Notes on an alert over HTTP: written while it waits and after it is closed, and read. A note decides nothing.

Errors  NotFoundError for an alert that is not this tenant's; InvalidRequestError for a cursor of another list;
        UnavailableError when a note is not recorded in time
"""

from functools import partial
from typing import Final

import structlog

from clearhold.api.area import Area, Resources
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_operation, write_route
from clearhold.api.lists.lists import ListReader, place_by, place_key
from clearhold.api.log.commands import unknown_alert
from clearhold.api.notes.schemas import (
    NOTE,
    NOTE_REQUEST,
    AlertNote,
    AlertNotePage,
    NoteRequest,
    NotesQuery,
    to_note,
)
from clearhold.features.core.entries.commands import NoteEntry
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.store.duck.alert_notes import AlertNotes, OfAlertFilter, StoredNote
from clearhold.store.duck.alerts import Alerts

log = structlog.get_logger()


class NoteService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs, self._commands = resources.programs, resources.command_log
        self._alerts, self._notes = Alerts(database), AlertNotes(database)
        self._list = ListReader(
            self._notes.list_page, lambda _, rows: [*map(self._marked, rows)], place_by("created_at"), place_key
        )

    async def add(self, principal: Principal, alert_id: str, request: NoteRequest, effect_id: str | None) -> AlertNote:
        """The note; a repeated ``effect_id`` returns the first one."""
        alert = await self._alert(principal, alert_id)
        entry = partial(
            NoteEntry,
            alert_id=alert.id,
            alert_sha256=alert.alert_sha256,
            note=request.note,
            operator=principal.operator,
            principal_id=principal.id,
            identity=principal.identity,
        )
        result = await self._commands.submit(principal, EntryKind.NOTE, alert.program_id, entry, effect_id=effect_id)
        stored = await in_reader(self._notes.find, principal, result.id)
        assert stored is not None, "a note that was made has a row"
        log.info("alert_noted", alert_id=alert.id, note_id=result.id, operator=principal.operator)
        return self._marked(stored)

    async def page(self, principal: Principal, alert_id: str, query: NotesQuery) -> AlertNotePage:
        """Newest first."""
        alert = await self._alert(principal, alert_id)
        return AlertNotePage.of(*await self._list.page(principal, OfAlertFilter(alert_ids=(alert.id,)), query))

    async def _alert(self, principal: Principal, alert_id: str) -> AlertRow:
        row = await in_reader(self._alerts.find, principal, alert_id.lower())
        if row is None:
            raise unknown_alert()
        return row

    def _marked(self, stored: StoredNote) -> AlertNote:
        return self._programs.marked(to_note(stored), stored.row.program_id)


_TAG: Final = "notes"
_PATH: Final = "/api/alerts/{alert_id:str}/notes"
_ADD: Final = Operation(
    id="addAlertNote",
    tag="alerts",
    summary="Writes a note on an alert, whatever its status. It is a link of the record and cannot be changed.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_DECIDE,
    answers={201: AlertNote},
    refusals=(ErrorCode.ALERT_NOT_FOUND, ErrorCode.NOT_CONFIRMED),
    body=RequestSchema(NoteRequest),
    example=NOTE_REQUEST,
    answer_example=NOTE,
)
_LIST: Final = list_operation(
    "listAlertNotes",
    tag="alerts",
    summary="The notes on one alert, newest first.",
    scope=KeyScope.ALERTS_READ,
    page=AlertNotePage,
    query=NotesQuery,
    example=NOTE,
    refusals=(ErrorCode.ALERT_NOT_FOUND,),
)

AREA: Final = Area(
    routes=(
        write_route(_PATH, _ADD, _TAG, NoteService.add),
        answer_route(_PATH, _LIST, _TAG, NoteService.page),
    ),
    provide={_TAG: NoteService},
)
