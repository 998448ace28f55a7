"""Alerts over HTTP: the queue, one alert with all that its decision needs, the whole list; decisions and appeals.

A decision and an appeal are requested here and decided by the flow alone (``api/log/commands.py``).

Errors  NotFoundError for an alert or program that is not this tenant's; ConflictError when the alert's state does not
        allow it; InvalidRequestError for a cursor of another list, and for a key that signs in place of a person;
        UnavailableError when it is not recorded in time, and while the log that holds the bank's own object cannot be
        read
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec
import structlog

from clearhold.api.actions.schemas import Action, to_action
from clearhold.api.alerts.schemas import (
    ALERT,
    ALERT_DETAIL,
    APPEAL_REQUEST,
    APPEALED,
    DECISION_REQUEST,
    Alert,
    AlertDetail,
    AlertExportQuery,
    AlertFilters,
    AlertPage,
    AlertsQuery,
    AppealRequest,
    DecisionRequest,
)
from clearhold.api.alerts.summaries import ALERT_SUMMARY, AlertPages, AlertSummaryPage, sort_is_of_waiting
from clearhold.api.area import Area, Resources
from clearhold.api.assignments.schemas import Assignment
from clearhold.api.dispositions.routes import DISPOSITION, Disposition, to_disposition
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import Batches
from clearhold.api.lists.handlers import answer_route, export_operation, export_route, list_operation, write_route
from clearhold.api.lists.lists import BATCH, batches_of, filter_of, to_answer
from clearhold.api.log.commands import person_needed, unknown_alert
from clearhold.api.notes.schemas import NEWEST_NOTES, AlertNote, to_note
from clearhold.api.transfers.service import Transfer, TransferQuery, TransferService
from clearhold.features.alerts.evidence_bodies import Draft
from clearhold.features.core.entries.commands import AppealEntry, DecisionEntry, OperatorKind, needs_person
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal, is_key_operator
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import Reason
from clearhold.store.duck.alert_notes import AlertAssignments, AlertNotes
from clearhold.store.duck.alerts import Actions, AlertFilter, Alerts, Dispositions

OFFSETS: Final = ("restsOn", "layeringHops", "roundTrip")
"""Fields of evidence that hold log offsets of transfers."""
_DRAFT: Final = msgspec.json.Decoder(Draft)

log = structlog.get_logger()


class AlertService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._commands = resources.programs, resources.command_log
        self._alerts, self._actions = Alerts(stores.database), Actions(stores.database)
        self._dispositions, self._transfers = Dispositions(stores.database), TransferService(resources)
        self._notes, self._assignments = AlertNotes(stores.database), AlertAssignments(stores.database)
        self._clock = stores.clock
        self._pages = AlertPages(resources)

    async def page(self, principal: Principal, query: AlertsQuery) -> AlertPage:
        """The worst first, or in another order; a programId of another tenant is a 404."""
        wanted = self._as_of_now(self._store_filter(principal, query))
        page = await self._pages.read(principal, wanted, query, self._alerts.of_keys, self._to_alerts)
        return AlertPage.of(*page)

    async def summaries(self, principal: Principal, query: AlertsQuery) -> AlertSummaryPage:
        """The same list without evidence."""
        wanted = self._as_of_now(self._store_filter(principal, query))
        return await self._pages.summaries(principal, wanted, query)

    async def export(self, principal: Principal, filters: AlertFilters) -> Batches:
        """All alerts of the list, batch by batch; a programId of another tenant is a 404 at once."""
        wanted = self._as_of_now(self._store_filter(principal, filters))
        rows = self._alerts.export(principal, wanted, BATCH)
        return batches_of(rows, partial(self._to_alerts, principal))

    async def read(self, principal: Principal, alert_id: str) -> AlertDetail:
        row = await self._row(principal, alert_id)
        (alert,) = await in_reader(self._to_alerts, principal, [row])
        transfer = await self._transfer(principal, row)
        notes, note_count, assignments = await in_reader(self._notes_of, principal, row.id)
        return AlertDetail(
            alert=alert,
            transfer=transfer,
            reasons=_reasons(alert, transfer),
            draft=None if row.draft is None else _DRAFT.decode(row.draft),
            dispositions=await self._dispositions_of(principal, row.id),
            actions=tuple(
                self._programs.marked(to_action(each), each.row.program_id)
                for each in await in_reader(self._actions.of_alert, principal, row.id)
            ),
            notes=notes,
            note_count=note_count,
            assignments=assignments,
        )

    async def dispositions(self, principal: Principal, alert_id: str) -> tuple[Disposition, ...]:
        """The decisions on one alert, oldest first."""
        return await self._dispositions_of(principal, (await self._row(principal, alert_id)).id)

    async def decide(
        self, principal: Principal, alert_id: str, request: DecisionRequest, effect_id: str | None
    ) -> Disposition | Action:
        """The disposition of this decision, or the action with which it waits for a second person.

        A repeated ``effect_id`` returns the first one.
        """
        alert = await self._row(principal, alert_id)
        kind = OperatorKind.KEY if is_key_operator(principal.operator) else OperatorKind.PERSON
        if needs_person(kind, alert.status, alert.route):
            raise person_needed()
        decision = partial(
            DecisionEntry,
            alert_id=alert.id,
            decision=request.decision,
            narrative=request.narrative,
            operator=principal.operator,
            identity=principal.identity,
            operator_kind=kind,
            principal_id=principal.id,
        )
        result = await self._commands.submit(
            principal, EntryKind.DECISION, alert.program_id, decision, effect_id=effect_id
        )
        if result.disposition_id is None:
            action = await in_reader(self._actions.find, principal, result.id)
            assert action is not None, "a decision that waits has an action"
            log.info("decision_requested", alert_id=alert.id, action_id=result.id, operator=principal.operator)
            return self._programs.marked(to_action(action), alert.program_id)
        stored = await in_reader(self._dispositions.find, principal, result.id)
        assert stored is not None, "a decision that was made has a disposition"
        log.info("alert_decided", alert_id=alert.id, disposition_id=stored.row.id, operator=principal.operator)
        return self._programs.marked(to_disposition(stored), stored.row.program_id)

    async def appeal(self, principal: Principal, alert_id: str, request: AppealRequest, effect_id: str | None) -> Alert:
        """The alert that the appeal opened; a repeated ``effect_id`` returns the first one."""
        alert = await self._row(principal, alert_id)
        appeal = partial(AppealEntry, alert_id=alert.id, reason=request.reason, operator=principal.operator)
        result = await self._commands.submit(principal, EntryKind.APPEAL, alert.program_id, appeal, effect_id=effect_id)
        opened = await self._row(principal, result.opened_alert_id or "")
        log.info("alert_appealed", alert_id=alert.id, opened_alert_id=opened.id, operator=principal.operator)
        (answer,) = await in_reader(self._to_alerts, principal, [opened])
        return answer

    async def _dispositions_of(self, principal: Principal, alert_id: str) -> tuple[Disposition, ...]:
        stored = await in_reader(self._dispositions.of_alert, principal, alert_id)
        return tuple(self._programs.marked(to_disposition(each), each.row.program_id) for each in stored)

    def _notes_of(
        self, principal: Principal, alert_id: str
    ) -> tuple[tuple[AlertNote, ...], int, tuple[Assignment, ...]]:
        """The newest notes on an alert, how many there are, and the newest assignments."""
        marked = self._programs.marked
        notes = self._notes.newest(principal, alert_id, NEWEST_NOTES)
        assigned = self._assignments.newest(principal, alert_id, NEWEST_NOTES)
        return (
            tuple(marked(to_note(each), each.row.program_id) for each in notes),
            self._notes.count(principal, alert_id),
            tuple(marked(to_answer(each, Assignment), each.program_id) for each in assigned),
        )

    async def _row(self, principal: Principal, alert_id: str) -> AlertRow:
        row = await in_reader(self._alerts.find, principal, alert_id.lower())
        if row is None:
            raise unknown_alert()
        return row

    async def _transfer(self, principal: Principal, row: AlertRow) -> Transfer | None:
        if row.transfer_id is None:
            return None
        return await self._transfers.read(principal, row.transfer_id, TransferQuery(program_id=row.program_id))

    def _as_of_now(self, wanted: AlertFilter) -> AlertFilter:
        """The time is added to the filters for each read."""
        return msgspec.structs.replace(wanted, now=self._clock.now())

    def _store_filter(self, principal: Principal, filters: AlertFilters) -> AlertFilter:
        return filter_of(AlertFilter, filters, self._programs.filter_by(principal, filters.program_id))

    def _to_alerts(self, principal: Principal, rows: Sequence[AlertRow]) -> list[Alert]:
        """Alerts for callers: stored evidence names transfers by log offset, the answer by id."""
        evidence: list[dict[str, Any]] = [msgspec.json.decode(row.evidence) for row in rows]
        of_offsets = [
            (row.program_id, fields)
            for row, stored in zip(rows, evidence, strict=True)
            for fields in (stored, stored.get("path") or {})
        ]
        places = [
            (program, name, fields)
            for program, fields in of_offsets
            for name in OFFSETS
            if isinstance(fields.get(name), list)
        ]
        ids = self._alerts.transfers_at(
            principal, [(program, int(at)) for program, name, fields in places for at in fields[name]]
        )
        for program, name, fields in places:
            fields[name] = [ids[place] for at in fields[name] if (place := (program, int(at))) in ids]
        assignees = self._assignments.assignees(principal, [row.id for row in rows])
        return [
            self._programs.marked(
                to_answer(row, Alert, evidence=stored, assignee=assignees.get(row.id)), row.program_id
            )
            for row, stored in zip(rows, evidence, strict=True)
        ]


def _reasons(alert: Alert, transfer: Transfer | None) -> tuple[Reason, ...]:
    """The reasons of the score at which the alert opened; for an appeal, which has none, those of the transfer's."""
    for name in ("scoreReasons", "reasons"):  # alerts of earlier versions have the detector's reasons only
        if name in alert.evidence:
            return msgspec.convert(alert.evidence[name], tuple[Reason, ...])
    return () if transfer is None or transfer.score_inputs is None else transfer.score_inputs.reasons


_TAG: Final = "alerts"
_PATH: Final = "/api/alerts/{alert_id:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_READ)
_deciding: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_DECIDE)


_ORDERS: Final = (
    "`sort=dueAt` has the soonest due first and only alerts that wait. Pages of waiting alerts keep the order of the "
    "first page while alerts change; in other lists an alert that becomes worse moves ahead."
)
_LIST: Final = list_operation(
    "listAlerts",
    tag=_TAG,
    summary=f"Alerts, the worst first: hard ones, then the hold band, then by severity, and the newest of equal ones "
    f"first. {_ORDERS}",
    scope=KeyScope.ALERTS_READ,
    page=AlertPage,
    query=AlertsQuery,
    example=ALERT,
    rules=sort_is_of_waiting,
)
_SUMMARIES: Final = list_operation(
    "listAlertSummaries",
    tag=_TAG,
    summary="Alerts without evidence. Filters, orders and cursors are those of `GET /api/alerts`.",
    scope=KeyScope.ALERTS_READ,
    page=AlertSummaryPage,
    query=AlertsQuery,
    example=ALERT_SUMMARY,
    rules=sort_is_of_waiting,
)
_EXPORT: Final = export_operation(
    "exportAlerts",
    tag=_TAG,
    summary="Downloads all alerts of a list: one alert a line, or CSV with a header row.",
    scope=KeyScope.ALERTS_READ,
    item=Alert,
    query=AlertExportQuery,
    example=ALERT,
)
_READ: Final = _operation(
    id="getAlert",
    summary="One alert with its transfer, the draft, and the decisions, actions and notes so far. `reasons` are those "
    "of the score at which the alert opened and add up to `scoreAtAlert`; the detector's own finding is in `evidence`. "
    "An appeal has no such score; its `reasons` are those of the transfer's score.",
    answers={200: AlertDetail},
    refusals=(ErrorCode.ALERT_NOT_FOUND, ErrorCode.UNAVAILABLE),
    answer_example=ALERT_DETAIL,
)
_DECIDE: Final = _deciding(
    id="decideAlert",
    summary="Signs a decision. Of simultaneous decisions only one takes effect. A closed alert is final, and only "
    "a held one can be released. An alert that waits, or is routed `reviewed`, needs a person: an API key has to name "
    "one in X-Operator. `warnings` name executed actions that the decision contradicts. Where the policy has "
    "`hardNeedsSecondPerson`, closing or releasing a hard alert is an action `decide_alert` (202) that takes effect "
    "when another person approves it.",
    answers={201: Disposition, 202: Action},
    refusals=(
        ErrorCode.PERSON_REQUIRED,
        ErrorCode.ALERT_NOT_FOUND,
        ErrorCode.ALERT_CLOSED,
        ErrorCode.ALERT_NOT_HELD,
        ErrorCode.ALREADY_DECIDED,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(DecisionRequest),
    example=DECISION_REQUEST,
    answer_example=DISPOSITION,
)
_APPEAL: Final = _deciding(
    id="appealAlert",
    summary="Appeals against a closed alert: opens a new alert, for a person to decide, that refers to it.",
    answers={201: Alert},
    refusals=(
        ErrorCode.ALERT_NOT_FOUND,
        ErrorCode.ALERT_NOT_CLOSED,
        ErrorCode.ALREADY_APPEALED,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(AppealRequest),
    example=APPEAL_REQUEST,
    answer_example=APPEALED,
)
_DISPOSITIONS: Final = _operation(
    id="listDispositionsOfAlert",
    summary="The decisions on one alert, oldest first.",
    answers={200: tuple[Disposition, ...]},
    refusals=(ErrorCode.ALERT_NOT_FOUND,),
    answer_example=[DISPOSITION],
)


AREA: Final = Area(
    routes=(
        answer_route("/api/alerts", _LIST, _TAG, AlertService.page),
        answer_route("/api/alerts/summaries", _SUMMARIES, _TAG, AlertService.summaries),
        export_route("/api/alerts/export", _EXPORT, _TAG, AlertService.export),
        answer_route(_PATH, _READ, _TAG, AlertService.read),
        write_route(f"{_PATH}/decide", _DECIDE, _TAG, AlertService.decide),
        write_route(f"{_PATH}/appeal", _APPEAL, _TAG, AlertService.appeal),
        answer_route(f"{_PATH}/dispositions", _DISPOSITIONS, _TAG, AlertService.dispositions),
    ),
    provide={_TAG: AlertService},
)
