"""Which past day the loaded history of a program has reached, so that each day gets one snapshot as of its end.

History are the events of days before the program was declared. It begins with the program's first event and is over
with the first event of a later day; a program that begins with live events has none.
"""

from typing import Any


class KriHistory:
    """Days are UTC, counted since the epoch."""

    __slots__ = ("day", "has_events", "is_over", "is_quiet", "live_from")

    def __init__(self) -> None:
        self.live_from: int | None = None  # the day of the program's first declaration
        self.day: int | None = None  # the first one without a snapshot; None before the first event
        self.has_events = False  # of that day or later
        self.is_quiet = False  # no event since the last tick
        self.is_over = False

    @property
    def is_loading(self) -> bool:
        """Whether past days are being loaded: bands are then of the day that the history has reached."""
        return self.day is not None and not self.is_over and (self.has_events or not self.is_quiet)

    def dump(self) -> Any:
        return (self.live_from, self.day, self.has_events, self.is_quiet, self.is_over)

    def load(self, dumped: Any) -> None:
        self.live_from, self.day, self.has_events, self.is_quiet, self.is_over = dumped
