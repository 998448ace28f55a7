"""Which parts are due to be merged into one: small ones of an open day, and all of a day that is over.

An open day gets a part every few seconds. Eight parts with equally many merges become one, so a day never has more than
a few dozen; a day that is over becomes one part, or several above ``MOST_ROWS`` rows.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from clearhold.features.core.instants import HOUR_US, MINUTE_US
from clearhold.store.analysts.parts import Part

FAN_IN: Final = 8
MOST_ROWS: Final = 500_000
"""A larger part is not written again."""

DAY_OVER_AFTER_US: Final = HOUR_US
"""Entries from the end of a day are committed soon after it."""

_QUIET_US: Final = 10 * MINUTE_US
"""Rows of a past day may still arrive while a long log is replayed."""


def due_for_merging(parts: Iterable[Part], now: int) -> list[Part]:
    """Neighbouring parts of one table and day, in order, that one part can replace; empty when nothing is due."""
    counting = [part for part in parts if part.counts_at(now) and not part.is_replaced]
    for _, of_day in groupby(counting, key=lambda part: (part.table_name, part.day)):
        small = [part for part in of_day if part.rows < MOST_ROWS]
        is_over = bool(small) and now >= small[0].day_end + DAY_OVER_AFTER_US
        due = _due_of_closed(small, now) if is_over else _due_of_open(small)
        if due:
            return due
    return []


def _due_of_open(small: Sequence[Part]) -> list[Part]:
    """The parts with the fewest merges, once there are enough of them."""
    for merges in sorted({part.merges for part in small}):
        alike = [part for part in small if part.merges == merges]
        if len(alike) >= FAN_IN:
            return _first_of(alike)
    return []


def _due_of_closed(small: Sequence[Part], now: int) -> list[Part]:
    if len(small) < 2 or max(part.counts_from for part in small) > now - _QUIET_US:  # noqa: PLR2004 - one part is merged
        return []
    return _first_of(small)


def _first_of(parts: Sequence[Part]) -> list[Part]:
    """The first parts that together make one of at most ``MOST_ROWS``, and at least two."""
    chosen, rows = list(parts[:2]), sum(part.rows for part in parts[:2])
    for part in parts[2:]:
        rows += part.rows
        if rows > MOST_ROWS:
            break
        chosen.append(part)
    return chosen
