"""The result of a search for edges near an instant."""

from array import array
from bisect import bisect_right
from typing import Final

import msgspec


class Near(msgspec.Struct, frozen=True, gc=False):
    """Edges of one node in a window, oldest first, as three columns."""

    times: "array[int]"
    rows: "array[int]"
    others: "array[int]"

    def distinct(self, after: int, also: int | None = None) -> int:
        """The number of different nodes of the edges after ``after``; ``also`` counts as one of them."""
        others = set(self.others[bisect_right(self.times, after) :])
        if also is not None:
            others.add(also)
        return len(others)


NONE_NEAR: Final = Near(array("q"), array("i"), array("i"))
