"""Slows down the answers to an address that guesses tokens.

Authenticated callers from the same address, as behind a proxy, are not slowed.

Limits  ``MOST_PER_SECOND`` refusals an address and second are answered at once
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

MOST_PER_SECOND: Final = 200
HELD_S: Final = 1.0


class Floods:
    """Belongs to the API's event loop. Remembers the addresses of one second."""

    def __init__(self, *, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._second = 0
        self._refused: Counter[str] = Counter()

    async def hold(self, scope: Any) -> None:
        """Count a refusal; returns when its answer may be sent."""
        if self._is_over(scope["client"][0] if scope["client"] else ""):
            await asyncio.sleep(HELD_S)

    def _is_over(self, address: str) -> bool:
        second = int(self._now())
        if second != self._second:
            self._second = second
            self._refused.clear()
        self._refused[address] += 1
        return self._refused[address] > MOST_PER_SECOND
