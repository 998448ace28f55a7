"""Tasks that end when they are cancelled, also when a cancellation is lost."""

import asyncio
from pathlib import Path
from typing import Final

from clearhold.flows.running.supervision import end
from clearhold.store.redis_log.connect import RedisMemory, connect_async
from tests.support.redis_process import redis_of_its_own

STEPS: Final = 16
ENDS_WITHIN_S: Final = 20.0


def test_given_a_task_that_loses_its_first_cancellations_when_ended_then_it_has_ended() -> None:
    async def main() -> tuple[bool, int]:
        lost = 0

        async def losing() -> None:
            nonlocal lost
            while True:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    if lost == 2:
                        raise
                    lost += 1

        task = asyncio.create_task(losing())
        await asyncio.sleep(0)
        async with asyncio.timeout(ENDS_WITHIN_S):
            await end([task])
        return task.cancelled(), lost

    assert asyncio.run(main()) == (True, 2)


def test_given_tasks_that_failed_or_none_when_ended_then_it_returns() -> None:
    async def failing() -> None:
        raise ValueError("It failed.")

    async def main() -> bool:
        task = asyncio.create_task(failing())
        await asyncio.wait([task])
        await end([])
        await end([task])
        return task.done()

    assert asyncio.run(main())


def test_given_a_reader_of_redis_when_ended_at_any_step_of_a_command_then_it_has_ended(tmp_path: Path) -> None:
    async def ended_after(steps: int) -> bool:
        client, memory = connect_async(tmp_path / "redis" / "redis.sock"), RedisMemory()
        await memory.read(client)
        reading = asyncio.create_task(memory.read_regularly(client))
        for _ in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(ENDS_WITHIN_S):
            await end([reading])
        await client.aclose()
        return reading.cancelled()

    with redis_of_its_own(tmp_path / "redis"):
        assert all(asyncio.run(ended_after(steps)) for steps in range(STEPS))
