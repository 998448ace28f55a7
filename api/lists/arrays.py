"""Bare arrays of what is kept in memory, newest first: nearly always whole, and in parts where they are long.

The specification has lists of rules and of policies as arrays. One that is longer than ``MAX_PART_BYTES`` ends there,
or where the caller's ``limit`` is, and ``Link: rel="next"`` leads on.

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
    """The part of a list's query that leads through it; the rest are filters."""

    @property
    def limit(self) -> int | None: ...

    @property
    def cursor(self) -> str | None: ...


class ArrayPart(NamedTuple):
    """A JSON array, and the cursor of what comes behind it."""

    body: bytes
    next_cursor: str | None


def array_part(
    items: Iterable[Item], query: ArrayQuery, *, place: Callable[[Item], Place], show: Callable[[Item], object]
) -> ArrayPart:
    """As many of the items as fit, from the query's cursor on; only these are shown and encoded."""
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
