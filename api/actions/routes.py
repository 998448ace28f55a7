"""Actions over HTTP: requested, approved by a second person, read."""

from functools import partial
from typing import Final

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.examples import ACTION, ACTION_REQUEST, APPROVAL, APPROVED_ACTION
from clearhold.api.actions.schemas import Action, ActionPage, ActionRequest, ActionsQuery, ApprovalRequest, target_fits
from clearhold.api.actions.service import ActionService
from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, optional_body_of, principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.lists import next_link
from clearhold.api.lists.operations import list_operation
from clearhold.api.stores import Stores
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.alerts import Alerts
from clearhold.store.duck.decisions import Actions

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
        ErrorCode.PROGRAM_NOT_FOUND,
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
    "approved under another person's token, and so is every request once two persons of the tenant have tokens.",
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


@post("/api/actions", opt=_REQUEST.as_opt)
async def request_action(request: ApiRequest, actions: NamedDependency[ActionService]) -> Action:
    body = body_of(request.scope, ActionRequest)
    return await actions.request(principal_of(request.scope), body, effect_id_of(request.scope))


@post("/api/actions/{action_id:str}/approve", status_code=200, opt=_APPROVE.as_opt)
async def approve_action(
    action_id: FromPath[str], request: ApiRequest, actions: NamedDependency[ActionService]
) -> Action:
    body = optional_body_of(request.scope, ApprovalRequest)
    return await actions.approve(principal_of(request.scope), action_id, body, effect_id_of(request.scope))


@get("/api/actions", opt=_LIST.as_opt)
async def list_actions(request: ApiRequest, actions: NamedDependency[ActionService]) -> Response[ActionPage]:
    page = await actions.page(principal_of(request.scope), query_of(request.scope, ActionsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/actions/{action_id:str}", opt=_READ.as_opt)
async def get_action(action_id: FromPath[str], request: ApiRequest, actions: NamedDependency[ActionService]) -> Action:
    return await actions.read(principal_of(request.scope), action_id)


def action_service(resources: Resources) -> ActionService:
    """Also for the areas whose changes are actions."""
    return ActionService(
        programs=resources.programs,
        actions=Actions(resources.stores.database),
        alerts=Alerts(resources.stores.database),
        command_log=resources.command_log,
        executor=resources.executor,
        has_two_persons=partial(_has_two_persons, resources.stores),
    )


def _has_two_persons(stores: Stores, tenant_id: str) -> bool:
    return stores.registry.tenancy.has_two_persons(tenant_id, at=stores.clock.now())


AREA: Final = Area(
    routes=(request_action, approve_action, list_actions, get_action), provide={"actions": action_service}
)
