"""Which parts are due to be merged into one: small ones of a day that goes on, and all of a day that is over.

A day that goes on gets a part every few seconds. Eight parts that were written as often become one, so that a day never
has more than a few dozen; a day that is over becomes one part, or several where it has more rows than ``MOST_ROWS``.
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
"""What was in the log at the end of a day is committed soon after it."""

_QUIET_US: Final = 10 * MINUTE_US
"""Rows of a day that is over may still be coming, while a long log is replayed."""


def due_for_merging(parts: Iterable[Part], now: int) -> list[Part]:
    """Neighbours of one table and day, in their order, that one part can replace; none when nothing is due."""
    counting = [part for part in parts if part.counts_at(now) and not part.is_replaced]
    for _, of_day in groupby(counting, key=lambda part: (part.table_name, part.day)):
        small = [part for part in of_day if part.rows < MOST_ROWS]
        is_over = bool(small) and now >= small[0].day_end + DAY_OVER_AFTER_US
        due = _due_of_closed(small, now) if is_over else _due_of_open(small)
        if due:
            return due
    return []


def _due_of_open(small: Sequence[Part]) -> list[Part]:
    """The parts that were merged least, once there are enough of them."""
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
    """As many from the first on as make one part of at most ``MOST_ROWS``, and at least two."""
    chosen, rows = list(parts[:2]), sum(part.rows for part in parts[:2])
    for part in parts[2:]:
        rows += part.rows
        if rows > MOST_ROWS:
            break
        chosen.append(part)
    return chosen
