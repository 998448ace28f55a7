"""What a route says about itself. The gate enforces it and the OpenAPI document shows it, so the two cannot differ."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from api.shapes import Shape

OPT: Final = "operation"
BODY_LIMIT: Final = 256 * 1024
PREFLIGHT_BODY_LIMIT: Final = 65_536
INGEST_BODY_LIMIT: Final = 1024 * 1024
JSON: Final = "application/json"


class Access(StrEnum):
    """What proves the caller of a route."""

    PUBLIC = "public"
    SIGNATURE = "signature"  # the service behind the route verifies the raw body
    OPERATOR = "operator"  # the tenant's operator token and X-Operator
    ADMIN = "admin"  # the platform's admin token and X-Operator


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path. ``answers`` maps a status to the type of its body, None for the error envelope."""

    id: str
    tag: str
    summary: str
    access: Access
    answers: Mapping[int, Any]
    body: Shape[Any] | None = None
    body_required: bool = True
    body_limit: int = BODY_LIMIT
    query: Shape[Any] | None = None
    raw_body: bool = False  # the service behind the route reads the bytes itself
    example: Any = None  # of the request body
    headers: tuple[str, ...] = ()  # further response headers of its 2xx answers
    media: tuple[str, ...] = (JSON,)  # of its 2xx answers; anything but JSON is described as text

    @property
    def reads_body(self) -> bool:
        return self.raw_body or self.body is not None

    @property
    def as_opt(self) -> dict[str, Any]:
        """For Litestar's ``opt=``."""
        return {OPT: self}
