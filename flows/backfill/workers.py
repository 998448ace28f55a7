"""Threads for work that would block the event loop, and a way to interrupt it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, Final, TypeVar

THREADS: Final = 4  # one reads while others score, or wait for the processes that do

T = TypeVar("T")


class Workers:
    """Belongs to one event loop. Work that takes long looks at ``stopping`` every few milliseconds."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="backfill")
        self.stopping = Event()

    async def run(self, work: Callable[..., T], *arguments: Any, interrupt: Callable[[], None] | None = None) -> T:
        """Run the work in a thread. On cancellation the work is interrupted, if possible, and awaited."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if interrupt is not None:
                interrupt()
            await asyncio.wait([future])
            raise

    def close(self) -> None:
        """Stop the threads; no work is under way."""
        self._threads.shutdown()
