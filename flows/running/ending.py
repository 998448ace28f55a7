"""The end of tasks that run until they are cancelled.

A cancellation can be lost: the Redis client sends under ``asyncio.wait_for``, and on Python 3.11 that returns a result
instead of the cancellation when both arrive together. The loop around it would go on, and a stop would never return.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

CANCELLED_AGAIN_AFTER_S: Final = 0.5


async def end(tasks: "Iterable[asyncio.Task[Any]]") -> None:
    """Cancel the tasks, repeatedly if need be, and return when all have ended. Their errors are dropped."""
    every = {*tasks}
    running = every
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CANCELLED_AGAIN_AFTER_S)
    await asyncio.gather(*every, return_exceptions=True)
