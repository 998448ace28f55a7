"""Pre-flights that are being answered, and the waiting for their end by work that counts less.

Reads for answers wait before each statement, pages between two slices; each at most for ``MOST_WAIT_S``, so they go on
beside any number of pre-flights. See decision 0100.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Final

from anyio.lowlevel import RunVar

MOST_WAIT_S: Final = 0.005


class InTheAir:
    """Belongs to the event loop; ``wait`` is for its threads."""

    def __init__(self) -> None:
        self.count = 0
        self._none = Event()
        self._none.set()
        self._waiting: list[asyncio.Future[None]] = []

    @contextmanager
    def one(self) -> Iterator[None]:
        """One more while the block runs."""
        self.count += 1
        self._none.clear()
        try:
            yield
        finally:
            self.count -= 1
            if self.count == 0:
                self._none.set()
                for each in self._waiting:
                    if not each.done():
                        each.set_result(None)
                self._waiting.clear()

    def wait(self) -> None:
        """In a thread: until the last one is answered."""
        if self.count:
            self._none.wait(MOST_WAIT_S)

    async def none(self) -> None:
        """On the event loop: until the last one is answered. Other work of the loop comes first in any case."""
        await asyncio.sleep(0)
        if self.count:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await asyncio.wait([waiting], timeout=MOST_WAIT_S)


_IN_THE_AIR: Final = RunVar[InTheAir]("preflights in the air")  # one for the event loop


def in_the_air() -> InTheAir:
    """Those of this event loop."""
    present = _IN_THE_AIR.get(None)
    if present is None:
        present = InTheAir()
        _IN_THE_AIR.set(present)
    return present
