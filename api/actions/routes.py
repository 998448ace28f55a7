"""Actions over HTTP: requested, approved by a second person, read; and the operation that requests an activation."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from clearhold.api.actions.schemas import (
    ACTION,
    ACTION_REQUEST,
    APPROVAL,
    APPROVED_ACTION,
    DECLINED_ACTION,
    Action,
    ActionPage,
    ActionRequest,
    ActionsQuery,
    ApprovalRequest,
    EndingRequest,
    target_fits,
)
from clearhold.api.actions.service import ActionService
from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_operation, write_route
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_TAG: Final = "actions"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ACTIONS)

_REQUEST: Final = _operation(
    id="requestAction",
    summary="Requests an action. `freeze_account`, `suspend_card_account`, `request_to_program` and what the policy's "
    "`twoApproverActions` names wait for a second person (`requested`); any other is carried out at once through the "
    "bank's API with the tenant's own key, under the action's id as the bank's idempotency key: `executed` or "
    "`failed`. Without a key, without the bank's address, and on a simulated program it is a recorded dry run, and "
    "`bankResponse` says so. An executed `clear_hold` releases the held alerts on its transfer, which "
    "`releasedAlertIds` names; it needs a transfer that is known here, and a key that would release an alert has to "
    "name a person.",
    answers={201: Action},
    refusals=(
        ErrorCode.ALERT_NOT_FOUND,
        ErrorCode.TRANSFER_NOT_FOUND,
        ErrorCode.PERSON_REQUIRED,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(ActionRequest, rules=target_fits),
    example=ACTION_REQUEST,
    answer_example=ACTION,
)
_APPROVE: Final = _operation(
    id="approveAction",
    summary="Approves an action that waits for a second person, and has it carried out. The approver of record is "
    "`approverId`, else X-Operator; an API key has to name a person. The requester's own approval, however the name is "
    "spelt, refuses the action for good: 200 with status `refused`. An action that no longer waits is answered as it "
    "is. Changes of limits, policies and autonomy need the operator token. A request under a person's token is "
    "approved by another proven person, and so is every request once two persons of the tenant are proven: by tokens, "
    "or in the console.",
    answers={200: Action},
    refusals=(
        ErrorCode.PERSON_REQUIRED,
        ErrorCode.PERSON_TOKEN_REQUIRED,
        ErrorCode.OPERATOR_TOKEN_REQUIRED,
        ErrorCode.ACTION_NOT_FOUND,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(ApprovalRequest),
    body_required=False,
    example=APPROVAL,
    answer_example=APPROVED_ACTION,
)
_ENDING: Final[dict[str, Any]] = {
    "answers": {200: Action},
    "refusals": (
        ErrorCode.PERSON_REQUIRED,
        ErrorCode.PERSON_TOKEN_REQUIRED,
        ErrorCode.OPERATOR_TOKEN_REQUIRED,
        ErrorCode.ACTION_NOT_FOUND,
        ErrorCode.ACTION_NOT_WAITING,
        ErrorCode.NOT_CONFIRMED,
    ),
    "body": RequestSchema(EndingRequest),
    "example": {"note": DECLINED_ACTION["note"]},
}
_DECLINE: Final = _operation(
    id="declineAction",
    summary="Declines an action that waits for a second person: it is not carried out, for good. Another person than "
    "its requester declines it, with a note; both are a link of the record. Tokens as for an approval.",
    **_ENDING | {"refusals": (*_ENDING["refusals"], ErrorCode.OWN_ACTION)},
    answer_example=DECLINED_ACTION,
)
_WITHDRAW: Final = _operation(
    id="withdrawAction",
    summary="Withdraws an action that waits for a second person: it is not carried out, for good. Its requester alone "
    "withdraws it, with a note; both are a link of the record. A request under a person's token is withdrawn under it.",
    **_ENDING | {"refusals": (*_ENDING["refusals"], ErrorCode.NOT_THE_REQUESTER)},
    answer_example=DECLINED_ACTION | {"status": "withdrawn", "endedBy": ACTION["requestedBy"]},
)
_LIST: Final = list_operation(
    "listActions",
    tag=_TAG,
    summary="Actions, newest first by the time of their request.",
    scope=KeyScope.ACTIONS,
    page=ActionPage,
    query=ActionsQuery,
    example=ACTION,
)
_READ: Final = _operation(
    id="getAction",
    summary="One action with its current status.",
    answers={200: Action},
    refusals=(ErrorCode.ACTION_NOT_FOUND,),
    answer_example=APPROVED_ACTION,
)

AREA: Final = Area(
    routes=(
        write_route("/api/actions", _REQUEST, _TAG, ActionService.request),
        write_route("/api/actions/{action_id:str}/approve", _APPROVE, _TAG, ActionService.approve),
        write_route("/api/actions/{action_id:str}/decline", _DECLINE, _TAG, ActionService.decline),
        write_route("/api/actions/{action_id:str}/withdraw", _WITHDRAW, _TAG, ActionService.withdraw),
        answer_route("/api/actions", _LIST, _TAG, ActionService.page),
        answer_route("/api/actions/{action_id:str}", _READ, _TAG, ActionService.read),
    ),
    provide={_TAG: ActionService},
)


def activation_operation(
    id_: str,
    *,
    tag: str,
    summary: str,
    refusals: tuple[ErrorCode, ...],
    body: type[msgspec.Struct],
    body_required: bool = False,
    example: Mapping[str, Any],
    action: Mapping[str, Any],
) -> Operation:
    """The request of an activation. ``action`` has the fields by which its example differs from other actions."""
    return Operation(
        id=id_,
        tag=tag,
        summary=summary,
        access=Access.OPERATOR,
        answers={201: Action},
        refusals=(*refusals, ErrorCode.CHANGE_PENDING, ErrorCode.NOT_CONFIRMED),
        body=RequestSchema(body),
        body_required=body_required,
        example=example,
        answer_example={**ACTION, **action},
    )
