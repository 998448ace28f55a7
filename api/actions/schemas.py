"""Actions as the interface takes and shows them, and the filters of their list."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec

from clearhold.api.http.fields import FILTER_LIMIT, BankId, CursorText, Moment, PageLimit, PersonName, ProgramIds
from clearhold.api.http.validation import Failure
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, instant_text
from clearhold.features.bank.action_endpoints import BANK_ACTIONS, TargetType
from clearhold.features.core.entries.actions import ActionStatus, ActionType
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import format_instant
from clearhold.features.core.program import Simulated
from clearhold.store.duck.actions import StoredAction


class ActionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``type`` takes the actions on the bank; changes of what the platform may do have routes of their own."""

    program_id: UUID
    type: Literal[
        "clear_hold",
        "cancel_transfer",
        "pause_card",
        "suspend_card_account",
        "freeze_account",
        "request_to_program",
        "periodic_review",
    ]
    target_type: TargetType
    target_id: BankId
    alert_id: UUID | None = None


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    approver_id: PersonName | None = None


class ActionsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    status: Annotated[tuple[ActionStatus, ...], msgspec.Meta(min_length=1, max_length=len(ActionStatus))] | None = None
    type: Annotated[tuple[ActionType, ...], msgspec.Meta(min_length=1, max_length=len(ActionType))] | None = None
    program_id: ProgramIds | None = None
    alert_id: Annotated[tuple[UUID, ...], msgspec.Meta(min_length=1, max_length=FILTER_LIMIT)] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Action(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``prevHash`` and ``hash`` are those of its request on the tenant's chain, where each later step is a link too.

    ``programId`` is null for an action on the whole tenant.
    """

    id: str
    tenant_id: str
    program_id: str | None
    alert_id: str | None
    type: ActionType
    target_type: str
    target_id: str
    requested_by: str
    approved_by: str | None
    status: ActionStatus
    change: dict[str, Any] | None
    bank_response: dict[str, Any] | None
    error: str | None
    executed_at: str | None
    prev_hash: str | None
    hash: str
    created_at: str
    simulated: Simulated = msgspec.UNSET


class ActionPage(ListPage[Action], frozen=True, kw_only=True, rename="camel"):
    pass


def target_fits(request: Mapping[str, Any]) -> Iterable[Failure]:
    """Whether a type of action takes such a target, which no schema says."""
    allowed = _TARGETS.get(str(request.get("type")))
    if allowed is not None and request.get("targetType") not in allowed:
        listed = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
        yield Failure("targetType", f"must be {listed} for this type of action", FieldCode.NOT_ONE_OF)


_TARGETS: Final = {type_.value: tuple(action.targets) for type_, action in BANK_ACTIONS.items()}


def to_action(stored: StoredAction) -> Action:
    row = stored.row
    return Action(
        id=row.id,
        tenant_id=row.tenant_id,
        program_id=None if row.program_id == row.tenant_id else row.program_id,
        alert_id=row.alert_id,
        type=ActionType(row.type),
        target_type=row.target_type,
        target_id=row.target_id,
        requested_by=row.requested_by,
        approved_by=row.approved_by,
        status=ActionStatus(row.status),
        change=None if row.change is None else msgspec.json.decode(row.change),
        bank_response=None if row.bank_response is None else msgspec.json.decode(row.bank_response),
        error=row.error,
        executed_at=instant_text(row.executed_at),
        prev_hash=stored.prev_hash,
        hash=stored.hash,
        created_at=format_instant(row.created_at),
    )
