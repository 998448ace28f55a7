"""Waiting for the commit of a log entry."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from clearhold.store.redis_log.progress import LogProgress


class ScriptedProgress(LogProgress):
    def __init__(self, committed: Callable[[int], int]) -> None:
        super().__init__(shards=3)
        self._script = committed

    def committed_offset(self, shard: int) -> int:
        return self._script(shard)


def test_given_a_shard_that_is_committed_up_to_the_entry_when_waited_for_then_it_returns_at_the_first_look() -> None:
    looked_at: list[int] = []

    def committed(shard: int) -> int:
        looked_at.append(shard)
        return 7

    asyncio.run(ScriptedProgress(committed).committed(2, 7, within_s=0.0))

    assert looked_at == [2]


def test_given_a_commit_that_comes_later_when_waited_for_without_a_limit_then_it_returns_once_it_has_come() -> None:
    offsets: Iterator[int] = iter([3, 6, 7, 8])

    asyncio.run(ScriptedProgress(lambda _: next(offsets)).committed(0, 7))

    assert next(offsets) == 8


def test_given_no_commit_when_waited_for_with_a_limit_then_it_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(ScriptedProgress(lambda _: 6).committed(0, 7, within_s=0.02))
