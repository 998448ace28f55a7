"""Policies over HTTP. A version is written once, and comes into force when another person approves its activation."""

from functools import partial
from typing import Final

import msgspec
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.examples import ACTION
from clearhold.api.actions.routes import action_service
from clearhold.api.actions.schemas import Action
from clearhold.api.area import Area, Resources
from clearhold.api.http.conditional import ETAG, PRIVATE, published
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of, query_of
from clearhold.api.http.operation import JSON, Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.lists import published_part
from clearhold.api.policies.examples import ACTIVATION, NEW_POLICY, POLICY
from clearhold.api.policies.rules import policy_failures
from clearhold.api.policies.schemas import Activation, NewPolicy, PoliciesQuery, Policy
from clearhold.api.policies.service import PolicyService
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.control.versions import Versions
from clearhold.store.duck.policies import PolicyTable

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
_ACTIVATE: Final = _by_operator(
    id="activatePolicy",
    summary="Requests the activation of a version, on the whole tenant or on its program. It is in force from the "
    "approval of another person on, in place of the one before; nothing that was decided changes.",
    answers={201: Action},
    refusals=(ErrorCode.POLICY_NOT_FOUND, ErrorCode.POLICY_IN_FORCE, ErrorCode.CHANGE_PENDING, ErrorCode.NOT_CONFIRMED),
    body=RequestSchema(Activation),
    example=ACTIVATION,
    answer_example=ACTION | {"type": "activate_policy", "targetType": "policy", "targetId": POLICY["id"]},
)


@get("/api/policies", opt=_LIST.as_opt)
async def list_policies(request: ApiRequest, policies: NamedDependency[PolicyService]) -> Response[bytes | None]:
    part = await policies.list(principal_of(request.scope), query_of(request.scope, PoliciesQuery))
    return published_part(request, part)


@get("/api/policies/{policy_id:str}", opt=_READ.as_opt)
async def get_policy(
    policy_id: FromPath[str], request: ApiRequest, policies: NamedDependency[PolicyService]
) -> Response[bytes | None]:
    policy = await policies.read(principal_of(request.scope), policy_id)
    return published(request, msgspec.json.encode(policy), media_type=JSON, cache=PRIVATE)


@post("/api/policies", opt=_CREATE.as_opt)
async def create_policy(request: ApiRequest, policies: NamedDependency[PolicyService]) -> Policy:
    body = body_of(request.scope, NewPolicy)
    return await policies.create(principal_of(request.scope), body, effect_id_of(request.scope))


@post("/api/policies/{policy_id:str}/activate", opt=_ACTIVATE.as_opt)
async def activate_policy(
    policy_id: FromPath[str], request: ApiRequest, policies: NamedDependency[PolicyService]
) -> Action:
    body = body_of(request.scope, Activation)
    return await policies.activate(principal_of(request.scope), policy_id, body, effect_id_of(request.scope))


def _policies(resources: Resources) -> PolicyService:
    stores = resources.stores
    return PolicyService(
        policies=stores.registry.tenancy.policies,
        versions=Versions(stores.registry, clock=stores.clock),
        table=PolicyTable(stores.database),
        programs=ProgramService(stores.registry.tenancy),
        actions=action_service(resources),
    )


AREA: Final = Area(routes=(list_policies, get_policy, create_policy, activate_policy), provide={"policies": _policies})
