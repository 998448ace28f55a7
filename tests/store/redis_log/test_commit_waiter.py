"""Waiting for the commit of a log entry."""

import asyncio
import random
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.store.redis_log.progress import LogProgress

SHARDS = 3
LONG_S = 30.0


class LookedAt(LogProgress):
    """Progress that calls back right after each look at an offset, with the number of looks so far."""

    def __init__(self, after: Callable[[LogProgress, int], None]) -> None:
        super().__init__(SHARDS)
        self._after, self.looks = after, 0

    def committed_offset(self, shard: int) -> int:
        seen = super().committed_offset(shard)
        self.looks += 1
        self._after(self, self.looks)
        return seen


def test_given_a_shard_that_is_committed_up_to_the_entry_when_waited_for_then_it_returns_at_the_first_look() -> None:
    progress = LookedAt(lambda _, __: None)
    progress.mark_committed({2: 7})

    asyncio.run(progress.committed(2, 7, within_s=0.0))

    assert progress.looks == 1


@pytest.mark.parametrize(("look", "seen_at"), [(1, 2), (2, 3)])
def test_given_a_commit_right_behind_a_look_when_waited_for_then_it_is_seen(look: int, seen_at: int) -> None:
    """A waiter looks before it notes itself and after that; the third look is of the wake-up."""

    def commit_at(progress: LogProgress, looks: int) -> None:
        if looks == look:
            Thread(target=progress.mark_committed, args=({0: 7},)).run()

    progress = LookedAt(commit_at)
    asyncio.run(progress.committed(0, 7, within_s=LONG_S))

    assert progress.looks == seen_at


def test_given_no_commit_when_waited_for_with_a_limit_then_it_is_a_timeout_and_nothing_is_kept() -> None:
    progress = LogProgress(SHARDS)
    progress.mark_committed({0: 6})

    with pytest.raises(TimeoutError):
        asyncio.run(progress.committed(0, 7, within_s=0.02))

    assert not progress._waiters


def test_given_many_callers_when_a_commit_reaches_some_then_they_wake_by_one_call_of_the_loop() -> None:
    progress = LogProgress(SHARDS)

    async def wait() -> tuple[int, list[int], list[int]]:
        loop, calls = asyncio.get_running_loop(), 0
        original: Any = loop.call_soon_threadsafe

        def counted(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            return original(*arguments)

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign, assignment]
        waiting = {offset: asyncio.create_task(progress.committed(offset % SHARDS, offset)) for offset in range(1, 901)}
        await asyncio.sleep(0)
        looked_at = [*progress._waiters.values()]
        progress.mark_committed(dict.fromkeys(range(SHARDS), 600))
        committing = calls
        await asyncio.gather(*(task for offset, task in waiting.items() if offset <= 600))
        left = [offset for offset, task in waiting.items() if not task.done()]
        counts = [each.count for each in looked_at]
        progress.mark_committed(dict.fromkeys(range(SHARDS), 900))
        await asyncio.gather(*waiting.values())
        return committing, left, counts

    calls, left, counts = asyncio.run(wait())

    assert calls == 1
    assert left == [*range(601, 901)]
    assert counts == [300]
    assert not progress._waiters


_STEPS = st.lists(
    st.tuples(st.sampled_from(["wait", "commit", "turn", "leave"]), st.integers(0, SHARDS - 1), st.integers(1, 12)),
    max_size=60,
)


@given(steps=_STEPS)
def test_given_waits_commits_and_callers_that_leave_in_any_order_then_exactly_the_reached_ones_are_done(
    steps: list[tuple[str, int, int]],
) -> None:
    progress = LogProgress(SHARDS)
    reached = [0] * SHARDS

    async def walk() -> None:
        waiting: list[tuple[int, int, asyncio.Task[None]]] = []
        for kind, shard, number in steps:
            if kind == "wait":
                waiting.append((shard, number, asyncio.create_task(progress.committed(shard, number))))
            elif kind == "commit":
                reached[shard] = max(reached[shard], number)
                progress.mark_committed({shard: reached[shard]})
            elif kind == "turn":
                await asyncio.sleep(0)
            elif waiting:
                waiting.pop(number % len(waiting))[2].cancel()
        for _ in range(4):  # a start, a wake-up, its release and an end
            await asyncio.sleep(0)
        assert [task.done() for *_, task in waiting] == [offset <= reached[shard] for shard, offset, _ in waiting]
        progress.mark_committed(dict.fromkeys(range(SHARDS), 12))
        await asyncio.gather(*(task for *_, task in waiting))

    asyncio.run(walk())

    assert not progress._waiters


@pytest.mark.parametrize("seed", range(5))
def test_given_a_committing_thread_when_callers_of_two_loops_wait_meanwhile_then_none_is_forgotten(seed: int) -> None:
    progress, offsets = LogProgress(SHARDS), 400
    order = random.Random(seed)
    ended: list[int] = []

    def commit() -> None:
        for offset in range(1, offsets + 1):
            progress.mark_committed({shard: offset for shard in range(SHARDS) if order.random() < 0.7})
        progress.mark_committed(dict.fromkeys(range(SHARDS), offsets))

    async def wait_for_all(mine: random.Random) -> int:
        async def one() -> None:
            for _ in range(mine.randrange(4)):
                await asyncio.sleep(0)
            await progress.committed(mine.randrange(SHARDS), mine.randrange(1, offsets + 1), within_s=LONG_S)

        return len(await asyncio.gather(*(one() for _ in range(500))))

    def callers(number: int) -> None:
        ended.append(asyncio.run(wait_for_all(random.Random(seed + number))))

    threads = [Thread(target=commit), *(Thread(target=callers, args=(number,)) for number in (100, 200))]
    order.shuffle(threads)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ended == [500, 500]
    assert not progress._waiters
