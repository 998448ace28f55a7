"""Handlers that are one call of a service: the gate has read the request, and the operation says what it may answer.

``call`` is a method of the service named ``service``. It gets the principal and the ids in the path; then the query or
the body, where the operation has one; a write that takes the id of its effect gets it last, as ``effect_id``.
"""

from collections.abc import Awaitable, Callable
from inspect import signature
from typing import Any, Final

import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from clearhold.api.http.conditional import PRIVATE, published
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.fast_route import SERVICES
from clearhold.api.http.gate import checked, effect_id_of, optional_body_of, principal_of
from clearhold.api.http.operation import JSON, Operation
from clearhold.api.lists.arrays import ArrayPart
from clearhold.api.lists.exports import Batches, Downloads
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import next_link, published_part

_ENCODE: Final = msgspec.json.Encoder().encode


def answer_route(
    path: str, operation: Operation, service: str, call: Callable[..., Awaitable[object]]
) -> HTTPRouteHandler:
    """A read, without an ETag. A page of a list has the link to the next one."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> Response[object]:
        answer = await _called(request, operation, service, call)
        return Response(answer, headers=next_link(request, answer.next_cursor) if isinstance(answer, ListPage) else {})

    return handler


def export_route(path: str, operation: Operation, service: str, call: Callable[..., Batches]) -> HTTPRouteHandler:
    """The download of a whole list, named by the operation's tag."""

    @get(path, opt=operation.as_opt)
    async def handler(request: ApiRequest) -> ASGIApp:
        services = request.app.state[SERVICES]
        principal, query = principal_of(request.scope), checked(request.scope).query
        downloads: Downloads = services["downloads"]
        batches = call(services[service], principal, query)
        return downloads.of(principal, batches, name=operation.tag, kind=operation.answers[200], format_=query.format)

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
    """A write. Its status is the one that the operation has for the type of the answer."""
    takes_effect_id = "effect_id" in signature(call).parameters

    async def handler(request: ApiRequest) -> Response[object]:
        further = (effect_id_of(request.scope),) if takes_effect_id else ()
        answer = await _called(request, operation, service, call, *further)
        status = next(status for status, type_ in operation.answers.items() if isinstance(answer, type_))
        return Response(answer, status_code=status)

    route: HTTPRouteHandler = method(path, opt=operation.as_opt, status_code=min(operation.answers))(handler)
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
