"""Shared by the routes of lists: ranges of time, and the link to the next page."""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec
from litestar import Response

from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import query_pairs
from clearhold.api.http.head import PRIVATE, published
from clearhold.api.http.operation import JSON
from clearhold.api.http.validation import Failure, moment_failures
from clearhold.api.lists.pages import ArrayPart
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import DAY_US, format_instant, parse_instant

DEFAULT_LIMIT: Final = 25
FROM_BEFORE_TO: Final = "must be before to"
_BOUNDS: Final = ("from", "to")

_CURSOR: Final = "cursor"

Value = TypeVar("Value")
Shown = TypeVar("Shown", bound=msgspec.Struct)


def moments_exist(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """``from`` and ``to`` are existing instants, in this order: the other gives an examiner an empty record."""
    for name in _BOUNDS:
        yield from moment_failures(name, plain.get(name))
    start, end = (_instant_of(plain, name) for name in _BOUNDS)
    if start is not None and end is not None and start >= end:
        yield Failure("from", FROM_BEFORE_TO, FieldCode.CONFLICTING)


def _instant_of(plain: Mapping[str, Any], name: str) -> int | None:
    text = plain.get(name)
    return instant_in(text) if isinstance(text, str) else None


def instant_in(text: str | None) -> int | None:
    return None if text is None else parse_instant(text)


def days_between(from_: str | None, to: str | None) -> tuple[int | None, int | None]:
    """Bounds of whole UTC days: the midnight before ``from``, and the one after ``to``, unless they are midnights."""
    start, end = instant_in(from_), instant_in(to)
    return (
        None if start is None else start - start % DAY_US,
        None if end is None else end + -end % DAY_US,
    )


def instant_text(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


def to_answer(row: msgspec.Struct, kind: type[Shown], **given: object) -> Shown:
    """``kind`` with the row's fields of the same names, their instants as text, and the ``given`` fields."""
    names = [name for name in kind.__struct_fields__ if name not in given and hasattr(row, name)]
    fields = {name: getattr(row, name) for name in names}
    instants = {name: format_instant(at) for name, at in fields.items() if name.endswith("_at") and isinstance(at, int)}
    return msgspec.convert(SimpleNamespace(**(fields | instants | given)), kind, from_attributes=True)


def only(values: Iterable[Value] | None) -> Value | None:
    """The single value of a filter with two values; None without the filter, and for both values."""
    wanted = set(values or ())
    return wanted.pop() if len(wanted) == 1 else None


def published_part(request: ApiRequest, part: ArrayPart) -> Response[bytes | None]:
    """A tenant's array, or a 304 when the request names its ETag."""
    link = next_link(request, part.next_cursor)
    return published(request, part.body, media_type=JSON, cache=PRIVATE, headers=link)


def next_link(request: ApiRequest, cursor: str | None) -> dict[str, str]:
    """RFC 8288: the same list with the cursor of its next page."""
    if cursor is None:
        return {}
    pairs = [pair for pair in query_pairs(request.scope) if pair[0] != _CURSOR]
    return {"Link": f'<{request.scope["path"]}?{urlencode([*pairs, (_CURSOR, cursor)])}>; rel="next"'}
