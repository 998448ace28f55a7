"""The wall clock, and the only module that reads it. Other code gets a ``Clock`` as an argument.

Unit    microseconds since the Unix epoch, UTC, as everywhere (``features/core/instants.py``)
"""

import time
from typing import Final, Protocol

_NS_PER_US: Final = 1_000


class Clock(Protocol):
    def now(self) -> int:
        """The present instant, in microseconds."""
        ...


class SystemClock:
    """The machine's clock. It may step back; nothing here relies on it growing."""

    def now(self) -> int:
        return time.time_ns() // _NS_PER_US
