"""The order of checks. Every request to a route of ours passes here, and the first failure answers.

body size 413 ─▶ bearer 401 ─▶ X-Operator 400 ─▶ media type 415 ─▶ validation 400 ─▶ the handler: 404, 409

Mode, program and scope (403) and the rate limit (429) belong between the bearer and X-Operator; the syntax of
Idempotency-Key after X-Operator; its stored answer right before the handler.
"""

import asyncio
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from api.auth import Authenticator, Caller, operator_of
from api.envelope import INTERFACE_VERSION, header_values
from api.errors import BodyTooLargeError, SlowBodyError, UnsupportedMediaTypeError
from api.operation import OPT, Access, Operation
from api.shapes import Shape
from features.errors import InvalidRequestError

MAX_QUERY_PARAMETERS: Final = 100
TENANT: Final = "tenant"
BODY_PART_WITHIN_S: Final = 10.0
BODY_WITHIN_S: Final = 30.0
TOO_SLOW: Final = "The request body did not arrive in time."

_PASSED: Final = "clearhold.passed"
_JSON: Final = b"application/json"
_UTF8: Final = frozenset({b"charset=utf-8", b'charset="utf-8"'})

S = TypeVar("S", bound=msgspec.Struct)


class NoQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of a route that has none."""


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate leaves for the handler."""

    raw: bytes
    caller: Caller | None
    body: Any
    plain: dict[str, Any]
    query: Any


_NO_QUERY: Final = Shape(NoQuery)
_EMPTY_QUERY: Final = NoQuery()


class Gate(ASGIMiddleware):
    """One middleware, so that the order of checks is one function."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        operation: Operation | None = scope["route_handler"].opt.get(OPT)
        if operation is not None:  # None: Litestar's own OPTIONS handlers.
            raw = await read_body(scope, receive, limit=operation.body_limit) if operation.reads_body else b""
            scope[_PASSED] = self._checked(scope, operation, raw)  # type: ignore[typeddict-unknown-key]
        await next_app(scope, receive, send)

    def _checked(self, scope: Any, operation: Operation, raw: bytes) -> Passed:
        pairs = query_pairs(scope)
        caller = None
        if operation.access in {Access.OPERATOR, Access.ADMIN}:
            tenant = next((text for name, text in pairs if name == TENANT), None)
            principal = self._authenticator.principal(scope, operation.access, tenant)
            caller = msgspec.structs.replace(principal, operator=operator_of(scope))
        check_version(scope)
        body: Any = None
        plain: dict[str, Any] = {}
        if operation.body is not None:
            check_media_type(scope, raw, required=operation.body_required)
        query = _query_of(operation, pairs)
        if operation.body is not None and (raw or operation.body_required):
            body, plain = operation.body.decode(raw)
        return Passed(raw=raw, caller=caller, body=body, plain=plain, query=query)


def passed(scope: Any) -> Passed:
    found: Passed = scope[_PASSED]
    return found


def caller_of(scope: Any) -> Caller:
    caller = passed(scope).caller
    assert caller is not None, "this route has no authenticated caller"
    return caller


def body_of(scope: Any, struct: type[S]) -> S:
    body = passed(scope).body
    assert isinstance(body, struct), "this route's operation declares another body"
    return body


def query_of(scope: Any, struct: type[S]) -> S:
    query = passed(scope).query
    assert isinstance(query, struct), "this route's operation declares another query"
    return query


async def read_body(scope: Any, receive: Receive, *, limit: int) -> bytes:
    """The whole body; refused as soon as it is known to be too long, whether or not its length was declared.

    A body of which no part comes for ``BODY_PART_WITHIN_S``, or not all within ``BODY_WITHIN_S``, is refused as well.
    """
    refused = BodyTooLargeError(f"The request body must have at most {limit} bytes.")
    declared = header_values(scope, b"content-length")
    if declared and declared[0].isdigit() and (len(declared[0]) > len(str(limit)) or int(declared[0]) > limit):
        raise refused
    parts: list[bytes] = []
    size = 0
    more = True
    loop = asyncio.get_running_loop()
    end_at = loop.time() + BODY_WITHIN_S
    try:
        async with asyncio.timeout(BODY_PART_WITHIN_S) as waiting:
            while more:
                message: Any = await receive()
                if message["type"] == "http.disconnect":
                    raise InvalidRequestError("The request body ended early.")
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise refused
                parts.append(part)
                more = message.get("more_body", False)
                waiting.reschedule(min(loop.time() + BODY_PART_WITHIN_S, end_at))
    except TimeoutError:
        raise SlowBodyError(TOO_SLOW) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def query_pairs(scope: Any) -> list[tuple[str, str]]:
    """The query parameters in order; bytes that are not UTF-8 become U+FFFD, which validation refuses."""
    raw: bytes = scope["query_string"]
    if not raw:
        return []
    try:
        return parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError:
        raise InvalidRequestError(f"At most {MAX_QUERY_PARAMETERS} query parameters are read.") from None


def check_version(scope: Any) -> None:
    """Score-Version may be left out; a version that is not this one is refused."""
    if any(sent != INTERFACE_VERSION.encode() for sent in header_values(scope, b"score-version")):
        raise InvalidRequestError(f"The header Score-Version must be {INTERFACE_VERSION}.")


def check_media_type(scope: Any, raw: bytes, *, required: bool) -> None:
    """application/json, in UTF-8. A body that is not there is a matter of validation."""
    sent = header_values(scope, b"content-type")
    if not sent and not raw:
        return
    if not raw and not required:
        return
    kind, *parameters = [part.strip().lower() for part in sent[0].split(b";")] if len(sent) == 1 else [b""]
    if kind != _JSON or any(parameter not in _UTF8 for parameter in parameters if parameter):
        raise UnsupportedMediaTypeError("The request body must be application/json in UTF-8.")


def _query_of(operation: Operation, pairs: list[tuple[str, str]]) -> Any:
    known = [pair for pair in pairs if pair[0] != TENANT]
    if len(pairs) - len(known) > 1:
        raise InvalidRequestError("Validation failed: tenant must be given once")
    if operation.query is not None:
        return operation.query.read_query(known)
    return _NO_QUERY.read_query(known) if known else _EMPTY_QUERY
