"""Work in threads: interrupted when its caller leaves, and awaited."""

import asyncio
import gc
from threading import Event
from typing import Any

import pytest

from clearhold.flows.running.supervision import Workers


def test_given_a_caller_that_leaves_then_its_work_is_interrupted_and_awaited_and_its_failure_is_no_news() -> None:
    interrupted, reported = Event(), list[dict[str, Any]]()
    ended = []

    def work() -> None:
        interrupted.wait(10)
        ended.append("interrupted" if interrupted.is_set() else "left alone")
        raise InterruptedError

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        workers = Workers(1, "some")
        running = asyncio.create_task(workers.run(work, interrupt=interrupted.set))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == ["interrupted"]
        del running
        gc.collect()
        workers.close()

    asyncio.run(main())

    assert reported == []
