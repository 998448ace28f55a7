"""Threads for work that would hold up the event loop, and the way to end it early."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, Final, TypeVar

THREADS: Final = 2  # one reads while the other scores

T = TypeVar("T")


class Workers:
    """Belongs to one event loop. Work that takes long looks at ``stopping`` every few milliseconds."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="backfill")
        self.stopping = Event()

    async def run(self, work: Callable[..., T], *given: Any, interrupt: Callable[[], None] | None = None) -> T:
        """What the work returns. Cancelled, it is told to stop, by ``interrupt`` too, and waited for."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self.stopping.set()
            if interrupt is not None:
                interrupt()
            await asyncio.wait([future])
            raise

    def close(self) -> None:
        """Nothing is under way any more."""
        self._threads.shutdown()
