"""Approvals: requests that wait for a second person, what each changes, and the answers of two people."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.actions.schemas import Action, ActionsQuery, ApprovalRequest, EndingRequest
from clearhold.api.console.components.limits import cap_words
from clearhold.api.console.components.nested import parts_of, spaced
from clearhold.api.console.components.settings import POLICIES
from clearhold.api.console.components.words import count, moment, outsider, outsider_prose
from clearhold.api.console.four_eyes import approval_note
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.entries.actions import ActionStatus, ActionType, CapKind, same_person
from clearhold.features.core.errors import FieldCode, RiskError, invalid
from clearhold.features.core.principal import OperatorIdentity

PATH: Final = "/console/approvals"
_ENDING: Final = RequestSchema(EndingRequest)
_WAITING: Final = ActionsQuery(status=(ActionStatus.REQUESTED,), limit=100)
_ENDED: Final = ActionsQuery(
    status=tuple(each for each in ActionStatus if each is not ActionStatus.REQUESTED), limit=20
)
_WORDS: Final[Mapping[ActionType, str]] = {
    ActionType.CLEAR_HOLD: "Release the hold",
    ActionType.CANCEL_TRANSFER: "Cancel the transfer",
    ActionType.PAUSE_CARD: "Pause the card",
    ActionType.SUSPEND_CARD_ACCOUNT: "Suspend the card account",
    ActionType.FREEZE_ACCOUNT: "Freeze the account",
    ActionType.REQUEST_TO_PROGRAM: "Ask the program",
    ActionType.PERIODIC_REVIEW: "Begin a periodic review",
    ActionType.SET_LIMIT: "Change a limit",
    ActionType.ACTIVATE_POLICY: "Put a policy in force",
    ActionType.SET_AUTONOMY: "Change what the platform closes alone",
    ActionType.ACTIVATE_RULE: "Put a rule in force",
    ActionType.PAUSE_RULE: "Pause a rule",
    ActionType.ACTIVATE_SCORECARD: "Put a scorecard in force",
    ActionType.DECIDE_ALERT: "Decide a hard alert",
    ActionType.APPLY_CONFIG: "Apply a configuration",
}
_PAGES: Final[Mapping[ActionType, tuple[str, str]]] = {
    ActionType.ACTIVATE_RULE: ("/console/rules/{target}", "the rule against the one in force, and its backtest"),
    ActionType.PAUSE_RULE: ("/console/rules/{target}", "the rule and its matches"),
    ActionType.SET_LIMIT: ("/console/programs/{program}#limits", "the limits and their use now"),
    ActionType.ACTIVATE_POLICY: (f"{POLICIES}/{{target}}", "the version against the one in force"),
    ActionType.SET_AUTONOMY: ("/console/programs/{program}", "the program, and the objections"),
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
    waiting = await services.actions.page(principal, _WAITING)
    ended = await services.actions.page(principal, _ENDED)
    programs = {each.id: each.name for each in services.programs.list(principal, source=None)}
    mine = [each for each in waiting.data if _is_mine(visit, each)]
    others = [each for each in waiting.data if not _is_mine(visit, each)]
    content = h.div(".approvals")[
        h.h1["Approvals"],
        _answered(visit, ended.data) if refusal is None else None,
        h.section[
            h.h2[f"Wait for you: {len(others)}"],
            h.ul[(_request(visit, each, programs, refusal) for each in others)]
            if others
            else h.p["Nothing waits for you."],
        ],
        h.section[
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
    return RedirectAnswer(f"{PATH}?answered={action.id}&as={action.status.value}")


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


def _is_mine(visit: Visit, action: Action) -> bool:
    return same_person(visit.principal.operator, action.requested_by)


def _answered(visit: Visit, ended: Sequence[Action]) -> h.Node:
    """The answer that led here, by its action where it is among the newest."""
    status, action_id = visit.query.get("as"), visit.query.get("answered", "")
    if status not in set(ActionStatus):
        return None
    action = next((each for each in ended if each.id == action_id), None)
    words = h.code[action_id] if action is None else (f"{_WORDS[action.type]} ", h.code[action.target_id])
    return h.p(".note", role="status")["Answered: ", words, f" is {status}."]


def _request(visit: Visit, action: Action, programs: Mapping[str, str], refusal: RefusedAnswer | None) -> h.Element:
    own = refusal if refusal is not None and refusal.action_id == action.id else None
    is_mine = _is_mine(visit, action)
    return h.li(".request", id=f"action-{action.id}")[
        h.h3[
            _WORDS[action.type],
            " ",
            h.code[action.target_id],
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
            (" · ", h.a(href=f"/console/alerts/{action.alert_id}")["its alert"]) if action.alert_id else None,
            _page_of(action),
        ],
        _change(action.change),
        h.p(".refusal", role="alert")[own.sentence] if own is not None else None,
        _own_form(visit, action, own) if is_mine else _answer_form(visit, action, own),
    ]


def _page_of(action: Action) -> h.Node:
    path, words = _PAGES.get(action.type, ("", ""))
    if not path or ("{program}" in path and action.program_id is None):
        return None
    return " · ", h.a(href=path.format(target=action.target_id, program=action.program_id))[words]


def _known_by(identity: OperatorIdentity | None) -> str:
    if identity is OperatorIdentity.PERSON:
        return " (proven)"
    return " (a name typed under a shared token)" if identity is OperatorIdentity.CLAIMED else " (an API key)"


def _change(change: Mapping[str, Any] | None) -> h.Node:
    """What the request changes, a row for each part; of a part with an old and a new value both."""
    if change is None:
        return None
    kind = change.get("kind")
    words = {name: cap_words(CapKind(kind), change.get(name)) for name in _CAPS} if kind in set(CapKind) else {}
    return h.table(".change")[
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
        h.p["Another person has to approve this."],
        visit.form_of(
            f"{PATH}/{action.id}",
            _note_field(action, "Why you withdraw it", refusal),
            h.button(type="submit", name="answer", value=ApprovalButton.WITHDRAW.value)["Withdraw"],
            keep=f"answer.{action.id}",
        ),
    ]


def _answer_form(visit: Visit, action: Action, refusal: RefusedAnswer | None) -> h.Element:
    if visit.signed_in.is_read_only:
        return h.p["This session may read and not answer."]
    return visit.form_of(
        f"{PATH}/{action.id}",
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


def _answers(ended: Sequence[Action]) -> h.Node:
    if not ended:
        return h.p["Nothing was answered yet."]
    heads = ("Action", "On", "Requested by", "Answer", "By", "Note")
    return h.div(".wide", tabindex="0", role="region", aria_label="Answered requests")[
        h.table[
            h.caption(".hidden")[count(len(ended), "answered request")],
            h.thead[h.tr[(h.th(scope="col")[each] for each in heads)]],
            h.tbody[
                (
                    h.tr[
                        h.td[_WORDS[each.type]],
                        h.td[h.code[each.target_id]],
                        h.td[outsider(each.requested_by)],
                        h.td[each.status.value],
                        h.td[outsider(each.approved_by or each.ended_by, "one person was enough")],
                        h.td[outsider_prose(each.note or each.error)],
                    ]
                    for each in ended
                )
            ],
        ]
    ]
