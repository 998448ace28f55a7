"""Keeps the background work of the service running, and blocking work off the event loop.

begin ─▶ runs ─▶ fails ─▶ log, counter, /readyz ─▶ a pause, longer after each failure ─▶ begin

A piece of work is degraded from its failure until it has run for a minute since, or has finished.

Unit    seconds
Errors  none of supervised work: an error ends one run of it
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.instants import pause_after
from clearhold.flows.running.counts import counter, gauge

CANCELLED_AGAIN_AFTER_S: Final = 0.5


async def end(tasks: "Iterable[asyncio.Task[Any]]") -> None:
    """Cancel the tasks, repeatedly if need be, and return when all have ended. Their errors are dropped.

    A cancellation can be lost: the Redis client sends under ``asyncio.wait_for``, and on Python 3.11 that returns a
    result instead of the cancellation when both arrive together.
    """
    every = {*tasks}
    running = every
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CANCELLED_AGAIN_AFTER_S)
    await asyncio.gather(*every, return_exceptions=True)


FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 15.0
STEADY_AFTER_S: Final = 60.0
"""After running for this long since its last failure, work is not degraded, and its next pause is the first again."""

log = structlog.get_logger()


class Work(NamedTuple):
    """``run`` is called again after a failure, so it must be safe to begin more than once.

    ``may_finish``: that it returns is its regular end. Other work has no end, and begins again when it returns.
    """

    run: Callable[[], Awaitable[None]]
    may_finish: bool = False


class WorkState:
    """``began_at`` is infinite while the work waits to begin again."""

    def __init__(self) -> None:
        self.began_at = inf
        self.failures = 0
        self.failures_in_a_row = 0

    def is_degraded(self, now: float) -> bool:
        return self.failures_in_a_row > 0 and now - self.began_at < STEADY_AFTER_S


class Supervision(Collector):
    """Belongs to one event loop; ``degraded`` and ``collect`` may be called from any thread."""

    def __init__(
        self,
        works: Mapping[str, Work],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._works, self._sleep, self._time = dict(works), sleep, time
        self._states = {name: WorkState() for name in works}
        self._tasks: list[asyncio.Task[None]] = []

    def add(self, name: str, work: Work) -> None:
        """Further work, before ``begin``."""
        self._works[name], self._states[name] = work, WorkState()

    def begin(self) -> None:
        self._tasks = [asyncio.create_task(self._keep_running(name, work)) for name, work in self._works.items()]

    async def stop(self) -> None:
        """Cancel all of it, and return when it has ended."""
        await end(self._tasks)

    def degraded(self) -> list[str]:
        """The names of the work that waits to begin again, or failed a short time ago."""
        now = self._time()
        return [name for name, state in self._states.items() if state.is_degraded(now)]

    def collect(self) -> Iterator[Metric]:
        now = self._time()
        failures = {name: state.failures for name, state in self._states.items()}
        ended = "Times that background work ended with an error and was begun again."
        yield counter("clearhold_background_work_failures", ended, failures, "work")
        degraded = {name: state.is_degraded(now) for name, state in self._states.items()}
        failing = "1 while background work waits to begin again or failed within the last minute of its run, else 0."
        yield gauge("clearhold_background_work_degraded", failing, degraded, "work")

    async def _keep_running(self, name: str, work: Work) -> None:
        state = self._states[name]
        while True:
            state.began_at = self._time()
            error = await _failure_of(work)
            if error is None:
                state.failures_in_a_row = 0
                return
            was_steady = self._time() - state.began_at >= STEADY_AFTER_S
            state.began_at = inf
            state.failures += 1
            state.failures_in_a_row = 1 if was_steady else state.failures_in_a_row + 1
            pause_s = pause_after(state.failures_in_a_row, FIRST_PAUSE_S, LONGEST_PAUSE_S)
            log.error(
                "background_work_ended",
                work=name,
                error=f"{type(error).__name__}: {error}",
                failures_in_a_row=state.failures_in_a_row,
                begins_again_in_s=pause_s,
                exc_info=error,
            )
            await self._sleep(pause_s)


async def _failure_of(work: Work) -> BaseException | None:
    """Run the work; returns its error, or None when it finished."""
    try:
        await work.run()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return error  # the work waited for a task that was cancelled
    except Exception as error:  # noqa: BLE001 - whatever failed: the work begins again
        return error
    return None if work.may_finish else RuntimeError("It returned, though it has no end.")


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
