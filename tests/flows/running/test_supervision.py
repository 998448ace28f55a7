"""Background work that ends with an error: it is counted and shown, and begins again after a pause that grows."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.flows.engine import tick_every_minute
from clearhold.flows.running.supervision import STEADY_AFTER_S, Supervision, Work
from clearhold.store.redis_log.appender import LogAppender
from tests.support.clock import T0, FrozenClock

NAME: Final = "some_work"
ENDS_WITHIN_S: Final = 30.0
JUST_BEFORE: Final = T0 - T0 % MINUTE_US + MINUTE_US - SECOND_US // 100
"""A tick is due after ten milliseconds, and again after each tick, for a clock that does not move."""

Run = Callable[[], Awaitable[None]]


class Room:
    """One piece of work under supervision; pauses take no time, and are kept."""

    def __init__(self, run: Run, *, may_finish: bool = False) -> None:
        self.pauses: list[float] = []
        self.degraded_in_pauses: list[list[str]] = []
        self.now = 0.0
        self.supervision = Supervision({NAME: Work(run, may_finish)}, sleep=self._sleep, time=lambda: self.now)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.degraded_in_pauses.append(self.supervision.degraded())
        await asyncio.sleep(0)

    def metric(self, name: str) -> float:
        samples = [sample for family in self.supervision.collect() for sample in family.samples]
        (value,) = [each.value for each in samples if each.name == name and each.labels == {"work": NAME}]
        return float(value)

    async def until(self, reached: asyncio.Event) -> None:
        """Run the work until then, and stop it."""
        self.supervision.begin()
        async with asyncio.timeout(ENDS_WITHIN_S):
            await reached.wait()
            await self.supervision.stop()


async def for_good() -> None:
    await asyncio.Event().wait()


async def failing_task() -> None:
    """Wait for a task that is cancelled: the work itself is not."""
    task = asyncio.create_task(for_good())
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


async def error() -> None:
    raise OSError("The disk is away.")


async def refusal() -> None:
    raise UnavailableError("The scorer is starting.", ErrorCode.STARTING)


async def returning() -> None:
    return


@pytest.mark.parametrize("failing", [error, refusal, failing_task, returning])
def test_given_work_that_ends_once_then_it_is_counted_shown_and_begun_again(failing: Run) -> None:
    runs, running_again = list[int](), asyncio.Event()

    async def run() -> None:
        runs.append(len(runs))
        if len(runs) == 1:
            await failing()
            return
        running_again.set()
        await for_good()

    room = Room(run)
    assert (room.metric("clearhold_background_work_failures_total"), room.supervision.degraded()) == (0, [])

    asyncio.run(room.until(running_again))

    assert runs == [0, 1]
    assert room.degraded_in_pauses == [[NAME]]
    assert room.metric("clearhold_background_work_failures_total") == 1
    assert room.metric("clearhold_background_work_degraded") == 1
    room.now += STEADY_AFTER_S
    assert room.supervision.degraded() == []
    assert room.metric("clearhold_background_work_degraded") == 0


def test_given_work_that_goes_on_failing_then_pauses_grow_to_a_bound_and_begin_again_after_a_steady_run() -> None:
    running = asyncio.Event()

    async def run() -> None:
        failures = len(room.pauses)
        if failures == 10:
            running.set()
            await for_good()
        if failures == 8:
            room.now += STEADY_AFTER_S
        await error()

    room = Room(run)

    asyncio.run(room.until(running))

    assert room.pauses == [0.5, 1, 2, 4, 8, 15, 15, 15, 0.5, 1]
    assert room.metric("clearhold_background_work_failures_total") == 10


def test_given_work_that_may_finish_when_it_fails_and_then_finishes_then_it_is_not_degraded_and_not_begun_again() -> (
    None
):
    runs, finished = list[int](), asyncio.Event()

    async def run() -> None:
        runs.append(len(runs))
        if len(runs) == 1:
            await error()
        finished.set()

    room = Room(run, may_finish=True)

    asyncio.run(room.until(finished))

    assert runs == [0, 1]
    assert room.degraded_in_pauses == [[NAME]]
    assert room.supervision.degraded() == []


def test_given_work_in_its_pause_when_stopped_then_it_has_ended() -> None:
    async def main() -> int:
        pausing = asyncio.Event()

        async def pause(_: float) -> None:
            pausing.set()
            await for_good()

        supervision = Supervision({NAME: Work(error)}, sleep=pause)
        supervision.begin()
        async with asyncio.timeout(ENDS_WITHIN_S):
            await pausing.wait()
            await supervision.stop()
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


class FaultyAppender(LogAppender):
    """Fails on the first entry with an error that no caller expects, and takes the others."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.is_whole, self._has_failed = asyncio.Event(), False

    async def append(self, shard: int, kind: EntryKind, program_id: str, appended_at: int, body: bytes) -> int:
        assert (kind, program_id, body) == (EntryKind.TICK, "", b"")
        assert appended_at == JUST_BEFORE
        if not self._has_failed:
            self._has_failed = True
            raise RuntimeError("The connection is in an unknown state.")
        self.taken.append(shard)
        if {0, 1} <= {*self.taken}:
            self.is_whole.set()
        return len(self.taken)


def test_given_a_tick_that_fails_with_an_unexpected_error_then_ticks_go_on() -> None:
    appender, clock = FaultyAppender(), FrozenClock(JUST_BEFORE)
    room = Room(lambda: tick_every_minute(appender, shards=2, clock=clock))

    asyncio.run(room.until(appender.is_whole))

    assert room.metric("clearhold_background_work_failures_total") == 1
    assert {*appender.taken} == {0, 1}
