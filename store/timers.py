"""A timer for an answer of another process: when it fires much too late, it waits a little longer.

An overloaded or suspended machine pauses both processes. When they continue, the timer is over and the answer a moment
away: without this wait it would be dropped, and its caller refused.
"""

import asyncio
from collections.abc import Callable
from typing import Final

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
