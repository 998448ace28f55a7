"""Operations that several areas have, and handlers that are one call of a service.

The gate has read the request, and the operation says what it may answer.

``call`` is a method of the service named ``service``. It gets the principal and the ids in the path; then the query or
the body, where the operation has one; a write that takes the id of its effect gets it last, as ``effect_id``.

A fast route is a busy one that its middleware answers. Routing, the gate, the error handler and the headers are the
usual ones. Litestar's handler and response objects, a third to a half of the cost of a short request, are left out. The
route's handler only names it.
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import signature
from types import NoneType
from typing import Any, Final, Generic, NoReturn, TypeVar

import msgspec
from litestar import Response, get, post
from litestar.enums import ScopeType
from litestar.handlers import HTTPRouteHandler
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import checked, effect_id_of, optional_body_of, principal_of
from clearhold.api.http.head import PRIVATE, published
from clearhold.api.http.operation import JSON, Access, Operation
from clearhold.api.http.request_schema import RequestSchema, Rules
from clearhold.api.lists.exports import MEDIA_TYPES, Batches, ByteDownload, Downloads, ExportFormat, examples_of
from clearhold.api.lists.lists import ArrayPart, ListPage, moments_exist, next_link, published_part
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_EXPORT_LIMITS: Final = (
    "An export that fails midway breaks the connection without a clean end. "
    "At most two run at a time for a tenant, and eight in all."
)


def list_operation(
    id_: str,
    *,
    tag: str,
    summary: str,
    scope: KeyScope,
    page: type[msgspec.Struct],
    query: type[msgspec.Struct],
    example: Mapping[str, Any],
    rules: Rules = moments_exist,
    refusals: tuple[ErrorCode, ...] = (),
) -> Operation:
    """Pages of a list; ``example`` is one item of it."""
    return Operation(
        id=id_,
        tag=tag,
        summary=summary,
        access=Access.BEARER,
        scope=scope,
        answers={200: page},
        refusals=refusals,
        answer_example={"data": [example], "hasMore": False, "nextCursor": None},
        query=RequestSchema(query, rules=rules),
    )


def export_operation(
    id_: str,
    *,
    tag: str,
    summary: str,
    scope: KeyScope,
    item: type[msgspec.Struct],
    query: type[msgspec.Struct],
    example: Mapping[str, Any],
    rules: Rules = moments_exist,
) -> Operation:
    """A whole list as NDJSON or CSV; ``example`` is one item of it."""
    return Operation(
        id=id_,
        tag=tag,
        summary=f"{summary} {_EXPORT_LIMITS}",
        access=Access.BEARER,
        scope=scope,
        answers={200: item},
        refusals=(ErrorCode.TOO_MANY_AT_ONCE,),
        query=RequestSchema(query, rules=rules),
        headers=("Content-Disposition",),
        media=tuple(MEDIA_TYPES.values()),
        text_examples=examples_of(item, example),
    )


JsonAnswer = tuple[int, bytes, list[tuple[bytes, bytes]]]
"""Status, body, further headers."""

SERVICES: Final = "services"
"""The key of the services by name in the application's state."""

Service = TypeVar("Service")


class FastRoute(ASGIMiddleware, Generic[Service]):
    """Answers for its route; ``answer`` gets the service of that name and the scope."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, service: str, answer: Callable[[Service, Scope], Awaitable[JsonAnswer]]) -> None:
        self._service, self._answer = service, answer

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:  # noqa: ARG002
        service: Service = scope["litestar_app"].state[SERVICES][self._service]
        status, body, further = await self._answer(service, scope)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *further]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def answered_by_middleware() -> NoReturn:
    """The handler of a fast route, which no request reaches while the middleware is in place."""
    raise RuntimeError("This route is answered by its middleware.")


_ENCODE: Final = msgspec.json.Encoder().encode


def answer_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[object]]
) -> HTTPRouteHandler:
    """A read, without an ETag. A page or a part of a list has the link to the next one."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> Response[object]:
        answer = await _called(request, operation, service, call)
        link = next_link(request, answer.next_cursor) if isinstance(answer, ListPage | ArrayPart) else {}
        content = answer.body if isinstance(answer, ArrayPart) else answer
        return Response(content, headers=link, media_type=operation.media[0])

    return handler


def export_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[Batches]], name: str | None = None
) -> HTTPRouteHandler:
    """The download of a whole list; its file has the operation's tag as its name, unless ``name`` is given."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> ASGIApp:
        batches = await _called(request, operation, service, call)
        downloads: Downloads = request.app.state[SERVICES]["downloads"]
        format_ = getattr(checked(request.scope).query, "format", ExportFormat.NDJSON)
        kind = operation.answers[200]
        return downloads.of(
            principal_of(request.scope), batches, name=name or operation.tag, kind=kind, format_=format_
        )

    return handler


def bytes_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[ByteDownload]]
) -> HTTPRouteHandler:
    """The download of bytes that are made while they are read."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> ASGIApp:
        stream = await _called(request, operation, service, call)
        downloads: Downloads = request.app.state[SERVICES]["downloads"]
        return downloads.of_bytes(principal_of(request.scope), stream)

    return handler


def list_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[ArrayPart]]
) -> HTTPRouteHandler:
    """An array, or the next part of it, with an ETag."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> Response[bytes | None]:
        return published_part(request, await _called(request, operation, service, call))

    return handler


def read_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[msgspec.Struct]]
) -> HTTPRouteHandler:
    """One thing, with an ETag."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> Response[bytes | None]:
        body = _ENCODE(await _called(request, operation, service, call))
        return published(request, body, media_type=JSON, cache=PRIVATE)

    return handler


def write_route(
    path: str,
    operation: Operation,
    service: str,
    call: Callable[..., Awaitable[object]],
    method: Callable[..., Any] = post,
) -> HTTPRouteHandler:
    """A write. Its status is the one that the operation has for the type of the answer; None has no body."""
    takes_effect_id = "effect_id" in signature(call).parameters

    async def handler(request: ApiRequest) -> Response[object]:
        further = (effect_id_of(request.scope),) if takes_effect_id else ()
        answer = await _called(request, operation, service, call, *further)
        status = next(status for status, type_ in operation.answers.items() if isinstance(answer, type_ or NoneType))
        return Response(answer, status_code=status)

    route: HTTPRouteHandler = method(path, opt=operation.as_opt, status_code=200)(handler)
    return route


async def _called(
    request: ApiRequest, operation: Operation, service: str, call: Callable[..., Awaitable[Any]], *further: object
) -> Any:
    scope, sent = request.scope, []
    if operation.query is not None:
        sent.append(checked(scope).query)
    if operation.body is not None:
        sent.append(optional_body_of(scope, operation.body.struct))
    of_name = request.app.state[SERVICES][service]
    return await call(of_name, principal_of(scope), *request.path_params.values(), *sent, *further)
