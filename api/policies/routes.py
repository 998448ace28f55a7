"""Policies over HTTP, for reading."""

from typing import Final

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.area import Area, Resources
from api.http.conditional import ETAG, PRIVATE, published
from api.http.envelope import ApiRequest
from api.http.gate import principal_of, query_of
from api.http.operation import JSON, Access, Operation
from api.http.request_schema import RequestSchema
from api.policies.examples import POLICY
from api.policies.schemas import PoliciesQuery, Policy
from api.policies.service import PolicyService
from api.programs.service import ProgramService
from features.core.errors import ErrorCode
from features.core.principal import KeyScope

_TAG: Final = "policies"

_LIST: Final = Operation(
    id="listPolicies",
    tag=_TAG,
    summary="The tenant's policies, newest first.",
    access=Access.BEARER,
    scope=KeyScope.POLICIES,
    answers={200: tuple[Policy, ...], 304: None},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    answer_example=[POLICY],
    query=RequestSchema(PoliciesQuery),
    headers=(ETAG,),
)
_READ: Final = Operation(
    id="getPolicy",
    tag=_TAG,
    summary="One policy of the tenant.",
    access=Access.BEARER,
    scope=KeyScope.POLICIES,
    answers={200: Policy, 304: None},
    refusals=(ErrorCode.POLICY_NOT_FOUND,),
    answer_example=POLICY,
    headers=(ETAG,),
)


@get("/api/policies", opt=_LIST.as_opt)
async def list_policies(request: ApiRequest, policies: NamedDependency[PolicyService]) -> Response[bytes | None]:
    policies_listed = policies.list(principal_of(request.scope), query_of(request.scope, PoliciesQuery))
    return published(request, msgspec.json.encode(policies_listed), media_type=JSON, cache=PRIVATE)


@get("/api/policies/{policy_id:str}", opt=_READ.as_opt)
async def get_policy(
    policy_id: FromPath[str], request: ApiRequest, policies: NamedDependency[PolicyService]
) -> Response[bytes | None]:
    policy = policies.read(principal_of(request.scope), policy_id)
    return published(request, msgspec.json.encode(policy), media_type=JSON, cache=PRIVATE)


def _policies(resources: Resources) -> PolicyService:
    registry = resources.stores.registry
    return PolicyService(tenancy=registry.tenancy, programs=ProgramService(registry.tenancy))


AREA: Final = Area(routes=(list_policies, get_policy), provide={"policies": _policies})
