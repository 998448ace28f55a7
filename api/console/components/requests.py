"""Requests for a second person, in words: what each is about, where it is read, and which wait for the reader."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import htpy as h

from clearhold.api.actions.schemas import Action, ActionsQuery
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.visit import Visit
from clearhold.features.bank.action_endpoints import TargetType
from clearhold.features.core.entries.actions import ActionStatus, ActionType, same_person

APPROVALS: Final = "/console/approvals"
WAITING_REQUESTS: Final = ActionsQuery(status=(ActionStatus.REQUESTED,), limit=100)
MOST_NAMED: Final = 3
_LETTERS: Final = 8
_MINTED: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ACTION_WORDS: Final[Mapping[ActionType, str]] = {
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
_THINGS: Final = frozenset({TargetType.ACCOUNT, TargetType.TRANSFER, TargetType.ENTITY})


def is_mine(visit: Visit, action: Action) -> bool:
    """Whether the reader requested it, and so may not approve it."""
    return same_person(visit.principal.operator, action.requested_by)


def request_title(action: Action) -> h.Node:
    """Its words with the target; of an id that was minted here, the first letters."""
    is_alert = action.target_type == TargetType.ALERT
    name = action.target_id[:_LETTERS] if _MINTED.fullmatch(action.target_id) else action.target_id
    return f"{ACTION_WORDS[action.type]} ", "about alert " if is_alert else None, h.code(title=action.target_id)[name]


def target_page(action: Action) -> str | None:
    """The page of an account, transfer or entity."""
    if action.target_type not in _THINGS or action.program_id is None:
        return None
    return f"/console/things/{action.target_type}/{action.target_id}?programId={action.program_id}"


def way_to_stack(action: Action, words: str) -> h.Element | None:
    """The stack of its alert."""
    if action.alert_id is None:
        return None
    return h.a(href=f"/console/alerts/{action.alert_id}")[words]


def waiting_line(visit: Visit, waiting: Sequence[Action]) -> h.Element:
    """For Today: the newest requests of other persons, and how many of one's own another person has to answer."""
    others = [each for each in waiting if not is_mine(visit, each)]
    mine = len(waiting) - len(others)
    return h.div(".for-you")[
        h.p[
            h.a(href=APPROVALS)[f"{count(len(others), 'request')} {'waits' if len(others) == 1 else 'wait'} for you"],
            ".",
        ]
        if others
        else h.p["No request waits for you."],
        h.ul(".plain")[(_line(each) for each in others[:MOST_NAMED])] if others else None,
        h.p(".small")[
            "You asked for ",
            h.a(href=f"{APPROVALS}#mine")[count(mine, "change")],
            f", which another person has to approve. {'It stands' if mine == 1 else 'They stand'} on their Today.",
        ]
        if mine
        else None,
    ]


def _line(action: Action) -> h.Element:
    return h.li[
        h.a(href=f"{APPROVALS}#action-{action.id}")[request_title(action)],
        h.span(".small")[" requested by ", outsider(action.requested_by), " at ", moment(action.created_at)],
    ]


def request_notice(action: Action) -> h.Node:
    """What a request leads to, for the person who made it."""
    if action.status is not ActionStatus.REQUESTED:
        return request_title(action), f" is {action.status.value}. No second person is needed."
    return (
        request_title(action),
        " is requested. A second person has to approve it: they find it on Today and under ",
        h.a(href=f"{APPROVALS}#action-{action.id}")["Approvals"],
        ", in a browser where they are signed in.",
    )
