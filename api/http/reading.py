"""Reads of committed rows for answers: in worker threads, a few at a time.

A statement for one answer costs a millisecond or two, most of it for its plan. As many of them at once as there are
cores take the cores, and the interpreter's lock, from pre-flights; so one core is left to those. Exports,
``verify`` and reports have other threads, so that no read waits for them. See decision 0100.
"""

import os
from collections.abc import Callable
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from clearhold.api.http.in_the_air import in_the_air
from clearhold.store.duck.turns import each_after

AT_ONCE: Final = max(1, (os.cpu_count() or 1) - 1)

_LIMITER: Final = RunVar[CapacityLimiter]("reads")  # one for the event loop

T = TypeVar("T")


async def in_reader(read: Callable[..., T], *values: object) -> T:
    """The answer of ``read``, in its turn."""
    limiter = _LIMITER.get(None)
    if limiter is None:
        limiter = CapacityLimiter(AT_ONCE)
        _LIMITER.set(limiter)
    wait = in_the_air().wait

    def in_turns() -> T:
        with each_after(wait):
            return read(*values)

    return await to_thread.run_sync(in_turns, limiter=limiter)
