"""Writes of the workspace: the decision on a stack, taking alerts out of it, actions, labels and appeals.

A refusal brings the page back with everything that was typed. Only an answer of the record reads as done.
"""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

import htpy as h
import msgspec

from clearhold.api.actions.schemas import ActionRequest, target_fits
from clearhold.api.alerts.many import AlertOutcome, DecidedAlerts
from clearhold.api.alerts.schemas import AppealRequest
from clearhold.api.assignments.routes import AlertsAssignmentRequest
from clearhold.api.console.components.comparison import comparison
from clearhold.api.console.components.deciding import BY_OTHERS, SentDecision, results
from clearhold.api.console.components.notes import assigned_notice
from clearhold.api.console.components.requests import request_notice
from clearhold.api.console.pages.queue import PATH as QUEUE
from clearhold.api.console.pages.workspace import page_of
from clearhold.api.console.pages.workspace_view import WorkspaceView, view_of
from clearhold.api.console.visit import ATTEMPT, Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.dispositions.routes import Disposition
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.labels.routes import NewLabel
from clearhold.api.notes.schemas import NoteRequest
from clearhold.api.stacks.schemas import SplitRequest, StackDecisionRequest
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import ErrorCode, InvalidRequestError, RiskError, UnavailableError

_DECISION: Final = RequestSchema(StackDecisionRequest)
_SPLIT: Final = RequestSchema(SplitRequest)
_ACTION: Final = RequestSchema(ActionRequest, rules=target_fits)
_LABEL: Final = RequestSchema(NewLabel)
_NOTE: Final = RequestSchema(NoteRequest)
_ASSIGNMENT: Final = RequestSchema(AlertsAssignmentRequest)
_APPEAL: Final = RequestSchema(AppealRequest)
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NARRATIVE: Final = "narrative"
MOST_OTHERS: Final = 3


async def decide(visit: Visit) -> Answer:
    """Sign the decision on the alerts that were checked; alerts that joined since are left.

    The next stack opens when all of them were signed.
    """
    stack_id = visit.params["stack_id"].lower()
    checked = _checked(visit)
    sent = {
        "decision": visit.form.get("decision"),
        "narrative": visit.form.get("narrative", "").replace("\r\n", "\n"),
        "alertIds": checked,
    }
    try:
        request, _ = _DECISION.decode(msgspec.json.encode(sent))
        answer = await visit.services.stacks.decide(visit.principal, stack_id, request, _effect_of(visit, sent))
    except InvalidRequestError as error:
        return await _again(visit, stack_id, error, of_narrative=any(_NARRATIVE in f.path for f in error.fields))
    except RiskError as error:
        return await _again(visit, stack_id, error)
    signed = [each.alert_id for each in answer.results if each.result is AlertOutcome.DECIDED]
    if len(signed) == len(answer.results) and signed:
        return RedirectAnswer(f"{_next_of(visit)}?signed={signed[0]}")
    return await _in_part(visit, stack_id, answer)


async def compare(visit: Visit) -> Answer:
    """Draft and narrative side by side; writes nothing."""
    stack_id = visit.params["stack_id"].lower()
    if visit.target is not None:
        detail = await visit.services.stacks.read(visit.principal, stack_id)
        worst = await visit.services.alerts.read(visit.principal, detail.worst.id)
        return HtmlAnswer("Draft and narrative", comparison(_draft(worst.draft), visit.form.get(_NARRATIVE, "")))
    view = await view_of(visit, stack_id)
    side_by_side = comparison(_draft(view.worst.draft), visit.form.get(_NARRATIVE, ""))
    return await page_of(visit, view, msgspec.structs.replace(_sent(visit, view), comparison=side_by_side))


async def split(visit: Visit) -> Answer:
    """The alerts that are not checked become another stack, which opens."""
    stack_id = visit.params["stack_id"].lower()
    view = await view_of(visit, stack_id)
    checked = set(_checked(visit))
    unchecked = [each.id for each in view.waiting if each.id not in checked]
    try:
        request, _ = _SPLIT.decode(msgspec.json.encode({"alertIds": unchecked}))
        taken_out = await visit.services.stacks.split(visit.principal, stack_id, request, visit.effect_id())
    except RiskError as error:
        return await _again(visit, stack_id, error)
    return RedirectAnswer(f"/console/stacks/{taken_out.id}")


async def act(visit: Visit) -> Answer:
    """Request an action; one that needs a second person waits in Approvals."""
    stack_id = visit.params["stack_id"].lower()
    view = await view_of(visit, stack_id)
    names = ("type", "targetType", "targetId", "alertId")
    sent = {name: visit.form.get(name) for name in names} | {"programId": view.stack.program_id}
    try:
        request, _ = _ACTION.decode(msgspec.json.encode(sent))
        action = await visit.services.actions.request(visit.principal, request, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, view, error)
    view = await view_of(visit, stack_id)
    return await page_of(visit, view, None, above=h.p("#notice.note", role="status")[request_notice(action)])


async def label(visit: Visit) -> Answer:
    stack_id = visit.params["stack_id"].lower()
    view = await view_of(visit, stack_id)
    sent = {name: visit.form.get(name) for name in ("transferId", "label", "reason")}
    try:
        request, _ = _LABEL.decode(msgspec.json.encode(sent | {"programId": view.stack.program_id}))
        recorded = await visit.services.labels.record(visit.principal, request, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, view, error, kept=visit.form.get("reason"))
    notice = f"Label recorded: {recorded.label.value}."
    return await page_of(visit, view, None, above=h.p("#notice.note", role="status")[notice])


async def appeal(visit: Visit) -> Answer:
    """The alert that the appeal opened is the next thing to look at."""
    stack_id = visit.params["stack_id"].lower()
    try:
        request, _ = _APPEAL.decode(msgspec.json.encode({"reason": visit.form.get("reason")}))
        alert_id = visit.form.get("alertId", "")
        opened = await visit.services.alerts.appeal(visit.principal, alert_id, request, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, await view_of(visit, stack_id), error, kept=visit.form.get("reason"))
    return RedirectAnswer(QUEUE if opened.stack_id is None else f"/console/stacks/{opened.stack_id}")


async def note(visit: Visit) -> Answer:
    """A note on the alert that stands for the stack."""
    stack_id = visit.params["stack_id"].lower()
    try:
        request, _ = _NOTE.decode(msgspec.json.encode({"note": visit.form.get("note")}))
        await visit.services.notes.add(visit.principal, visit.form.get("alertId", ""), request, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, await view_of(visit, stack_id), error, kept=visit.form.get("note"))
    return RedirectAnswer(f"/console/stacks/{stack_id}#notes")


async def assign(visit: Visit) -> Answer:
    """The waiting alerts to a person, or to no one where the name is empty; the page says which were refused."""
    stack_id = visit.params["stack_id"].lower()
    sent = {"alertIds": _checked(visit), "assignee": visit.form.get("assignee") or None}
    try:
        request, _ = _ASSIGNMENT.decode(msgspec.json.encode(sent))
        answer = await visit.services.assignments.assign_several(visit.principal, request, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, await view_of(visit, stack_id), error)
    status = HTTPStatus.OK if answer.assigned else HTTPStatus.CONFLICT
    return await page_of(visit, await view_of(visit, stack_id), None, status=status, above=assigned_notice(answer))


async def _in_part(visit: Visit, stack_id: str, answer: DecidedAlerts) -> Answer:
    """Some alerts were refused, or wait for a second person: the stack stays, with the result of each."""
    view = await view_of(visit, stack_id)
    refused = [each for each in answer.results if each.error is not None]
    too_short = next((e.error for e in refused if e.error and any(f.path == _NARRATIVE for f in e.error.fields)), None)
    narrative = visit.form.get(_NARRATIVE, "")
    above = results(view.stack, answer, narrative, await _by_others(visit, answer))
    status = HTTPStatus.OK
    if not answer.decided and not answer.requested:
        status = HTTPStatus.BAD_REQUEST if too_short is not None else HTTPStatus.CONFLICT
    sent = _sent(visit, view) if refused else None
    if sent is not None and too_short is not None:
        sent = msgspec.structs.replace(sent, refusal=too_short.error, of_narrative=True)
    return await page_of(visit, view, sent, status=status, above=above)


async def _by_others(visit: Visit, answer: DecidedAlerts) -> Iterable[Disposition]:
    """The newest decision on alerts that were decided meanwhile, each text once."""
    ids = [each.alert_id for each in answer.results if each.error is not None and each.error.code in BY_OTHERS]
    decided = [await visit.services.alerts.dispositions(visit.principal, each) for each in ids[:MOST_OTHERS]]
    newest = [each[-1] for each in decided if each]
    return {(each.decided_by, each.narrative, each.decision): each for each in newest}.values()


async def _again(visit: Visit, stack_id: str, error: RiskError, *, of_narrative: bool = False) -> Answer:
    """The same page with the text as typed. A write that is not confirmed keeps its attempt, so it stays one write."""
    view = await view_of(visit, stack_id)
    sent = msgspec.structs.replace(
        _sent(visit, view),
        refusal=str(error),
        of_narrative=of_narrative,
        not_confirmed=error.code is ErrorCode.NOT_CONFIRMED,
        attempt=visit.form.get(ATTEMPT) if isinstance(error, UnavailableError) else None,
    )
    return await page_of(visit, view, sent, status=ERRORS[error.code].status, headers=retry_headers(error))


async def _refused(visit: Visit, view: WorkspaceView, error: RiskError, *, kept: str | None = None) -> Answer:
    notice = h.div(".refused", role="alert")[
        h.p[str(error)],
        (h.label(for_="kept")["Your text, to copy"], h.textarea("#kept", readonly=True, rows="4")[f"\n{kept}"])
        if kept
        else None,
    ]
    status = ERRORS[error.code].status
    return await page_of(visit, view, None, status=status, above=notice, headers=retry_headers(error))


def _sent(visit: Visit, view: WorkspaceView) -> SentDecision:
    checked = set(_checked(visit))
    return SentDecision(
        decision=visit.form.get("decision", ""),
        narrative=visit.form.get(_NARRATIVE, ""),
        unchecked=frozenset(each.id for each in view.waiting if each.id not in checked),
    )


def _checked(visit: Visit) -> list[str]:
    return [each for each in visit.form.get("alertIds", "").split(",") if each]


def _effect_of(visit: Visit, sent: Mapping[str, object]) -> str | None:
    """Sending the same again is the same write; another text is another decision."""
    effect = visit.attempt_id()
    return None if effect is None else derived_id(effect, msgspec.json.encode(sent).decode())


def _next_of(visit: Visit) -> str:
    wanted = visit.form.get("next", "")
    return f"/console/stacks/{wanted}" if _UUID.fullmatch(wanted) else QUEUE


def _draft(draft: object) -> str:
    return getattr(draft, _NARRATIVE, "") if draft is not None else ""
