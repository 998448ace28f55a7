"""Lists of stored rows for any caller: a page after a cursor, or the whole list in batches.

Errors  InvalidRequestError for a cursor of another list or of other filters
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Annotated, Final, Generic, Protocol, Self, TypeVar

import msgspec
from anyio import to_thread

from clearhold.api.lists.cursors import Place, cursor_for, place_of
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import about

BATCH: Final = 50  # Building rows holds up the event loop: a batch is a pause of some 25 ms.

Row = TypeVar("Row")
Item = TypeVar("Item")
Filters = TypeVar("Filters")
Key = TypeVar("Key")


class PageQuery(Protocol):
    """The part of a list's query that pages through it."""

    @property
    def limit(self) -> int: ...

    @property
    def cursor(self) -> str | None: ...


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
        *,
        read_page: Callable[[Principal, Filters, Key | None, int], Sequence[Row]],
        items_of: Callable[[Principal, Sequence[Row]], Sequence[Item]],
        place: Callable[[Row], Place],
        key: Callable[[Place], Key],
    ) -> None:
        self._read_page, self._items_of, self._place, self._key = read_page, items_of, place, key

    async def page(self, principal: Principal, filters: Filters, query: PageQuery) -> tuple[Sequence[Item], str | None]:
        """At most ``query.limit`` items, and the cursor of the next page if there is one."""
        after = None if query.cursor is None else self._key(place_of(query.cursor, filters))

        def read() -> tuple[Sequence[Item], str | None]:
            rows = self._read_page(principal, filters, after, query.limit + 1)
            page = rows[: query.limit]
            cursor = cursor_for(self._place(page[-1]), filters) if len(rows) > query.limit else None
            return self._items_of(principal, page), cursor

        return await to_thread.run_sync(read)


def batches_of(
    rows: Iterator[Sequence[Row]], items_of: Callable[[Sequence[Row]], Sequence[Item]]
) -> Generator[Sequence[Item], None, None]:
    """Stored rows as items, batch by batch; reading starts with the first batch, and closing ends it."""
    return (items_of(batch) for batch in rows)
