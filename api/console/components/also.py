"""Beside the decision: actions on the bank, a label on the transfer, an appeal of a closed alert.

Each is a separate form under the decision, and says who has to agree.
"""

from collections.abc import Iterable
from typing import Final

import htpy as h

from clearhold.api.console.components.requests import ACTION_WORDS, APPROVALS
from clearhold.api.console.components.words import count, hint, outsider, outsider_prose
from clearhold.api.console.pages.workspace_view import WorkspaceView
from clearhold.api.console.visit import Visit
from clearhold.features.bank.action_endpoints import TargetType, bank_request
from clearhold.features.core.entries.actions import ALWAYS_TWO_APPROVERS, ActionStatus, ActionType
from clearhold.features.core.vocabulary import AlertStatus, SubjectType

MOST_APPEALED: Final = 20
_NAMES: Final = {
    ActionType.FREEZE_ACCOUNT: ("Freeze account", "f"),
    ActionType.CANCEL_TRANSFER: ("Cancel transfer", None),
    ActionType.CLEAR_HOLD: ("Clear the bank's hold", None),
    ActionType.REQUEST_TO_PROGRAM: ("Ask the program", "a"),
    ActionType.PERIODIC_REVIEW: ("Review periodically", None),
}

Offer = tuple[ActionType, TargetType, str]


def offers(view: WorkspaceView) -> list[Offer]:
    """The actions that have a target here which the bank takes."""
    alert, transfer = view.worst.alert, view.worst.transfer
    account, entity, transfer_id = (
        (None, None, None) if transfer is None else (transfer.account_id, transfer.entity_id, transfer.id)
    )
    if view.about.type is SubjectType.ACCOUNT:
        account = view.about.id
    if view.about.type is SubjectType.ENTITY:
        entity = view.about.id
    wanted: list[tuple[ActionType, TargetType, str | None]] = [
        (ActionType.FREEZE_ACCOUNT, TargetType.ACCOUNT, account),
        (ActionType.CANCEL_TRANSFER, TargetType.TRANSFER, transfer_id),
        (ActionType.CLEAR_HOLD, TargetType.TRANSFER, transfer_id if _is_held(view) else None),
        (ActionType.REQUEST_TO_PROGRAM, TargetType.ALERT, alert.id),
        (ActionType.PERIODIC_REVIEW, TargetType.ENTITY, entity),
    ]
    at_bank = {ActionType.FREEZE_ACCOUNT, ActionType.CANCEL_TRANSFER, ActionType.CLEAR_HOLD}
    return [
        (kind, target, target_id)
        for kind, target, target_id in wanted
        if target_id and (kind not in at_bank or bank_request(kind, target_id) is not None)
    ]


def _is_held(view: WorkspaceView) -> bool:
    return view.worst.alert.status is AlertStatus.HELD


def also(visit: Visit, view: WorkspaceView) -> h.Element:
    return h.section("#also.also", tabindex="-1")[
        h.h2["Request an action"],
        h.p(".small")[
            "An action goes to the bank or the program, and decides no alert. Where it needs a second person, they "
            "approve it under Approvals."
        ],
        h.div(".offers")[(_offer(visit, view, each) for each in offers(view))],
        _under_way(view),
    ]


def _offer(visit: Visit, view: WorkspaceView, offer: Offer) -> h.Element:
    kind, target, target_id = offer
    name, letter = _NAMES[kind]
    return visit.form_of(
        f"/console/stacks/{view.stack.id}/act",
        h.input(type="hidden", name="type", value=kind.value),
        h.input(type="hidden", name="targetType", value=target.value),
        h.input(type="hidden", name="targetId", value=target_id),
        h.input(type="hidden", name="alertId", value=view.worst.alert.id),
        h.button(".offer", type="submit", data_key=letter, aria_keyshortcuts=letter)[
            h.span[name], hint(letter) if letter else None, " ", h.span(".small")[_who_agrees(view, kind)]
        ],
    )


def _who_agrees(view: WorkspaceView, kind: ActionType) -> str:
    if kind in ALWAYS_TWO_APPROVERS:
        return "always needs a second person"
    policy = view.policy
    if policy is not None and kind in policy.two_approver_actions:
        return "needs a second person"
    if kind is ActionType.CLEAR_HOLD and policy is not None and policy.hard_needs_second_person is True:
        return "of a hard alert, needs a second person"
    return "at once"


def _under_way(view: WorkspaceView) -> h.Node:
    actions = view.worst.actions
    if not actions:
        return None
    return h.details(open=True)[
        h.summary[count(len(actions), "action")],
        h.ul[
            (
                h.li[
                    f"{ACTION_WORDS[each.type]}: ",
                    h.a(href=f"{APPROVALS}#action-{each.id}")["waits for a second person"]
                    if each.status is ActionStatus.REQUESTED
                    else each.status.value,
                    ", requested by ",
                    outsider(each.requested_by),
                    (", approved by ", outsider(each.approved_by)) if each.approved_by else None,
                    (". ", outsider_prose(each.error)) if each.error else None,
                ]
                for each in actions
            )
        ],
    ]


def label_form(visit: Visit, view: WorkspaceView) -> h.Node:
    """Whether the worst alert's transfer turned out bad or ok, for the measures."""
    transfer = view.worst.transfer
    if transfer is None:
        return None
    return h.details(".also")[
        h.summary["Label its transfer"],
        visit.form_of(
            f"/console/stacks/{view.stack.id}/label",
            h.input(type="hidden", name="transferId", value=transfer.id),
            h.fieldset(".labels")[
                h.legend(".hidden")["Label"],
                (
                    h.label[h.input(type="radio", name="label", value=value, required=True), f" {words}"]
                    for value, words in (("bad", "It turned out bad"), ("ok", "It turned out ok"))
                ),
            ],
            h.label(for_="label-reason")["Reason"],
            h.input("#label-reason", name="reason", required=True, maxlength="2000"),
            h.button(type="submit")["Record the label"],
            keep=f"{view.stack.id}.label",
        ),
    ]


def appeal_form(visit: Visit, view: WorkspaceView) -> h.Node:
    """A closed alert that a person closed can be looked at again."""
    closed = [each for each in view.alerts if each.status is AlertStatus.CLOSED][:MOST_APPEALED]
    if not closed:
        return None
    return h.details(".also", open=not view.waiting)[
        h.summary["Appeal a closed alert"],
        visit.form_of(
            f"/console/stacks/{view.stack.id}/appeal",
            h.label(for_="appealed")["Alert"],
            h.select("#appealed", name="alertId")[_options(view, [each.id for each in closed])],
            h.label(for_="appeal-reason")["Why it should be looked at again"],
            h.textarea("#appeal-reason", name="reason", required=True, rows="4", maxlength="8000"),
            h.button(type="submit")["Appeal"],
            keep=f"{view.stack.id}.appeal",
        ),
    ]


def _options(view: WorkspaceView, ids: Iterable[str]) -> Iterable[h.Element]:
    detectors = {each.id: each.detector for each in view.alerts}
    return (h.option(value=each)[f"{detectors[each].replace('_', ' ')}, {each[:8]}"] for each in ids)
