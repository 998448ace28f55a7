"""Threads for work that would block the event loop, with a way to interrupt it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

from clearhold.features.core.errors import ErrorCode, UnavailableError

T = TypeVar("T")


class Workers:
    """Belongs to one event loop. Work may check ``stopping`` every few milliseconds."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.stopping = Event()

    async def run(self, work: Callable[..., T], *arguments: Any, interrupt: Callable[[], None] | None = None) -> T:
        """Run the work in a thread. On cancellation it is interrupted, if possible, and awaited."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if interrupt is not None:
                interrupt()
            await asyncio.wait([future])
            future.exception()  # retrieved: the interruption is expected
            raise

    def close(self) -> None:
        """Stop the threads, once no work is under way."""
        self._threads.shutdown()


async def result_of(task: "asyncio.Task[T]", stopping: str) -> T:
    """Its result, or UnavailableError with the sentence ``stopping``."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise UnavailableError(stopping, ErrorCode.STARTING) from None
        raise
