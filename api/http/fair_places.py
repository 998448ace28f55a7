"""Places for work that few may do at once, shared by callers: each caller with work that waits has its turn.

A caller's own work waits in the order of arrival. So a caller that asks for much delays another by one piece at most,
and not by all that it asked for before.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairPlaces:
    """Belongs to the event loop."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the caller whose turn is next comes first

    @asynccontextmanager
    async def of(self, caller: str) -> AsyncIterator[None]:
        """A place while the block runs."""
        if self._free:  # then none waits
            self._free -= 1
        else:
            await self._turn(caller)
        try:
            yield
        finally:
            self._pass_on()

    async def _turn(self, caller: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had its place already
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            caller, turns = next(iter(self._waiting.items()))
            del self._waiting[caller]
            while turns and turns[0].done():  # it left
                turns.popleft()
            if not turns:
                continue
            turn = turns.popleft()
            if turns:
                self._waiting[caller] = turns
            turn.set_result(None)
            return
        self._free += 1
