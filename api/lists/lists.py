"""Lists of stored things, in pages after a cursor, in batches, or as a bare array; ranges of time, and the next page.

A cursor is opaque to callers and without authority: it holds its version, the last sort key and a hash of the filters.
Tenant and program are applied on each page. The specification has lists of rules and of policies as bare arrays: an
array ends at ``MAX_PART_BYTES`` or at the caller's ``limit``, and ``Link: rel="next"`` leads to the rest.

Errors  InvalidRequestError for an unreadable cursor, or one of another list or of other filters
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from types import SimpleNamespace
from typing import Annotated, Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar
from urllib.parse import urlencode

import msgspec
from litestar import Response

from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import query_pairs
from clearhold.api.http.head import PRIVATE, published
from clearhold.api.http.operation import JSON
from clearhold.api.http.reading import in_reader
from clearhold.api.http.validation import Failure, moment_failures
from clearhold.features.core.errors import ErrorCode, FieldCode, FieldError, InvalidRequestError
from clearhold.features.core.instants import DAY_US, format_instant, parse_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import about

VERSION: Final = 1
UNREADABLE: Final = "Validation failed: cursor must be a nextCursor of this list"
OTHER_FILTERS: Final = "Validation failed: cursor must be used with the same filters as the page that it came from"

_MAX_INSTANT: Final = 2**62
_MANY: Final = (list, tuple)


class Place(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sort key of the last item on a page; ``as_of`` is of the list's first page, where that counts."""

    at: int
    id: str
    program_id: str
    as_of: int = 0


class _Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    version: int
    filters: str
    place: Place


_CURSORS: Final = msgspec.json.Decoder(_Cursor)


def place_by(column: str) -> Callable[[Any], Place]:
    """The place of a row, or of a stored thing that has one, by an instant or rank of the row."""

    def place(stored: Any) -> Place:
        row = getattr(stored, "row", stored)
        return Place(getattr(row, column), row.id, row.program_id)

    return place


def place_key(place: Place) -> tuple[int, str]:
    """The place in a list whose ids are unique in the tenant."""
    return place.at, place.id


def cursor_for(place: Place, filters: Any) -> str:
    """The cursor of the page after ``place``; ``filters`` is a Struct or mapping of plain values and lists of them."""
    encoded = msgspec.json.encode(_Cursor(VERSION, _hash(filters), place))
    return urlsafe_b64encode(encoded).rstrip(b"=").decode()


def place_of(cursor: str, filters: Any) -> Place:
    """The place after which the page of this cursor begins."""
    try:
        decoded = _CURSORS.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        raise unusable_cursor(UNREADABLE) from None
    if decoded.version != VERSION or abs(decoded.place.at) > _MAX_INSTANT:
        raise unusable_cursor(UNREADABLE)
    if decoded.filters != _hash(filters):
        raise unusable_cursor(OTHER_FILTERS, FieldCode.CONFLICTING)
    return decoded.place


def unusable_cursor(sentence: str, code: FieldCode = FieldCode.MALFORMED) -> InvalidRequestError:
    return InvalidRequestError(sentence, ErrorCode.CURSOR_INVALID, fields=[FieldError(path="cursor", code=code)])


def _hash(filters: Any) -> str:
    """Equal for equivalent filters: neither the order nor the repetition of a filter's values matters."""
    values: dict[str, Any] = msgspec.to_builtins(filters)
    wanted = {name: sorted(set(value)) if isinstance(value, _MANY) else value for name, value in values.items()}
    return sha256(msgspec.json.encode(wanted, order="deterministic")).hexdigest()[:16]


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


BATCH: Final = 50  # Building rows holds up the event loop: a batch is a pause of some 25 ms.

Row = TypeVar("Row")
Filters = TypeVar("Filters")
Key = TypeVar("Key")


class ListPage(msgspec.Struct, Generic[Item], frozen=True, kw_only=True, rename="camel"):
    """One page of a list; ``next_cursor`` is null on the last one."""

    data: tuple[Item, ...]
    has_more: Annotated[bool, about("Whether there is another page.")]
    next_cursor: Annotated[str | None, about("The cursor of the next page; null on the last.")]

    @classmethod
    def of(cls, items: Sequence[Item], next_cursor: str | None) -> Self:
        return cls(data=tuple(items), has_more=next_cursor is not None, next_cursor=next_cursor)


class ListReader(Generic[Row, Item, Filters, Key]):
    """Reads one list. ``filters`` are the store's, already narrowed to the principal's reach.

    ``read_page`` gets the sort key of the last row before the page and the number of rows; ``items_of`` makes items
    of rows. Both run in worker threads.
    """

    def __init__(
        self,
        read_page: Callable[[Principal, Filters, Key | None, int], Sequence[Row]],
        items_of: Callable[[Principal, Sequence[Row]], Sequence[Item]],
        place: Callable[[Row], Place],
        key: Callable[[Place], Key],
    ) -> None:
        self._read_page, self._items_of, self._place, self._key = read_page, items_of, place, key

    async def page(
        self, principal: Principal, filters: Filters, query: ArrayQuery
    ) -> tuple[Sequence[Item], str | None]:
        """At most ``query.limit`` items, and the cursor of the next page if there is one."""
        limit = query.limit or DEFAULT_LIMIT
        after = None if query.cursor is None else self._key(place_of(query.cursor, filters))

        def read() -> tuple[Sequence[Item], str | None]:
            rows = self._read_page(principal, filters, after, limit + 1)
            page = rows[:limit]
            cursor = cursor_for(self._place(page[-1]), filters) if len(rows) > limit else None
            return self._items_of(principal, page), cursor

        return await in_reader(read)


def raw_batches(lines: Iterator[Sequence[bytes]]) -> Generator[Sequence[msgspec.Raw], None, None]:
    """Lines that are complete already, batch by batch."""
    return batches_of(lines, lambda batch: [*map(msgspec.Raw, batch)])


def batches_of(
    rows: Iterator[Sequence[Row]], items_of: Callable[[Sequence[Row]], Sequence[Item]]
) -> Generator[Sequence[Item], None, None]:
    """Stored rows as items, batch by batch; reading starts with the first batch, and closing ends it."""
    return (items_of(batch) for batch in rows)


DEFAULT_LIMIT: Final = 25
FROM_BEFORE_TO: Final = "must be before to"
_BOUNDS: Final = ("from", "to")

_CURSOR: Final = "cursor"

Value = TypeVar("Value")
Stored = TypeVar("Stored", bound=msgspec.Struct)
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


def filter_of(kind: type[Stored], request: msgspec.Struct, program_ids: tuple[str, ...] | None) -> Stored:
    """The filters of a request as the store takes them, under the same names; the programs are the checked ones."""
    plain = msgspec.to_builtins(request)
    bounds = {name: instant_in(plain[name]) for name in _BOUNDS}
    return msgspec.convert({**plain, **bounds, "programId": program_ids}, kind)


def days_between(from_: str | None, to: str | None) -> tuple[int | None, int | None]:
    """Bounds of whole UTC days: the midnight before ``from``, and the one after ``to``, unless they are midnights."""
    start, end = instant_in(from_), instant_in(to)
    return (
        None if start is None else start - start % DAY_US,
        None if end is None else end + -end % DAY_US,
    )


def instant_text(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


def to_answer(row: object, kind: type[Shown], /, **given: object) -> Shown:
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
