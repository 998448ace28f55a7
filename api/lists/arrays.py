"""Bare arrays of stored objects, newest first: whole if they are short, else in parts.

The specification has lists of rules and of policies as arrays. An array ends at ``MAX_PART_BYTES`` or at the caller's
``limit``; ``Link: rel="next"`` leads to the rest.

Errors  InvalidRequestError for a cursor of another list or of other filters
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from clearhold.api.lists.cursors import Place, cursor_for, place_key, place_of

MAX_PART_BYTES: Final = 4 * 1024 * 1024
"""A part has at least one item, however long that is."""

_PAGING: Final = frozenset({"limit", "cursor"})
_ENCODE: Final = msgspec.json.Encoder().encode

Item = TypeVar("Item")


class ArrayQuery(Protocol):
    """The paging fields of a list's query; the others are filters."""

    @property
    def limit(self) -> int | None: ...

    @property
    def cursor(self) -> str | None: ...


class ArrayPart(NamedTuple):
    """A JSON array, and the cursor of the next part."""

    body: bytes
    next_cursor: str | None


def array_part(
    items: Iterable[Item], query: ArrayQuery, *, place: Callable[[Item], Place], show: Callable[[Item], object]
) -> ArrayPart:
    """The items that fit, from the query's cursor on; only these are encoded."""
    filters = {name: value for name, value in msgspec.to_builtins(query).items() if name not in _PAGING}
    after = None if query.cursor is None else place_key(place_of(query.cursor, filters))
    encoded: list[bytes] = []
    size, last = 0, None
    for item in items:
        here = place(item)
        if after is not None and place_key(here) >= after:
            continue
        is_full = len(encoded) == query.limit
        content = b"" if is_full else _ENCODE(show(item))
        if last is not None and (is_full or size + len(content) > MAX_PART_BYTES):
            return ArrayPart(_array(encoded), cursor_for(last, filters))
        encoded.append(content)
        size, last = size + len(content), here
    return ArrayPart(_array(encoded), None)


def _array(encoded: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(encoded) + b"]"
