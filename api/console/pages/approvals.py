"""Approvals: requests that wait for a second person, what each changes, and the answers of two people."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.actions.schemas import Action, ActionsQuery, ApprovalRequest, EndingRequest
from clearhold.api.console.components.limits import cap_words, kind_words
from clearhold.api.console.components.nested import parts_of, spaced
from clearhold.api.console.components.requests import (
    ACTION_WORDS,
    APPROVALS,
    WAITING_REQUESTS,
    is_mine,
    request_title,
    target_page,
    way_to_stack,
)
from clearhold.api.console.components.settings import CONFIGURATION, POLICIES, SCORECARDS
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import moment, outsider, outsider_prose
from clearhold.api.console.four_eyes import approval_note
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.entries.actions import ActionStatus, ActionType, CapKind
from clearhold.features.core.errors import FieldCode, RiskError, invalid
from clearhold.features.core.principal import OperatorIdentity

_ENDING: Final = RequestSchema(EndingRequest)
_ENDED: Final = ActionsQuery(
    status=tuple(each for each in ActionStatus if each is not ActionStatus.REQUESTED), limit=20
)
_PAGES: Final[Mapping[ActionType, tuple[str, str]]] = {
    ActionType.ACTIVATE_RULE: ("/console/rules/{target}", "The rule against the one in force, and its backtest"),
    ActionType.PAUSE_RULE: ("/console/rules/{target}", "The rule and its matches"),
    ActionType.SET_LIMIT: ("/console/programs/{program}#limits", "The limits and their use now"),
    ActionType.ACTIVATE_POLICY: (f"{POLICIES}/{{target}}", "The version against the one in force"),
    ActionType.ACTIVATE_SCORECARD: (SCORECARDS, "The cards, and the one that scores"),
    ActionType.APPLY_CONFIG: (CONFIGURATION, "The configuration in force"),
    ActionType.SET_AUTONOMY: ("/console/programs/{program}", "The program, and the objections"),
}
"""The page on which the effect of a request is seen, and its words."""
_CAPS: Final = ("from", "to")
"""Of a changed limit, whose unit follows from its kind."""


class ApprovalButton(StrEnum):
    APPROVE = "approve"
    DECLINE = "decline"
    WITHDRAW = "withdraw"


class RefusedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was not taken, with the typed note."""

    action_id: str
    sentence: str
    note: str
    status: int


async def show(visit: Visit) -> Answer:
    return await _page(visit, None)


async def _page(visit: Visit, refusal: RefusedAnswer | None) -> HtmlAnswer:
    services, principal = visit.services, visit.principal
    waiting = await services.actions.page(principal, WAITING_REQUESTS)
    ended = await services.actions.page(principal, _ENDED)
    programs = {each.id: each.name for each in services.programs.list(principal, source=None)}
    mine = [each for each in waiting.data if is_mine(visit, each)]
    others = [each for each in waiting.data if not is_mine(visit, each)]
    content = h.div(".approvals")[
        h.h1["Approvals"],
        _answered(visit, ended.data) if refusal is None else None,
        h.section[
            h.h2[f"Wait for you: {len(others)}"],
            h.ul[(_request(visit, each, programs, refusal) for each in others)]
            if others
            else h.p["Nothing waits for you."],
        ],
        h.section("#mine")[
            h.h2[f"You asked for: {len(mine)}"],
            h.ul[(_request(visit, each, programs, refusal) for each in mine)]
            if mine
            else h.p["You asked for nothing."],
        ],
        h.section[h.h2["Answered"], _answers(ended.data)],
        h.p[f"More than {len(waiting.data)} wait; the newest are here."] if waiting.has_more else None,
    ]
    return HtmlAnswer("Approvals", content, status=200 if refusal is None else refusal.status)


async def answer(visit: Visit) -> Answer:
    """Approve, decline or withdraw, as the button says."""
    action_id = visit.params["action_id"]
    try:
        action = await _carried_out(visit, action_id)
    except RiskError as error:
        status = ERRORS[error.code].status
        note = visit.form.get("note", "")
        refusal = RefusedAnswer(action_id=action_id, sentence=str(error), note=note, status=status)
        page = await _page(visit, refusal)
        return page._replace(headers=retry_headers(error))
    return RedirectAnswer(f"{APPROVALS}?answered={action.id}&as={action.status.value}")


async def _carried_out(visit: Visit, action_id: str) -> Action:
    services, wanted = visit.services, visit.form.get("answer")
    if wanted not in set(ApprovalButton):
        raise invalid("answer", f"must be one of {', '.join(ApprovalButton)}", FieldCode.NOT_ONE_OF)
    if wanted == ApprovalButton.APPROVE:
        note = await approval_note(visit, await services.actions.read(visit.principal, action_id))
        return await services.actions.approve(
            visit.principal, action_id, ApprovalRequest(), visit.effect_id(), note=note
        )
    ending, _ = _ENDING.decode(msgspec.json.encode({"note": visit.form.get("note", "")}))
    end = services.actions.decline if wanted == ApprovalButton.DECLINE else services.actions.withdraw
    return await end(visit.principal, action_id, ending, visit.effect_id())


def _answered(visit: Visit, ended: Sequence[Action]) -> h.Node:
    """The answer that led here, by its action where it is among the newest."""
    status, action_id = visit.query.get("as"), visit.query.get("answered", "")
    if status not in set(ActionStatus):
        return None
    action = next((each for each in ended if each.id == action_id), None)
    words: h.Node = h.code[action_id] if action is None else request_title(action)
    way = None if action is None else way_to_stack(action, "Back to its stack")
    return h.p(".note", role="status")["Answered: ", words, f" is {status}.", (" ", way) if way is not None else None]


def _request(visit: Visit, action: Action, programs: Mapping[str, str], refusal: RefusedAnswer | None) -> h.Element:
    own = refusal if refusal is not None and refusal.action_id == action.id else None
    return h.li(".request", id=f"action-{action.id}")[
        h.h3[
            request_title(action),
            h.span(".simulated")["simulated"] if action.simulated is True else None,
        ],
        h.p(".small")[
            "Requested by ",
            outsider(action.requested_by),
            _known_by(action.requested_identity),
            " at ",
            moment(action.created_at),
            " · program ",
            outsider(programs.get(action.program_id or ""), "the whole bank"),
        ],
        _ways(action),
        _change(action.change),
        h.p(".refusal", role="alert")[own.sentence] if own is not None else None,
        _own_form(visit, action, own) if is_mine(visit, action) else _answer_form(visit, action, own),
    ]


def _ways(action: Action) -> h.Node:
    """To what an approver reads first: the evidence, the target, the page on which the effect is seen."""
    path, words = _PAGES.get(action.type, ("", ""))
    if "{program}" in path and action.program_id is None:
        path = ""
    target = target_page(action)
    ways = [
        way_to_stack(action, "Its stack, with the evidence"),
        h.a(href=target)[f"The {action.target_type}"] if target is not None else None,
        h.a(href=path.format(target=action.target_id, program=action.program_id))[words] if path else None,
    ]
    return h.p(".ways")[((each, " ") for each in ways if each is not None)] if any(ways) else None


def _known_by(identity: OperatorIdentity | None) -> str:
    if identity is OperatorIdentity.PERSON:
        return " (proven)"
    return " (a name typed under a shared token)" if identity is OperatorIdentity.CLAIMED else " (an API key)"


def _change(change: Mapping[str, Any] | None) -> h.Node:
    """What the request changes, a row for each part; of a part with an old and a new value both."""
    if change is None:
        return None
    kind = change.get("kind")
    words = {}
    if kind in set(CapKind):
        words = {name: cap_words(CapKind(kind), change.get(name)) for name in _CAPS}
        words["kind"] = kind_words(CapKind(kind))
    return h.table(".change", aria_label="What changes")[
        h.tbody[
            (
                h.tr[h.th(scope="row")[spaced(name)], h.td[words.get(name) or parts_of(name, value)]]
                for name, value in change.items()
            )
        ]
    ]


def _own_form(visit: Visit, action: Action, refusal: RefusedAnswer | None) -> h.Element:
    """Its requester may not approve it, and may withdraw it."""
    return h.div[
        h.p["Another person has to approve this. They find it on Today and under Approvals, where they are signed in."],
        visit.form_of(
            f"{APPROVALS}/{action.id}",
            _note_field(action, "Why you withdraw it", refusal),
            h.button(type="submit", name="answer", value=ApprovalButton.WITHDRAW.value)["Withdraw"],
            keep=f"answer.{action.id}",
        ),
    ]


def _answer_form(visit: Visit, action: Action, refusal: RefusedAnswer | None) -> h.Element:
    if visit.signed_in.is_read_only:
        return h.p["This session may read and not answer."]
    return visit.form_of(
        f"{APPROVALS}/{action.id}",
        _note_field(action, "Why, if you decline", refusal),
        h.button(".main", type="submit", name="answer", value=ApprovalButton.APPROVE.value)[
            f"Approve as {visit.signed_in.session.name}"
        ],
        h.button(type="submit", name="answer", value=ApprovalButton.DECLINE.value)["Decline"],
        keep=f"answer.{action.id}",
    )


def _note_field(action: Action, label: str, refusal: RefusedAnswer | None) -> h.Node:
    return (
        h.label(for_=f"note-{action.id}")[label],
        h.textarea(id=f"note-{action.id}", name="note", rows="2", maxlength="8000")[
            "" if refusal is None else refusal.note
        ],
    )


def _dry_run(action: Action) -> h.Node:
    """Whether the bank was not asked, and why."""
    response = action.bank_response or {}
    if response.get("dryRun") is not True:
        return None
    return h.span(".small")[f", a dry run: {response.get('reason', 'the bank was not asked')}"]


def _answers(ended: Sequence[Action]) -> h.Node:
    if not ended:
        return h.p["Nothing was answered yet."]
    heads = ("Action", "On", "Requested by", "Answer", "By", "Note")
    return wide_table(
        "Answered requests",
        heads,
        (
            h.tr[
                h.td[ACTION_WORDS[each.type]],
                h.td[h.code[each.target_id], " ", way_to_stack(each, "its stack")],
                h.td[outsider(each.requested_by)],
                h.td[each.status.value, _dry_run(each)],
                h.td[outsider(each.approved_by or each.ended_by, "one person was enough")],
                h.td[outsider_prose(each.note or each.error)],
            ]
            for each in ended
        ),
    )
