"""Rows of an action: its versions, and a link of the record for each of its transitions."""

from typing import Any

import msgspec

from clearhold.features.core.canonical import Chain, canonical, derived_id, digest_of
from clearhold.features.core.entries.actions import ENDED, PLATFORM, ActionStatus
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ChainFactRow, EntryPosition, copied
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.rows.alerts import ActionRow
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """A step of an action: who took it, who sent it, and when; the platform where no person did.

    ``status`` is ``requested`` for the request itself.
    """

    status: ActionStatus
    at: int
    actor: str = PLATFORM
    sent_by: str = PLATFORM
    principal_id: str = PLATFORM
    identity: OperatorIdentity | None = None
    bank_response: dict[str, Any] | None = None
    error: str | None = None
    released_alert_ids: tuple[str, ...] = ()
    body_sha256: str | None = None
    note: str | None = None


class ActionLinkBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body that the link of a transition covers. ``id`` is the action's own for its request.

    ``disposition_id`` is the newest decision on the action's alert, which the action may follow from.
    ``released_alert_ids`` are the alerts whose hold the transition ended. ``body_sha256`` is the digest of the version
    that it brought into force, such as all rules after the activation of one. ``note`` is that of a person who declined
    or withdrew the action; other links have none.
    """

    id: str
    action_id: str
    tenant_id: str
    program_id: str | None
    alert_id: str | None
    kind: str
    transition: str
    target_type: str
    target_id: str
    actor: str
    sent_by: str
    principal_id: str
    identity: OperatorIdentity | None
    change: Any
    bank_response_sha256: str | None
    error: str | None
    created_at: str
    disposition_id: str | None
    alert_sha256: str | None
    policy_sha256: str
    released_alert_ids: tuple[str, ...]
    body_sha256: str | None
    note: str | msgspec.UnsetType = msgspec.UNSET


def action_row(program: ProgramState, action: ActionState, position: EntryPosition, step: Transition) -> ActionRow:
    """The action after this entry, whose last step is given."""
    response, released = step.bank_response, step.released_alert_ids
    is_ended = step.status in ENDED
    return copied(
        ActionRow,
        action,
        *position.first_columns(program.tenant_id, program.id, action.id),
        type=action.type.value,
        status=action.status.value,
        change=None if action.change is None else canonical(action.change).decode(),
        bank_response=None if response is None else canonical(response).decode(),
        error=step.error,
        executed_at=step.at if step.status is ActionStatus.EXECUTED else None,
        updated_at=position.appended_at,
        released_alert_ids=canonical(released).decode() if released else None,
        ended_by=step.actor if is_ended else None,
        ended_identity=step.identity if is_ended else None,
        note=step.note or action.approval_note,
    )


def link_of_transition(
    program: ProgramState, action: ActionState, step: Transition, position: EntryPosition
) -> ChainFactRow:
    """The transition as a fact for the chain of actions; the request's link has the action's id."""
    link_id = action.id if step.status is ActionStatus.REQUESTED else derived_id(action.id, step.status.value)
    alert = None if action.alert_id is None else program.alerts.get(action.alert_id)
    response = step.bank_response
    body = copied(
        ActionLinkBody,
        step,
        id=link_id,
        action_id=action.id,
        tenant_id=program.tenant_id,
        program_id=None if program.id == program.tenant_id else program.id,
        alert_id=action.alert_id,
        kind=action.type,
        transition=step.status,
        target_type=action.target_type,
        target_id=action.target_id,
        change=action.change,
        bank_response_sha256=None if response is None else digest_of(canonical(response)),
        created_at=format_instant(step.at),
        disposition_id=None if alert is None else alert.newest_disposition_id,
        alert_sha256=action.alert_sha256,
        policy_sha256=policy_in_force(program, position.appended_at).sha256,
        note=msgspec.UNSET if step.note is None else step.note,
    )
    return ChainFactRow(
        tenant_id=program.tenant_id,
        program_id=program.id,
        chain=Chain.ACTIONS.value,
        id=link_id,
        shard=position.shard,
        offset=position.offset,
        body=canonical(body).decode(),
        created_at=step.at,
    )
