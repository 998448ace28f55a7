"""The memory for all bodies that are being read: many slow large ones must not fill the machine.

Limits  the first ``SMALL_BYTES`` of a body are free; the rest shares ``MOST_BYTES`` with all bodies
Errors  UnavailableError for a body without room
"""

from typing import Final, Self

from clearhold.features.core.errors import ErrorCode, UnavailableError

SMALL_BYTES: Final = 65_536
MOST_BYTES: Final = 256 * 1024 * 1024
NO_ROOM: Final = "Too many large requests are being read. Nothing was stored; try again."


class BodyBudget:
    """Belongs to the API's event loop."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self.used = 0

    def add(self, size: int) -> None:
        if self.used + size > self._most:
            raise UnavailableError(NO_ROOM, ErrorCode.OVERLOADED)
        self.used += size


class BodyShare:
    """One body's share of the budget, given back at the end of the block."""

    __slots__ = ("_budget", "_used")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._used = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.used -= self._used

    def grow_to(self, size: int) -> None:
        """Make room for ``size`` bytes of the body."""
        more = size - SMALL_BYTES - self._used
        if more > 0:
            self._budget.add(more)
            self._used += more
