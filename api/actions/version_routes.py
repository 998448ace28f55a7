"""The routes of versioned things: listed, read, written, and brought into force by an action of two people.

An area names its service and its operations, and gets the handlers: ``versioned_routes`` for a kind of version, the
others one by one. ``call`` is a method of the service named ``service``; it gets the principal, the id in the path, the
body or query of the operation, and for a write the id of its effect.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler

from clearhold.api.actions.examples import ACTION
from clearhold.api.actions.schemas import Action
from clearhold.api.http.conditional import PRIVATE, published
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.fast_route import SERVICES
from clearhold.api.http.gate import checked, effect_id_of, optional_body_of, principal_of
from clearhold.api.http.operation import JSON, Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.arrays import ArrayPart
from clearhold.api.lists.lists import published_part
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import Principal

_ENCODE: Final = msgspec.json.Encoder().encode


class VersionService(Protocol):
    """The service of a kind of version."""

    async def list(self, principal: Principal, query: Any, /) -> ArrayPart:
        """Newest first."""

    async def read(self, principal: Principal, version: str, /) -> msgspec.Struct: ...

    async def create(self, principal: Principal, request: Any, effect_id: str | None, /) -> msgspec.Struct:
        """A new version, in force nowhere."""

    async def activate(self, principal: Principal, version: str, request: Any, effect_id: str | None, /) -> Action:
        """The action that brings the version into force after the approval of another person."""


def versioned_routes(
    path: str,
    service: str,
    type_: type[VersionService],
    *,
    listed: Operation,
    read: Operation,
    created: Operation,
    activated: Operation,
) -> tuple[HTTPRouteHandler, ...]:
    """The four routes of a kind of version; ``path`` is that of one version, and ends with its parameter."""
    all_path = path.rpartition("/")[0]
    return (
        list_route(all_path, listed, service, type_.list),
        read_route(path, read, service, type_.read),
        write_route(all_path, created, service, type_.create),
        write_route(f"{path}/activate", activated, service, type_.activate),
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


def list_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[ArrayPart]]
) -> HTTPRouteHandler:
    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> Response[bytes | None]:
        query = checked(request.scope).query
        return published_part(request, await call(_service(request, service), principal_of(request.scope), query))

    return handler


def read_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[msgspec.Struct]]
) -> HTTPRouteHandler:
    """One thing, with an ETag."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> Response[bytes | None]:
        ids = request.path_params.values()
        read = await call(_service(request, service), principal_of(request.scope), *ids)
        return published(request, _ENCODE(read), media_type=JSON, cache=PRIVATE)

    return handler


def write_route(
    path: str,
    operation: Operation,
    service: str,
    call: Callable[..., Awaitable[msgspec.Struct]],
    method: Callable[..., Any] = post,
) -> HTTPRouteHandler:
    """A write. Its status is that which the operation has for the type of the answer."""
    body = operation.body

    async def handler(request: ApiRequest) -> Response[Any]:
        scope, ids = request.scope, request.path_params.values()
        sent = () if body is None else (optional_body_of(scope, body.struct),)
        answer = await call(_service(request, service), principal_of(scope), *ids, *sent, effect_id_of(scope))
        status = next(status for status, type_ in operation.answers.items() if isinstance(answer, type_))
        return Response(answer, status_code=status)

    route: HTTPRouteHandler = method(path, opt=operation.as_opt, status_code=min(operation.answers))(handler)
    return route


def _service(request: ApiRequest, name: str) -> Any:
    return request.app.state[SERVICES][name]
