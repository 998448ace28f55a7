"""The operations that every list has: its pages, and its download."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import MEDIA_TYPES, examples_of
from clearhold.api.lists.lists import moments_exist
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
) -> Operation:
    """Pages of a list; ``example`` is one item of it."""
    return Operation(
        id=id_,
        tag=tag,
        summary=summary,
        access=Access.BEARER,
        scope=scope,
        answers={200: page},
        refusals=(ErrorCode.CURSOR_INVALID, ErrorCode.PROGRAM_NOT_FOUND),
        answer_example={"data": [example], "hasMore": False, "nextCursor": None},
        query=RequestSchema(query, rules=moments_exist),
        headers=("Link",),
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
) -> Operation:
    """A whole list as NDJSON or CSV; ``example`` is one item of it."""
    return Operation(
        id=id_,
        tag=tag,
        summary=f"{summary} {_EXPORT_LIMITS}",
        access=Access.BEARER,
        scope=scope,
        answers={200: item},
        refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.TOO_MANY_AT_ONCE),
        query=RequestSchema(query, rules=moments_exist),
        headers=("Content-Disposition",),
        media=tuple(MEDIA_TYPES.values()),
        text_examples=examples_of(item, example),
    )
