"""A timer that is noticed in time ends what waits; one that a process slept through lets it read first."""

import asyncio

import pytest

from clearhold.store import clock
from tests.support.stalls import stand_still

pytestmark = pytest.mark.anyio


async def test_given_a_process_that_runs_when_the_time_is_over_then_the_timer_fires() -> None:
    fired = asyncio.Event()
    at = asyncio.get_running_loop().time() + 0.01

    clock.call_at(at, fired.set)
    await fired.wait()

    assert asyncio.get_running_loop().time() >= at - 0.002  # which libuv rounds


async def test_given_a_process_that_stood_still_past_the_time_then_the_timer_leaves_room_for_answers() -> None:
    fired = asyncio.Event()
    loop = asyncio.get_running_loop()

    clock.call_at(loop.time() + 0.01, fired.set)
    stand_still(0.3)
    went_on_at = loop.time()
    await fired.wait()

    assert loop.time() - went_on_at >= clock.READ_WITHIN_S * 0.9
