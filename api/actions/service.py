"""Actions: requested and approved here, decided by the flow, carried out by the executor, and read.

request or approval ─▶ log ─▶ the flow's decision ─▶ approved: the executor, up to its outcome ─▶ the action

Errors  NotFoundError for an action, alert or program that is not this tenant's; InvalidRequestError for a key that
        approves in place of a person; ForbiddenError for a key that approves a change of ours; UnavailableError when
        the outcome is not known in time
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog

from clearhold.api.actions.schemas import (
    Action,
    ActionPage,
    ActionRequest,
    ActionsQuery,
    ApprovalRequest,
    EndingRequest,
    to_action,
)
from clearhold.api.area import Resources
from clearhold.api.http.auth import OPERATORS_ONLY, confirmed_name, folded_name
from clearhold.api.http.reading import in_reader
from clearhold.api.http.validation import Failure, refusal
from clearhold.api.lists.lists import ListReader, filter_of, place_by, place_key
from clearhold.api.log.commands import approver_needed, change_pending, unknown_action, unknown_alert
from clearhold.features.core.entries.actions import (
    CHANGES_OF_OURS,
    ActionEntry,
    ActionStatus,
    ActionType,
    ApprovalAnswer,
    ApprovalEntry,
    same_person,
)
from clearhold.features.core.entries.commands import EntryResult, OperatorKind
from clearhold.features.core.errors import ErrorCode, FieldCode, ForbiddenError, UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import OperatorIdentity, Principal, PrincipalKind, is_key_operator
from clearhold.features.core.rows.alerts import ActionRow, AlertRow
from clearhold.features.core.vocabulary import SubjectType
from clearhold.store.duck.alerts import ActionFilter, Actions, Alerts, StoredAction
from clearhold.store.proven_persons import ProvenPersons

CONCLUDED_WITHIN_S: Final = 25.0
"""The longest wait of a caller; a slower bank call continues without it."""
_UNDER_WAY: Final = (
    "The action {action_id} was accepted, and its outcome is not known yet. GET /api/actions/{action_id} will have it. "
    "Repeat a request only with its Idempotency-Key; without it, the repeat is a second action."
)

CLAIMED_APPROVAL: Final = (
    "A name in X-Operator is a claim. This approval needs a person whose name is proven, by a token or in the console, "
    "other than the requester."
)
CLAIMED_REQUEST: Final = (
    "The requester is a claim, and two persons of this tenant are proven, by tokens or in the console: have one of "
    "them request it, and another approve."
)
CLAIMED_ENDING: Final = (
    "A name in X-Operator is a claim. To end this action needs a person whose name is proven, by a token or in the "
    "console."
)
ONE_ACCOUNT: Final = "You requested this by the same account under another name. Another person has to approve it."
MOST_WAITING: Final = 1_000
_WAITING: Final = (ActionStatus.REQUESTED, ActionStatus.APPROVED)

Change = dict[str, Any]
"""The content of a platform change, for its approver."""

log = structlog.get_logger()


class ActionService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._commands, self._executor = resources.programs, resources.command_log, resources.executor
        self._actions, self._alerts = Actions(stores.database), Alerts(stores.database)
        self._persons = ProvenPersons(stores.registry.tenancy, stores.hot, stores.clock)
        self._list = ListReader(
            self._actions.list_page, lambda _, rows: self._marked(rows), place_by("created_at"), place_key
        )

    async def request(self, principal: Principal, request: ActionRequest, effect_id: str | None) -> Action:
        """The action, executed if it needs no second approver; a repeated id returns the first action."""
        program = self._programs.read(principal, str(request.program_id))
        alert = await self._alert(principal, program.id, request.alert_id)
        if request.type == "clear_hold" and alert is not None and _is_on_another(alert, request.target_id):
            raise refusal([Failure("alertId", "must be of an alert on the transfer", FieldCode.CONFLICTING)])
        return await self._submit(
            principal,
            program.id,
            ActionType(request.type),
            target=(request.target_type.value, request.target_id),
            alert=alert,
            change=None,
            effect_id=effect_id,
        )

    async def request_change(
        self,
        principal: Principal,
        action_type: ActionType,
        *,
        program_id: str | None,
        target: tuple[str, str],
        change: Change | Callable[[], Awaitable[Change]],
        effect_id: str | None,
    ) -> Action:
        """Request a platform change; its action waits for a second approver.

        ``program_id`` is the principal's, or None for the whole tenant; ``target`` is type and id. A repeated id does
        not look up ``change`` again. Raises the refusal of a change that cannot be requested.
        """
        place = program_id or principal.tenant_id
        return await self._submit(
            principal, place, action_type, target=target, alert=None, change=change, effect_id=effect_id
        )

    async def check_none_waits(
        self, principal: Principal, action_type: ActionType, target_id: str, part: Change
    ) -> None:
        """Refuse at once, as the flow would, when a waiting change of the target shares this part.

        Reads committed rows only; the flow decides.
        """
        waiting = ActionFilter(types=(action_type,), statuses=_WAITING)
        for stored in await in_reader(self._actions.list_page, principal, waiting, None, MOST_WAITING):
            change = msgspec.json.decode(stored.row.change or "{}", type=Change)
            if stored.row.target_id == target_id and part.items() <= change.items():
                raise change_pending()

    async def approve(
        self,
        principal: Principal,
        action_id: str,
        request: ApprovalRequest,
        effect_id: str | None,
        *,
        note: str | None = None,
    ) -> Action:
        """The action: executed, refused to its requester, or unchanged if it was not waiting.

        ``note`` goes on the record of the approval.
        """
        row = (await self._find(principal, action_id)).row
        if is_key_operator(principal.operator):
            raise approver_needed()
        approver = principal.operator
        if request.approver_id is not None:
            approver = confirmed_name(principal, folded_name(request.approver_id), "approverId")
        if ActionType(row.type) in CHANGES_OF_OURS and principal.kind is not PrincipalKind.OPERATOR:
            raise ForbiddenError(OPERATORS_ONLY, ErrorCode.OPERATOR_TOKEN_REQUIRED)
        if row.status == ActionStatus.REQUESTED:
            await self._check_persons(principal, row)
        approval = partial(
            ApprovalEntry,
            action_id=row.id,
            approver=approver,
            operator=principal.operator,
            principal_id=principal.id,
            identity=principal.identity,
            note=note,
        )
        result = await self._commands.submit(
            principal, EntryKind.APPROVAL, row.program_id, approval, effect_id=effect_id
        )
        log.info("action_approved", action_id=row.id, type=row.type, result=result.result, operator=principal.operator)
        if result.result == EntryResult.MADE:
            return await self._concluded(principal, row.id)
        return self._marked([await self._find(principal, row.id)])[0]

    async def decline(
        self, principal: Principal, action_id: str, request: EndingRequest, effect_id: str | None
    ) -> Action:
        """The declined action; the refusal of one that no longer waits, or of its requester."""
        return await self._end(principal, action_id, ApprovalAnswer.DECLINE, request.note, effect_id)

    async def withdraw(
        self, principal: Principal, action_id: str, request: EndingRequest, effect_id: str | None
    ) -> Action:
        """The withdrawn action; the refusal of one that no longer waits, or of another person."""
        return await self._end(principal, action_id, ApprovalAnswer.WITHDRAW, request.note, effect_id)

    async def _end(
        self, principal: Principal, action_id: str, answer: ApprovalAnswer, note: str, effect_id: str | None
    ) -> Action:
        row = (await self._find(principal, action_id)).row
        is_requester = same_person(principal.operator, row.requested_by)
        if is_key_operator(principal.operator) and not (answer is ApprovalAnswer.WITHDRAW and is_requester):
            raise approver_needed()
        await self._check_may_end(principal, row)
        ending = partial(
            ApprovalEntry,
            action_id=row.id,
            approver=principal.operator,
            operator=principal.operator,
            principal_id=principal.id,
            identity=principal.identity,
            answer=answer,
            note=note,
        )
        await self._commands.submit(principal, EntryKind.APPROVAL, row.program_id, ending, effect_id=effect_id)
        log.info("action_ended", action_id=row.id, type=row.type, answer=answer.value, operator=principal.operator)
        return await self.read(principal, row.id)

    async def _check_may_end(self, principal: Principal, row: ActionRow) -> None:
        """Changes of ours as for approvals; a claim may not end a request of a proven person, nor any in a tenant of
        which two persons are proven.
        """
        if ActionType(row.type) in CHANGES_OF_OURS and principal.kind is not PrincipalKind.OPERATOR:
            raise ForbiddenError(OPERATORS_ONLY, ErrorCode.OPERATOR_TOKEN_REQUIRED)
        is_claim = principal.identity is OperatorIdentity.CLAIMED
        if row.status != ActionStatus.REQUESTED or not is_claim:
            return
        if row.requested_identity == OperatorIdentity.PERSON or await self._persons.has_two(principal.tenant_id):
            raise ForbiddenError(CLAIMED_ENDING, ErrorCode.PERSON_TOKEN_REQUIRED)

    async def read(self, principal: Principal, action_id: str) -> Action:
        return self._marked([await self._find(principal, action_id)])[0]

    async def page(self, principal: Principal, query: ActionsQuery) -> ActionPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = filter_of(ActionFilter, query, self._programs.filter_by(principal, query.program_id))
        return ActionPage.of(*await self._list.page(principal, wanted, query))

    async def _submit(
        self,
        principal: Principal,
        program_id: str,
        action_type: ActionType,
        *,
        target: tuple[str, str],
        alert: AlertRow | None,
        change: Change | Callable[[], Awaitable[Change]] | None,
        effect_id: str | None,
    ) -> Action:
        earlier = await self._commands.carried_out(principal, effect_id)
        if earlier is not None:
            return await self._concluded(principal, earlier.id)
        known = await change() if callable(change) else change
        entry = partial(
            ActionEntry,
            tenant_id=principal.tenant_id,
            alert_id=None if alert is None else alert.id,
            alert_sha256=None if alert is None else alert.alert_sha256,
            type=action_type,
            target_type=target[0],
            target_id=target[1],
            operator=principal.operator,
            operator_kind=OperatorKind.KEY if is_key_operator(principal.operator) else OperatorKind.PERSON,
            principal_id=principal.id,
            identity=principal.identity,
            change=known,
        )
        result = await self._commands.carry_out(principal, EntryKind.ACTION, program_id, entry, effect_id=effect_id)
        log.info("action_requested", action_id=result.id, type=action_type.value, operator=principal.operator)
        return await self._concluded(principal, result.id)

    async def _alert(self, principal: Principal, program_id: str, alert_id: UUID | None) -> AlertRow | None:
        """The alert that the action follows from, of the same program."""
        if alert_id is None:
            return None
        alert = await in_reader(self._alerts.find, principal, str(alert_id))
        if alert is None or alert.program_id != program_id:
            raise unknown_alert()
        return alert

    async def _concluded(self, principal: Principal, action_id: str) -> Action:
        """The action with its outcome, unless it waits for a second person."""
        stored = await self._find(principal, action_id)
        if stored.row.status == ActionStatus.APPROVED:
            await self._executor.conclude(stored.row.tenant_id, stored.row.id, within_s=CONCLUDED_WITHIN_S)
            stored = await self._find(principal, action_id)
        if stored.row.status == ActionStatus.APPROVED:
            raise UnavailableError(_UNDER_WAY.format(action_id=action_id), ErrorCode.NOT_CONFIRMED)
        return self._marked([stored])[0]

    async def _check_persons(self, principal: Principal, row: ActionRow) -> None:
        """Refuse an approval that proves too little: a claim after a proven person, any claim of a person in a tenant
        of which two persons are proven, and two names of one account. Each could be one person under another name.
        """
        proves = principal.identity is OperatorIdentity.PERSON
        if row.requested_identity == OperatorIdentity.PERSON and not proves:
            raise ForbiddenError(CLAIMED_APPROVAL, ErrorCode.PERSON_TOKEN_REQUIRED)
        is_own = same_person(principal.operator, row.requested_by)
        if not is_own and await self._persons.are_one(principal.tenant_id, principal.operator, row.requested_by):
            raise ForbiddenError(ONE_ACCOUNT, ErrorCode.PERSON_TOKEN_REQUIRED)
        if await self._persons.has_two(principal.tenant_id):
            if not proves:
                raise ForbiddenError(CLAIMED_APPROVAL, ErrorCode.PERSON_TOKEN_REQUIRED)
            if row.requested_identity == OperatorIdentity.CLAIMED:
                raise ForbiddenError(CLAIMED_REQUEST, ErrorCode.PERSON_TOKEN_REQUIRED)

    async def _find(self, principal: Principal, action_id: str) -> StoredAction:
        stored = await in_reader(self._actions.find, principal, action_id.lower())
        if stored is None:
            raise unknown_action()
        return stored

    def _marked(self, rows: Sequence[StoredAction]) -> list[Action]:
        return [self._programs.marked(to_action(each), each.row.program_id) for each in rows]


def _is_on_another(alert: AlertRow, transfer_id: str) -> bool:
    """Whether the alert is on a different transfer."""
    return alert.subject_type == SubjectType.TRANSFER and alert.subject_id != transfer_id
