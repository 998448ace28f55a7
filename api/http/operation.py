"""The description of a route. The gate enforces it and the OpenAPI document shows it, so the two cannot differ."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from api.http.request_schema import RequestSchema
from features.core.principal import KeyScope

OPT: Final = "operation"
BODY_LIMIT: Final = 256 * 1024
PREFLIGHT_BODY_LIMIT: Final = 65_536
INGEST_BODY_LIMIT: Final = 1024 * 1024
BATCH_BODY_LIMIT: Final = 4 * 1024 * 1024
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
NO_TEXTS: Final[Mapping[str, str]] = {}
WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Access(StrEnum):
    """What proves the caller of a route."""

    PUBLIC = "public"
    SIGNATURE = "signature"  # the service behind the route verifies the raw body
    BEARER = "bearer"  # the tenant's operator token and X-Operator, or an API key with the route's scope
    OPERATOR = "operator"  # the tenant's operator token and X-Operator; a key is refused
    OWNER = "owner"  # the operator token of the tenant that owns the named program; no X-Operator; all else is a 401
    ADMIN = "admin"  # the platform's admin token and X-Operator


PROVEN: Final = frozenset({Access.BEARER, Access.OPERATOR, Access.OWNER, Access.ADMIN})


class RateClass(StrEnum):
    PREFLIGHT = "preflight"
    WRITE = "write"
    READ = "read"


class RawBody(msgspec.Struct, frozen=True, kw_only=True):
    """A body that the service behind a route reads itself, as the OpenAPI document describes it."""

    schema: Mapping[str, Any]
    examples: Mapping[str, Any]
    media: str = JSON


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path. ``answers`` maps a status to the type of its body, None for the error envelope.

    The statuses that follow from access, method and body need not be named; ``statuses`` adds them.
    """

    id: str
    tag: str
    summary: str
    access: Access
    answers: Mapping[int, Any]
    scope: KeyScope | None = None  # that an API key must have
    sandbox: bool = False  # for test keys only
    tenant_wide: bool = False  # cannot be narrowed to programs: not for keys of one program, nor for test keys
    rate: RateClass | None = None  # by default, that of the method
    body: RequestSchema[Any] | None = None
    body_required: bool = True
    body_limit: int = BODY_LIMIT
    query: RequestSchema[Any] | None = None
    raw_body: RawBody | None = None  # the service behind the route reads the bytes itself
    example: Any = None  # of the request body, unless it is raw
    answer_example: Any = None  # of the first 2xx answer, as JSON
    text_examples: Mapping[str, str] = NO_TEXTS  # of it in other media
    headers: tuple[str, ...] = ()  # further response headers of its 2xx answers
    media: tuple[str, ...] = (JSON,)  # of its 2xx answers; anything but JSON is described as text
    shown_once: tuple[str, ...] = ()  # fields of its answer that no stored answer may hold

    @property
    def reads_body(self) -> bool:
        return self.raw_body is not None or self.body is not None

    @property
    def as_opt(self) -> dict[str, Any]:
        """For Litestar's ``opt=``."""
        return {OPT: self}

    def rate_class(self, method: str) -> RateClass:
        return self.rate or (RateClass.WRITE if method in WRITES else RateClass.READ)

    def is_idempotent(self, method: str) -> bool:
        """Whether it takes an Idempotency-Key."""
        return method in WRITES and self.access in PROVEN

    def statuses(self, method: str) -> Mapping[int, Any]:
        """All answers of this operation under this method."""
        usual = {400}
        if self.access in PROVEN:
            usual |= {401, 403, 429} - ({403} if self.access in {Access.OWNER, Access.ADMIN} else set())
        if self.reads_body:
            usual |= {413} | (set() if self.raw_body else {415})
        if self.is_idempotent(method):
            usual |= {409, 413, 415, 503}
        return dict.fromkeys(sorted(usual)) | dict(self.answers)
