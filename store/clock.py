"""The wall clock, and the only module that reads it; and a timer for an answer of another process.

Other code gets a ``Clock`` as an argument. An overloaded or suspended machine pauses both processes. When they
continue, the timer is over and the answer a moment away: a timer that fires much too late waits a little longer, or the
answer would be dropped, and its caller refused.

Unit    microseconds since the Unix epoch, UTC, as everywhere (``features/core/instants.py``); of timers, seconds
"""

import asyncio
import time
from collections.abc import Callable
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


STOOD_STILL_S: Final = 0.1
READ_WITHIN_S: Final = 0.25
"""For the other process to answer, which was suspended together with this one."""


def call_at(at: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
    """As ``loop.call_at`` of the running event loop; ``READ_WITHIN_S`` later if it fires too late."""
    loop = asyncio.get_running_loop()

    def fired() -> None:
        if loop.time() - at > STOOD_STILL_S:
            loop.call_later(READ_WITHIN_S, callback)
        else:
            callback()

    return loop.call_at(at, fired)
