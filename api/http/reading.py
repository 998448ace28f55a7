"""Reads of committed rows for answers: in worker threads, a few at a time.

A statement for one answer costs a millisecond or two, most of it for its plan. As many of them at once as there are
cores take the cores, and the interpreter's lock, from pre-flights; so one core is left to those. Exports,
``verify`` and reports have other threads, so that no read waits for them. Tenants take turns, so that one which asks
for much does not delay the others. See decision 0100.
"""

import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, NamedTuple, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from clearhold.api.http.fair_places import FairPlaces
from clearhold.api.http.in_the_air import in_the_air
from clearhold.store.duck.turns import each_after

AT_ONCE: Final = max(1, (os.cpu_count() or 1) - 1)

READS_OF: Final = ContextVar("READS_OF", default="")
"""The id of the tenant for which this request reads; empty before its caller is proven."""


class _Reads(NamedTuple):
    places: FairPlaces
    threads: CapacityLimiter  # as many as there are places


_READS: Final = RunVar[_Reads]("reads")  # one for the event loop

T = TypeVar("T")


async def in_reader(read: Callable[..., T], *values: object) -> T:
    """The answer of ``read``, in its turn."""
    reads = _READS.get(None)
    if reads is None:
        reads = _Reads(FairPlaces(AT_ONCE), CapacityLimiter(AT_ONCE))
        _READS.set(reads)
    wait = in_the_air().wait

    def in_turns() -> T:
        with each_after(wait):
            return read(*values)

    async with reads.places.of(READS_OF.get()):
        return await to_thread.run_sync(in_turns, limiter=reads.threads)
