"""Assigning alerts over HTTP: one, or several with one entry of the log for each program.

Advice for people and no lock: anyone may decide an alert, and the last assignment counts.

Errors  NotFoundError for an alert that is not this tenant's; UnavailableError when an entry is not recorded in time:
        repeated under its key, the request goes on with the programs that are left
"""

from functools import partial
from typing import Annotated, Any, Final

import structlog

from clearhold.api.area import Area, Resources
from clearhold.api.assignments.schemas import (
    ASSIGNMENT,
    ASSIGNMENT_REQUEST,
    AssignedAlerts,
    Assignment,
    AssignmentOutcome,
    AssignmentRequest,
    AssignmentResult,
    RefusedAssignment,
)
from clearhold.api.http.auth import folded_name
from clearhold.api.http.fields import AlertIds
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import write_route
from clearhold.api.lists.lists import to_answer
from clearhold.api.log.commands import unknown_alert
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.commands import AssignEntry
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.alert_notes import AlertAssignments
from clearhold.store.duck.alerts import Alerts

log = structlog.get_logger()


class AlertsAssignmentRequest(AssignmentRequest, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_ids: Annotated[AlertIds, about("The alerts, at most 200; those of several programs are an entry for each.")]


class AssignmentService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs, self._commands = resources.programs, resources.command_log
        self._new_id = resources.stores.new_id
        self._alerts, self._assignments = Alerts(database), AlertAssignments(database)

    async def assign(
        self, principal: Principal, alert_id: str, request: AssignmentRequest, effect_id: str | None
    ) -> Assignment:
        """The assignment; a repeated ``effect_id`` returns the first one."""
        alert = await in_reader(self._alerts.find, principal, alert_id.lower())
        if alert is None:
            raise unknown_alert()
        result = await self._submit(principal, alert.program_id, [alert.id], request.assignee, effect_id)
        row = await in_reader(self._assignments.find, principal, derived_id(result.id, alert.id))
        assert row is not None, "an assignment that was made has a row"
        return self._programs.marked(to_answer(row, Assignment), row.program_id)

    async def assign_several(
        self, principal: Principal, request: AlertsAssignmentRequest, effect_id: str | None
    ) -> AssignedAlerts:
        """The result of each; an unknown alert is refused in its place."""
        alert_ids = [*dict.fromkeys(map(str, request.alert_ids))]
        by_program = await in_reader(self._alerts.by_program, principal, alert_ids)
        cause, assigned = effect_id or self._new_id(), frozenset[str]()
        for program_id, inside in by_program.items():
            of_program = derived_id(cause, program_id)
            result = await self._submit(principal, program_id, inside, request.assignee, of_program)
            read = partial(self._assignments.of_entry, principal, program_id, result.offset)
            assigned |= await in_reader(read)
        return AssignedAlerts.of(
            _folded(request.assignee), (_result_of(each, is_made=each in assigned) for each in alert_ids)
        )

    async def _submit(
        self, principal: Principal, program_id: str, alert_ids: list[str], assignee: str | None, effect_id: str | None
    ) -> EntryResultRow:
        entry = partial(
            AssignEntry,
            alert_ids=tuple(alert_ids),
            assignee=_folded(assignee),
            operator=principal.operator,
            principal_id=principal.id,
            identity=principal.identity,
        )
        result = await self._commands.submit(principal, EntryKind.ASSIGN, program_id, entry, effect_id=effect_id)
        log.info("alerts_assigned", entry_id=result.id, alerts=len(alert_ids), operator=principal.operator)
        return result


def _folded(assignee: str | None) -> str | None:
    return None if assignee is None else folded_name(assignee)


def _result_of(alert_id: str, *, is_made: bool) -> AssignmentResult:
    if is_made:
        return AssignmentResult(alert_id=alert_id, result=AssignmentOutcome.ASSIGNED)
    error = unknown_alert()
    reason = RefusedAssignment(error=str(error), code=error.code)
    return AssignmentResult(alert_id=alert_id, result=AssignmentOutcome.REFUSED, error=reason)


_UNKNOWN_ID: Final = "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11"
_SEVERAL: Final[dict[str, Any]] = {"alertIds": [ASSIGNMENT["alertId"], _UNKNOWN_ID], **ASSIGNMENT_REQUEST}
_ASSIGNED: Final[dict[str, Any]] = {
    **ASSIGNMENT_REQUEST,
    "assigned": 1,
    "refused": 1,
    "results": [
        {"alertId": ASSIGNMENT["alertId"], "result": "assigned", "error": None},
        {
            "alertId": _UNKNOWN_ID,
            "result": "refused",
            "error": {"error": str(unknown_alert()), "code": "alert_not_found"},
        },
    ],
}
_TAG: Final = "assignments"
_assigning: Final = partial(Operation, tag="alerts", access=Access.BEARER, scope=KeyScope.ALERTS_DECIDE)
_ASSIGN: Final = _assigning(
    id="assignAlert",
    summary="Assigns an alert to a person; null ends that. Any other person may still decide it.",
    answers={201: Assignment},
    refusals=(ErrorCode.ALERT_NOT_FOUND, ErrorCode.NOT_CONFIRMED),
    body=RequestSchema(AssignmentRequest),
    example=ASSIGNMENT_REQUEST,
    answer_example=ASSIGNMENT,
)
_ASSIGN_SEVERAL: Final = _assigning(
    id="assignAlerts",
    summary="Assigns up to 200 alerts, as those of a stack. The alerts of one program are one entry of the log.",
    answers={200: AssignedAlerts},
    refusals=(ErrorCode.NOT_CONFIRMED,),
    body=RequestSchema(AlertsAssignmentRequest),
    example=_SEVERAL,
    answer_example=_ASSIGNED,
)

AREA: Final = Area(
    routes=(
        write_route("/api/alerts/{alert_id:str}/assign", _ASSIGN, _TAG, AssignmentService.assign),
        write_route("/api/alerts/assign", _ASSIGN_SEVERAL, _TAG, AssignmentService.assign_several),
    ),
    provide={_TAG: AssignmentService},
)
