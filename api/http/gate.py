"""The checks of every request to a route, in their order; the first failure is the answer.

origin 403 ─▶ body size 413 ─▶ bearer 401 ─▶ mode, program and scope 403 ─▶ rate limit 429 ─▶ X-Operator 400, 403
─▶ Idempotency-Key 400 ─▶ If-Match 400 ─▶ media type 415 ─▶ validation 400 ─▶ the key's stored answer, or 409
─▶ the handler: 404, 409
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.response.base import ASGIResponse
from litestar.status_codes import HTTP_204_NO_CONTENT
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.http.auth import Authenticator, NamedPrograms, operator_of
from clearhold.api.http.body import BodyBudget, read_body
from clearhold.api.http.envelope import INTERFACE_VERSION, header_values
from clearhold.api.http.fields import MUST_BE_UUID, is_uuid
from clearhold.api.http.head import Origins, answer_by_of, if_match_of, read_ids
from clearhold.api.http.idempotency import Idempotency, KeyedRequest, key_of, keyed_request
from clearhold.api.http.limits import Floods, RateLimits
from clearhold.api.http.operation import OPT, PROVEN, Access, Operation
from clearhold.api.http.reading import READS_OF
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.errors import (
    ErrorCode,
    FieldCode,
    FieldError,
    InvalidRequestError,
    RiskError,
    UnauthorizedError,
    invalid,
)
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.store.clock import Clock

MAX_QUERY_PARAMETERS: Final = 500  # All lists of a query may be full, with the name repeated for each value.
TENANT: Final = "tenant"
PRINCIPAL: Final = "clearhold.principal"
"""The key of the principal in the scope, set once the bearer is known."""
_TOO_MANY: Final = f"At most {MAX_QUERY_PARAMETERS} query parameters are read, each value of a list counted."
ENCODED: Final = "The request body must be sent as it is: Content-Encoding must not be set."
MEDIA_TYPE: Final = "The request body must be application/json in UTF-8: send Content-Type: application/json."

_UNNAMED: Final = frozenset({Access.OWNER, Access.BEARER_ALONE})
_CHECKED: Final = "clearhold.checked"
_JSON: Final = b"application/json"
_UTF8: Final = frozenset({b"charset=utf-8", b'charset="utf-8"'})

S = TypeVar("S", bound=msgspec.Struct)


class NoQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of a route that has none."""


class CheckedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that passed the gate, for the handler."""

    raw: bytes
    principal: Principal | None
    body: Any
    plain: dict[str, Any]
    query: Any
    keyed: KeyedRequest | None  # with an Idempotency-Key
    replaces: Callable[[str], bool] | None  # with If-Match: whether it names an ETag
    arrived_at: int
    answer_by: float | None  # of the event loop's clock
    renewal: Callable[[], Principal] | None  # of a stream: its caller, proven again


class NoBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a write that takes none: nothing, or an empty object."""


_NO_BODY: Final[RequestSchema[Any]] = RequestSchema(NoBody)
_NO_QUERY: Final = RequestSchema(NoQuery)
_EMPTY_QUERY: Final = NoQuery()


class _NamedInBody(msgspec.Struct, frozen=True, rename="camel"):
    """The program in a body, before the body is validated."""

    program_id: object = None
    program_slug: object = None


_NAMED_IN_BODY: Final = msgspec.json.Decoder(_NamedInBody)


class Gate(ASGIMiddleware):
    """One middleware, so that one function has the order of checks."""

    scopes = (ScopeType.HTTP,)

    def __init__(
        self,
        authenticator: Authenticator,
        limits: RateLimits,
        idempotency: Idempotency,
        clock: Clock,
        floods: Floods,
        origins: Origins,
    ) -> None:
        self._authenticator, self._limits, self._idempotency = authenticator, limits, idempotency
        self._origins = origins
        self._clock, self._floods, self._bodies = clock, floods, BodyBudget()

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        try:
            await self._handle(scope, receive, send, next_app)
        except UnauthorizedError:
            await self._floods.hold(scope)
            raise

    async def _handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        operation: Operation | None = scope["route_handler"].opt.get(OPT)
        if operation is None:
            await _answer_options(scope, receive, send)
            return
        arrived_at, began = self._clock.now(), asyncio.get_running_loop().time()
        read_ids(scope)
        if operation.own_origins:
            self._origins.check(scope)
        method: str = scope["method"]  # type: ignore[typeddict-item]  # this middleware is for HTTP alone
        reads = operation.reads_body or operation.is_idempotent(method)
        raw = await read_body(scope, receive, limit=operation.body_limit, budget=self._bodies) if reads else b""
        request = self._check(scope, operation, raw, arrived_at, began)
        scope[_CHECKED] = request  # type: ignore[typeddict-unknown-key]
        if request.keyed is None:
            await next_app(scope, receive, send)
        else:
            await self._idempotency.answer(request.keyed, operation, scope, receive, send, next_app)

    def _check(self, scope: Any, operation: Operation, raw: bytes, arrived_at: int, began: float) -> CheckedRequest:
        pairs, unread = _pairs_of(scope)
        principal = None
        key = None
        writes = operation.is_idempotent(scope["method"])
        if operation.access in PROVEN:
            principal = self._principal(scope, operation, raw, pairs)
            key = key_of(scope) if writes else None
        elif operation.rate is not None:
            self._limits.take_for_address(scope, operation.rate)
        replaces = if_match_of(scope) if operation.needs_if_match else None
        check_version(scope)
        answer_by = answer_by_of(scope, began) if operation.takes_deadline else None
        if raw:
            check_encoding(scope)
        shape = operation.body or (_NO_BODY if writes else None)
        required = operation.body is not None and operation.body_required
        body: Any = None
        plain: dict[str, Any] = {}
        if shape is not None:
            check_media_type(scope, raw, required=required)
        if unread is not None:
            raise unread
        program_id = scope["path_params"].get("program_id")
        if program_id is not None and not is_uuid(program_id):
            raise invalid("programId", MUST_BE_UUID, FieldCode.MALFORMED)
        query = _query_of(operation, pairs)
        if shape is not None and (raw or required):
            body, plain = shape.decode(raw)
        keyed = None
        if principal is not None and key is not None:
            keyed = keyed_request(scope, principal, key, plain, answer_by=answer_by)
        return CheckedRequest(
            raw=raw,
            principal=principal,
            body=body,
            plain=plain,
            query=query,
            keyed=keyed,
            replaces=replaces,
            arrived_at=arrived_at,
            answer_by=answer_by,
            renewal=partial(self._proven, scope, operation, raw, pairs) if operation.streams else None,
        )

    def _principal(self, scope: Any, operation: Operation, raw: bytes, pairs: list[tuple[str, str]]) -> Principal:
        """The caller, once authenticated and authorized: 401, 403, 429, and 400 or 403 for X-Operator."""
        principal = scope[PRINCIPAL] = self._proven(scope, operation, raw, pairs)
        self._limits.take(scope, principal, operation.rate_class(scope["method"]))
        READS_OF.set(principal.tenant_id)
        if operation.access in _UNNAMED and not principal.has_own_token:
            return principal
        return msgspec.structs.replace(principal, operator=operator_of(scope, principal))

    def _proven(self, scope: Any, operation: Operation, raw: bytes, pairs: list[tuple[str, str]]) -> Principal:
        tenant = next((text for name, text in pairs if name == TENANT), None)
        principal = self._authenticator.principal(scope, operation.access, tenant)
        self._authenticator.authorize(principal, operation, _named(scope, principal, raw, pairs))
        return principal


async def _answer_options(scope: Any, receive: Receive, send: Send) -> None:
    """Answer OPTIONS. The framework's own handler knows only the first handler of a path."""
    methods = scope["litestar_app"].route_handler_method_map[scope["path_template"]]
    answer = ASGIResponse(status_code=HTTP_204_NO_CONTENT, headers={"Allow": ", ".join(sorted(methods))})
    await answer(scope, receive, send)


def checked(scope: Any) -> CheckedRequest:
    request: CheckedRequest = scope[_CHECKED]
    return request


def principal_of(scope: Any) -> Principal:
    principal = checked(scope).principal
    assert principal is not None, "this route has no proven caller"
    return principal


def renewal_of(scope: Any) -> Callable[[], Principal]:
    """Proves the caller of a stream again; raises the refusal that its request would get now."""
    renewal = checked(scope).renewal
    assert renewal is not None, "this route's operation is no stream"
    return renewal


def effect_id_of(scope: Any) -> str | None:
    """The id for the effect of a request with an idempotency key."""
    keyed = checked(scope).keyed
    return None if keyed is None else keyed.effect_id


def body_of(scope: Any, struct: type[S]) -> S:
    body = checked(scope).body
    assert isinstance(body, struct), "this route's operation declares another body"
    return body


def replaces_of(scope: Any) -> Callable[[str], bool]:
    """Whether this write may replace an ETag."""
    replaces = checked(scope).replaces
    assert replaces is not None, "this route's operation declares no If-Match"
    return replaces


def optional_body_of(scope: Any, struct: type[S]) -> S:
    """The body, or the Struct's defaults when none was sent."""
    return struct() if checked(scope).body is None else body_of(scope, struct)


def query_of(scope: Any, struct: type[S]) -> S:
    query = checked(scope).query
    assert isinstance(query, struct), "this route's operation declares another query"
    return query


def query_pairs(scope: Any) -> list[tuple[str, str]]:
    """The query parameters in order; bytes that are not UTF-8 become U+FFFD, which validation refuses."""
    raw: bytes = scope["query_string"]
    if not raw:
        return []
    try:
        text = raw.decode("utf-8", "replace")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError:
        raise InvalidRequestError(_TOO_MANY) from None
    if len(pairs) + sum(value.count(",") for _, value in pairs) > MAX_QUERY_PARAMETERS:
        raise InvalidRequestError(_TOO_MANY)
    return pairs


def _pairs_of(scope: Any) -> tuple[list[tuple[str, str]], InvalidRequestError | None]:
    """The parameters, or the reason why they cannot be read, which validation reports later."""
    try:
        return query_pairs(scope), None
    except InvalidRequestError as error:
        return [], error


def check_version(scope: Any) -> None:
    """Score-Version may be left out; other versions are refused."""
    if any(sent != INTERFACE_VERSION.encode() for sent in header_values(scope, b"score-version")):
        sentence = f"The header Score-Version must be {INTERFACE_VERSION}, or left out."
        field = FieldError(path="Score-Version", code=FieldCode.NOT_ONE_OF)
        raise InvalidRequestError(sentence, ErrorCode.VERSION_UNSUPPORTED, fields=[field])


def check_encoding(scope: Any) -> None:
    """A packed body is not unpacked, and is refused whatever its route takes (RFC 9110, 8.4)."""
    if any(each.strip().lower() != b"identity" for each in header_values(scope, b"content-encoding")):
        raise RiskError(ENCODED, ErrorCode.MEDIA_TYPE_UNSUPPORTED)


def check_media_type(scope: Any, raw: bytes, *, required: bool) -> None:
    """application/json in UTF-8. Validation handles a missing body."""
    sent = header_values(scope, b"content-type")
    if not sent and not raw:
        return
    if not raw and not required:
        return
    kind, *parameters = [part.strip().lower() for part in sent[0].split(b";")] if len(sent) == 1 else [b""]
    if kind != _JSON or any(parameter not in _UTF8 for parameter in parameters if parameter):
        raise RiskError(MEDIA_TYPE, ErrorCode.MEDIA_TYPE_UNSUPPORTED)


def _named(scope: Any, principal: Principal, raw: bytes, pairs: list[tuple[str, str]]) -> NamedPrograms:
    """The programs named in the path, else in the query, else in the body. A key needs access to each of them."""
    in_path = scope["path_params"].get("program_id")
    in_query = (each for name, text in pairs if name == "programId" for each in text.split(","))
    named = (in_path,) if in_path else tuple(in_query)
    if named or not raw or principal.kind is not PrincipalKind.KEY:
        return NamedPrograms(program_ids=named)
    try:
        body = _NAMED_IN_BODY.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NamedPrograms()  # Validation reports its faults.
    program_id, slug = body.program_id, body.program_slug
    return NamedPrograms(
        program_ids=(program_id,) if isinstance(program_id, str) else (),
        program_slug=slug if isinstance(slug, str) else None,
    )


def _query_of(operation: Operation, pairs: list[tuple[str, str]]) -> Any:
    known = [pair for pair in pairs if pair[0] != TENANT]
    if len(pairs) - len(known) > 1:
        raise invalid(TENANT, "must be given once", FieldCode.REPEATED)
    if operation.query is not None:
        return operation.query.read_query(known)
    return _NO_QUERY.read_query(known) if known else _EMPTY_QUERY
