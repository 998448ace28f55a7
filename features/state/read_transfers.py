"""The newest transfers of busy parties by column, kept from one finding to the next.

A finding at a busy party names its newest transfers. They are read from the table once and then followed: new ones are
added, changed ones are read again. A party that no finding reads for ``PAGES`` pages is dropped.

Bounds  ``MOST_PARTIES`` of a program; of each the newest ``MOST_READ`` transfers, and a quarter more
"""

from itertools import islice
from typing import Final

import numpy as np

from clearhold.features.state.transfer_table import NO_PLACES, ROW, Places, TransferTable
from clearhold.features.windows.edges import Edges

MOST_PARTIES: Final = 256
MOST_READ: Final = 500
PAGES: Final = 16
KEPT_FROM: Final = 16  # fewer are read each time
ROOM: Final = 8


class _ReadEdges:
    """The transfers of the newest edges of one node in one direction."""

    __slots__ = ("_buffer", "_edges", "_end", "_length", "_revisions", "_table", "_times", "_writes", "is_read")

    def __init__(self, table: TransferTable, edges: Edges) -> None:
        self._table, self._edges = table, edges
        self._writes = table.writes
        self._set(NO_PLACES)
        self._note_edges()

    def newest(self, count: int) -> Places:
        """The newest ``count``, oldest first, and perhaps older ones before them; valid until the next entry."""
        self.is_read = True
        self._read_written()
        self._follow()
        if self._end < count:
            older = self._places_of(self._length - count, self._length - self._end)
            self._set(np.concatenate((older, self._places()), axis=1))
        return self._places()

    def _places(self) -> Places:
        return self._buffer[:, : self._end]

    def _places_of(self, first: int, last: int) -> Places:
        return self._table.places(np.array(self._edges.rows_between(first, last), np.int64))

    def _set(self, places: Places) -> None:
        """Replace the transfers, with room for further ones."""
        self._end = places.shape[1]
        self._buffer = np.empty((len(places), self._end + self._end // 4 + ROOM), np.int64)
        self._buffer[:, : self._end] = places

    def _note_edges(self) -> None:
        edges = self._edges
        self._times, self._length, self._revisions = edges.times, len(edges.times), edges.revision_count

    def _read_written(self) -> None:
        """Read the transfers again that were written since the last time."""
        table = self._table
        if table.writes == self._writes:
            return
        rows, count = self._places()[ROW], table.writes - self._writes
        if count > len(table.newest_writes):
            self._set(table.places(rows))
        else:
            for row in {*islice(reversed(table.newest_writes), count)}:
                for place in (rows == row).nonzero()[0]:
                    self._buffer[:, place] = table.place(row)
        self._writes = table.writes

    def _follow(self) -> None:
        """Read the edges that were added since the last time: most come last, without another change."""
        edges, places = self._edges, self._places()
        count, length = len(edges.times), self._length
        is_revised = edges.times is not self._times or edges.revision_count != self._revisions
        if is_revised or count < length or (count > length and not self._ends_at(length)):
            first = max(0, count - self._end)
            self._set(_looked_up(self._table, places, np.array(edges.rows_between(first, count), np.int64)))
        elif count == length + 1 and self._end < self._buffer.shape[1]:
            self._buffer[:, self._end] = self._table.place(edges.rows_between(length, count)[0])
            self._end += 1
        elif count > length:
            self._set(np.concatenate((places[:, -MOST_READ:], self._places_of(length, count)), axis=1))
        else:
            return
        self._note_edges()

    def _ends_at(self, length: int) -> bool:
        """Whether the transfers end with the edge that is the last of ``length``."""
        return self._end > 0 and self._edges.rows_between(length - 1, length)[0] == int(
            self._buffer[ROW, self._end - 1]
        )


class ReadTransfers:
    """Those of the parties that findings have read lately, by the edges of a party."""

    __slots__ = ("_pages", "_parties", "_table")

    def __init__(self, table: TransferTable) -> None:
        self._table, self._pages = table, 0
        self._parties: dict[int, _ReadEdges] = {}

    def within(self, edges: Edges, after: int, upto: int, most: int) -> Places:
        """The newest transfers of these edges in (after, upto], oldest first; valid until the next entry."""
        first, last = edges.newest_between(after, upto, most)
        count = len(edges.times)
        if last - first < KEPT_FROM or count - first > MOST_READ:
            if first == last:
                return NO_PLACES
            return self._table.places(np.array(edges.rows_between(first, last), np.int64))
        read = self._parties.get(id(edges))  # which holds the edges, so that the id stays theirs
        if read is None:
            if len(self._parties) == MOST_PARTIES:
                del self._parties[next(iter(self._parties))]
            read = self._parties[id(edges)] = _ReadEdges(self._table, edges)
        places = read.newest(count - first)
        end = places.shape[1]
        return places[:, end - (count - first) : end - (count - last)]

    def end_page(self) -> None:
        """At the end of ``PAGES`` pages, drop the parties that no finding has read in them."""
        self._pages += 1
        if self._pages == PAGES:
            self._pages = 0
            self._parties = {key: read for key, read in self._parties.items() if read.is_read}
            for read in self._parties.values():
                read.is_read = False


def _looked_up(table: TransferTable, places: Places, rows: Places) -> Places:
    """The transfers in these rows, from ``places`` where they are among them, else from the table."""
    if not places.size or not len(rows):
        return table.places(rows)
    order = np.argsort(places[ROW])
    matches = order[np.searchsorted(places[ROW], rows, sorter=order).clip(max=len(order) - 1)]
    missing = places[ROW, matches] != rows
    together = places[:, matches]
    if missing.any():
        together[:, missing] = table.places(rows[missing])
    return together
