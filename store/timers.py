"""A timer for what comes from another process: one that fires much too late waits for a last answer.

A machine with no time for a guest, or one that was suspended, leaves both processes standing. When they go on, the
timer is over and the answer a moment away: without this it would be thrown away, and its caller sent away.
"""

import asyncio
from collections.abc import Callable
from typing import Final

STOOD_STILL_S: Final = 0.1
READ_WITHIN_S: Final = 0.25
"""For the other process to answer, which stood still with this one."""


def call_at(at: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
    """As ``loop.call_at`` of the running event loop; ``READ_WITHIN_S`` later if that is noticed too late."""
    loop = asyncio.get_running_loop()

    def fired() -> None:
        if loop.time() - at > STOOD_STILL_S:
            loop.call_later(READ_WITHIN_S, callback)
        else:
            callback()

    return loop.call_at(at, fired)
