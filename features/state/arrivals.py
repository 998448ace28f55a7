"""Whether a program's facts arrived in the order of event time, so that its stored vectors need no recomputing.

Exact   A vector is a function of the facts applied before it. While every fact arrives at or after the newest own time,
        the order of arrival is the order of own time, and a replay in that order is the stream itself, entry by entry.
        ``features/shard/own_time.py`` gives a replay the same own times. Of one own time, a replay applies the earlier
        state of an object first (``features/shard/own_time.py``), so one that arrives after the later state is late.
"""

from typing import Any

from clearhold.features.windows.series import ALWAYS


class Arrivals:
    """``newest_at`` is the newest own time so far, ``newest_offset`` the offset of the newest entry, backfills apart.

    ``is_late`` is set by a fact with an older own time than one before it, and by an older snapshot of one own time.
    ``scores_changed`` is set when scores change by a card or a backfill, on which the band of an entity may depend, and
    by it how often it must be screened.
    """

    __slots__ = ("is_late", "newest_at", "newest_offset", "scores_changed")

    def __init__(self) -> None:
        self.newest_at = ALWAYS
        self.newest_offset = 0
        self.is_late = False
        self.scores_changed = False

    def note(self, own_at: int) -> bool:
        """A fact with this own time arrived; True when it is the own time of the newest one before it."""
        is_tied = own_at == self.newest_at
        if own_at < self.newest_at:
            self.is_late = True
        else:
            self.newest_at = own_at
        return is_tied

    def dump(self) -> tuple[Any, ...]:
        return (self.newest_at, self.newest_offset, self.is_late, self.scores_changed)

    def load(self, dumped: Any) -> None:
        self.newest_at, self.newest_offset, self.is_late, self.scores_changed = dumped
