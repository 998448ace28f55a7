"""The description of a route. The gate enforces it and the OpenAPI document shows it, so the two cannot differ."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

OPT: Final = "operation"
BODY_LIMIT: Final = 256 * 1024
PREFLIGHT_BODY_LIMIT: Final = 65_536
INGEST_BODY_LIMIT: Final = 1024 * 1024
BATCH_BODY_LIMIT: Final = 4 * 1024 * 1024
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
EVENT_STREAM: Final = "text/event-stream"
LAST_EVENT_ID: Final = "Last-Event-ID"
NO_TEXTS: Final[Mapping[str, str]] = {}
WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})

ANYWHERE: Final = (
    ErrorCode.HTTP_UNREADABLE,
    ErrorCode.REQUEST_TOO_SLOW,
    ErrorCode.BODY_INCOMPLETE,
    ErrorCode.PATH_NOT_FOUND,
    ErrorCode.METHOD_NOT_ALLOWED,
    ErrorCode.HEADERS_TOO_LARGE,
    ErrorCode.INTERNAL_ERROR,
    ErrorCode.TRANSFER_CODING_UNKNOWN,
    ErrorCode.HTTP_VERSION_UNSUPPORTED,
    ErrorCode.OVERLOADED,
    ErrorCode.STANDBY,
)
"""Codes that can answer any request; no operation lists them."""


class Access(StrEnum):
    """The proof that a route demands of its caller."""

    PUBLIC = "public"
    SIGNATURE = "signature"  # the service behind the route verifies the raw body
    BEARER = "bearer"  # the tenant's operator token and X-Operator, or an API key with the route's scope
    BEARER_ALONE = "bearer_alone"  # as bearer, but X-Operator may be left out, and it and Idempotency-Key are passed on
    OPERATOR = "operator"  # the tenant's operator token and X-Operator; a key is refused
    OWNER = "owner"  # the operator token of the tenant that owns the named program; X-Operator may be left out
    ADMIN = "admin"  # the platform's admin token and X-Operator


PROVEN: Final = frozenset(Access) - {Access.PUBLIC, Access.SIGNATURE}


class RateClass(StrEnum):
    PREFLIGHT = "preflight"
    WRITE = "write"
    READ = "read"
    VERIFY = "verify"  # public, for each address
    CONSOLE = "console"  # for each session of the console; before it, for each address


class RawBody(msgspec.Struct, frozen=True, kw_only=True):
    """A body that the service behind a route reads itself, as the OpenAPI document describes it."""

    schema: Mapping[str, Any]
    examples: Mapping[str, Any]
    media: str = JSON


class StreamedEvent(NamedTuple):
    """The JSON of an event of a stream: a Struct. ``data`` is the type of its field of that name, where given."""

    struct: type[msgspec.Struct]
    data: type[msgspec.Struct] | None = None


NO_EVENTS: Final[Mapping[str, StreamedEvent]] = {}


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path. ``answers`` maps a status to the type of its body, None for no body.

    ``refusals`` are its specific error codes; access, method, parameters and body imply the others.
    """

    id: str
    tag: str
    summary: str
    access: Access
    answers: Mapping[int, Any]
    refusals: tuple[ErrorCode, ...] = ()
    scope: KeyScope | None = None  # that an API key must have
    asks_owner: bool = False  # of a program's state, who may be starting or not there
    sandbox: bool = False  # for test keys only
    own_origins: bool = False  # not for pages of other sites
    tenant_wide: bool = False  # cannot be narrowed to programs: not for keys of one program, nor for test keys
    rate: RateClass | None = None  # by default, that of the method; a public route has none by default
    body: RequestSchema[Any] | None = None
    body_required: bool = True
    body_limit: int = BODY_LIMIT
    takes_deadline: bool = False  # the header X-Deadline-Ms
    needs_if_match: bool = False  # the header If-Match
    query: RequestSchema[Any] | None = None
    raw_body: RawBody | None = None  # the service behind the route reads the bytes itself
    example: Any = None  # of the request body, unless it is raw
    answer_example: Any = None  # of the first 2xx answer, as JSON
    text_examples: Mapping[str, str] = NO_TEXTS  # of it in other media
    headers: tuple[str, ...] = ()  # further response headers of its 2xx answers, beside an ETag and the link of a list
    media: tuple[str, ...] = (JSON,)  # of its 2xx answers; anything but JSON is described as text
    events: Mapping[str, StreamedEvent] = NO_EVENTS  # of an answer without an end, by name; Last-Event-ID continues it
    shown_once: tuple[str, ...] = ()  # fields of its answer that no stored answer may hold

    @property
    def streams(self) -> bool:
        return bool(self.events)

    @property
    def reads_body(self) -> bool:
        return self.raw_body is not None or self.body is not None

    @property
    def shown_headers(self) -> tuple[str, ...]:
        """The further response headers of its 2xx answers: with an ETag where a 304 can follow, and a list's link."""
        is_list = self.query is not None and "cursor" in self.query.properties
        return (
            *(("ETag",) if HTTP_304_NOT_MODIFIED in self.answers else ()),
            *self.headers,
            *(("Link",) if is_list else ()),
        )

    @property
    def as_opt(self) -> dict[str, Any]:
        """For Litestar's ``opt=``."""
        return {OPT: self}

    def rate_class(self, method: str) -> RateClass:
        return self.rate or (RateClass.WRITE if method in WRITES else RateClass.READ)

    def is_idempotent(self, method: str) -> bool:
        """Whether it takes an Idempotency-Key."""
        return method in WRITES and self.access in PROVEN and self.access is not Access.BEARER_ALONE

    def codes(self, method: str) -> tuple[ErrorCode, ...]:
        """All error codes of this operation under this method, in the table's order, except those of any request."""
        is_idempotent, sent = self.is_idempotent(method), [each for each in (self.query, self.body) if each is not None]
        takes_body = self.reads_body or is_idempotent
        implied: tuple[tuple[bool, set[ErrorCode]], ...] = (
            (any("cursor" in each.properties for each in sent), {ErrorCode.CURSOR_INVALID}),
            (any("programId" in each.properties for each in sent), {ErrorCode.PROGRAM_NOT_FOUND}),
            (self.scope is not None, {ErrorCode.SCOPE_MISSING}),
            (self.tenant_wide, {ErrorCode.TENANT_WIDE_REQUIRED}),
            (self.sandbox, {ErrorCode.TEST_KEY_REQUIRED}),
            (self.own_origins, {ErrorCode.ORIGIN_REFUSED}),
            (self.asks_owner, {ErrorCode.STARTING, ErrorCode.UNAVAILABLE}),
            (takes_body, {ErrorCode.BODY_TOO_LARGE}),
            (takes_body, {ErrorCode.MEDIA_TYPE_UNSUPPORTED}),
            (takes_body and self.raw_body is None, {ErrorCode.INVALID_JSON}),
            (is_idempotent, _OF_IDEMPOTENCY),
            (self.access is Access.PUBLIC and self.rate is not None, {ErrorCode.RATE_LIMITED}),
            (self.takes_deadline, {ErrorCode.DEADLINE_EXCEEDED, ErrorCode.NOT_CONFIRMED}),
        )
        usual = {ErrorCode.VALIDATION_FAILED, ErrorCode.VERSION_UNSUPPORTED, *self.refusals, *_OF_ACCESS[self.access]}
        usual.update(*(codes for applies, codes in implied if applies))
        return tuple(code for code in ERRORS if code in usual)

    def statuses(self, method: str) -> Mapping[int, Any]:
        """All statuses of this operation under this method, with their types; None for errors and for no body."""
        refused = dict.fromkeys(ERRORS[code].status for code in self.codes(method))
        return dict(sorted((refused | dict(self.answers)).items()))


def examples_of(module: str) -> Mapping[str, Any]:
    """The examples of an area by name, from ``examples.json`` beside its module."""
    examples: Mapping[str, Any] = msgspec.json.decode(Path(module).with_name("examples.json").read_bytes())
    return examples


_OF_BEARERS: Final = {
    ErrorCode.TOKEN_MISSING,
    ErrorCode.TOKEN_UNKNOWN,
    ErrorCode.TOKEN_REPLACED,
    ErrorCode.TOKEN_EXPIRED,
    ErrorCode.TOKEN_REVOKED,
    ErrorCode.TOKEN_OF_ANOTHER_KIND,
    ErrorCode.KEY_REVOKED,
    ErrorCode.RATE_LIMITED,
}
_OF_TENANTS: Final = {*_OF_BEARERS, ErrorCode.TENANT_MISMATCH}
_OF_PERSONS: Final = {ErrorCode.OPERATOR_REQUIRED, ErrorCode.OPERATOR_INVALID}
_OF_NAMED: Final = {ErrorCode.OPERATOR_INVALID, ErrorCode.OPERATOR_MISMATCH}
_OF_TENANTS_PERSONS: Final = {*_OF_PERSONS, *_OF_NAMED}
_OF_ACCESS: Final[Mapping[Access, set[ErrorCode]]] = {
    Access.PUBLIC: set(),
    Access.SIGNATURE: {ErrorCode.SIGNATURE_INVALID},
    Access.BEARER: {*_OF_TENANTS, *_OF_TENANTS_PERSONS, ErrorCode.PROGRAM_OUT_OF_REACH},
    Access.BEARER_ALONE: {*_OF_TENANTS, *_OF_NAMED},
    Access.OPERATOR: {*_OF_TENANTS, *_OF_TENANTS_PERSONS, ErrorCode.OPERATOR_TOKEN_REQUIRED},
    Access.OWNER: {*_OF_TENANTS, *_OF_NAMED, ErrorCode.PROGRAM_NOT_OWNED},
    Access.ADMIN: {*_OF_BEARERS, *_OF_PERSONS},
}
_OF_IDEMPOTENCY: Final = {
    ErrorCode.IDEMPOTENCY_KEY_INVALID,
    ErrorCode.IDEMPOTENCY_MISMATCH,
    ErrorCode.IDEMPOTENCY_IN_FLIGHT,
    ErrorCode.UNAVAILABLE,
    ErrorCode.OVERLOADED,
}
