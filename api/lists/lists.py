"""What unbounded lists share: ranges of time, one more row than asked for to know whether there are more, the link."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from litestar import Request

from api.http.gate import query_pairs
from api.http.validation import Failure
from api.lists.cursors import Place, cursor_for
from features.core.instants import format_instant, parse_instant

DEFAULT_LIMIT: Final = 25

_CURSOR: Final = "cursor"

Row = TypeVar("Row")
Value = TypeVar("Value")


def moments_exist(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """``from`` and ``to`` are real instants, not only shaped like them."""
    for name in ("from", "to"):
        text = plain.get(name)
        if isinstance(text, str) and parse_instant(text.upper()) is None:
            yield Failure(name, "must be a date-time with an offset, or a date")


def instant_in(text: str | None) -> int | None:
    return None if text is None else parse_instant(text.upper())


def instant_shown(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


def only(values: Iterable[Value] | None) -> Value | None:
    """The one value that a list of two kinds is narrowed to; None for no such wish, and for both of them."""
    wanted = set(values or ())
    return wanted.pop() if len(wanted) == 1 else None


def page_of(
    found: Sequence[Row], limit: int, filters: Any, place: Callable[[Row], Place]
) -> tuple[Sequence[Row], str | None]:
    """At most ``limit`` of the rows, and the cursor of the next page if more were found."""
    page = found[:limit]
    return page, cursor_for(place(page[-1]), filters) if len(found) > limit else None


def next_link(request: Request[Any, Any, Any], cursor: str | None) -> dict[str, str]:
    """RFC 8288: the same list with the cursor of its next page."""
    if cursor is None:
        return {}
    pairs = [pair for pair in query_pairs(request.scope) if pair[0] != _CURSOR]
    return {"Link": f'<{request.scope["path"]}?{urlencode([*pairs, (_CURSOR, cursor)])}>; rel="next"'}
