"""Policies over HTTP. A version is written once, and comes into force when another person approves its activation."""

from functools import partial
from typing import Any, Final

from clearhold.api.actions.routes import activation_operation, versioned_routes
from clearhold.api.area import Area
from clearhold.api.http.head import ETAG
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.policies.rules import policy_failures
from clearhold.api.policies.service import Activation, NewPolicy, PoliciesQuery, Policy, PolicyService
from clearhold.api.programs.routes import TENANT_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

POLICY: Final[dict[str, Any]] = {
    "id": "b2e7c5d1-0f3a-5e8b-9d4c-6a1f2e7b8c11",
    "tenantId": TENANT_ID,
    "programId": None,
    "version": "clock-v1",
    "body": {"autoHours": 1, "standardHours": 24, "complexHours": 72, "appealHours": 72},
    "active": True,
    "createdAt": "2026-01-05T09:00:00.000Z",
}
NEW_POLICY: Final[dict[str, Any]] = {
    "version": "clock-v2",
    "programId": None,
    "body": {"autoHours": 1, "standardHours": 8, "complexHours": 48, "appealHours": 48},
}
ACTIVATION: Final = {"note": "The board wants standard alerts decided within a working day."}


_TAG: Final = "policies"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)
_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)

_LIST: Final = _operation(
    id="listPolicies",
    summary="The tenant's policies, newest first. The body of a version of the rules is empty here: `GET "
    '/api/policies/{id}` has it. A list of over 4 MiB, or of more than `limit`, continues at `Link: rel="next"`.',
    answers={200: tuple[Policy, ...], 304: None},
    refusals=(ErrorCode.CURSOR_INVALID, ErrorCode.PROGRAM_NOT_FOUND),
    answer_example=[POLICY],
    query=RequestSchema(PoliciesQuery),
    headers=(ETAG, "Link"),
)
_READ: Final = _operation(
    id="getPolicy",
    summary="One policy of the tenant.",
    answers={200: Policy, 304: None},
    refusals=(ErrorCode.POLICY_NOT_FOUND,),
    answer_example=POLICY,
    headers=(ETAG,),
)
_CREATE: Final = _by_operator(
    id="createPolicy",
    summary="Writes a new version of a policy. It takes effect once its activation is approved, and is never "
    "edited or removed. Versions of a kind are counted: policy-v2 follows policy-v1. Those with the prefixes "
    "autonomy, limits, rules and scorecard have separate routes.",
    answers={201: Policy},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.POLICY_VERSION_EXISTS,
        ErrorCode.POLICY_VERSION_NOT_NEXT,
        ErrorCode.TOO_MANY_POLICIES,
    ),
    body=RequestSchema(NewPolicy, rules=policy_failures),
    example=NEW_POLICY,
    answer_example=POLICY | {"version": NEW_POLICY["version"], "body": NEW_POLICY["body"], "active": False},
)
_ACTIVATE: Final = activation_operation(
    "activatePolicy",
    tag=_TAG,
    summary="Requests the activation of a version, on the whole tenant or on its program. It is in force from the "
    "approval of another person on, in place of the one before; nothing that was decided changes.",
    refusals=(ErrorCode.POLICY_NOT_FOUND, ErrorCode.POLICY_IN_FORCE),
    body=Activation,
    body_required=True,
    example=ACTIVATION,
    action={"type": "activate_policy", "targetType": "policy", "targetId": POLICY["id"]},
)


AREA: Final = Area(
    routes=versioned_routes(
        "/api/policies/{policy_id:str}",
        _TAG,
        PolicyService,
        listed=_LIST,
        read=_READ,
        created=_CREATE,
        activated=_ACTIVATE,
    ),
    provide={_TAG: PolicyService},
)
