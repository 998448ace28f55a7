"""How often a caller may try to sign in: ``MOST`` refused tries in ``WITHIN_US``, in this process's memory.

A caller is an address, or a browser that had a session: behind a proxy all others have one address.
"""

from collections import deque
from typing import Final

from clearhold.api.http.limits import caller_of
from clearhold.features.core.errors import RateLimitedError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.store.clock import Clock

MOST: Final = 5
WITHIN_US: Final = MINUTE_US
TOO_MANY_TRIES: Final = "Too many tries from this address. Try again in {}."
_MOST_ADDRESSES: Final = 10_000


class SignInTries:
    """Belongs to the API's event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._refused: dict[str, deque[int]] = {}

    def wait_s(self, address: str) -> int:
        """The seconds until this address may try again; 0 when it may now."""
        tries, now = self._refused.get(caller_of(address), deque[int]()), self._clock.now()
        if len(tries) < MOST or now - tries[0] >= WITHIN_US:
            return 0
        return -((now - tries[0] - WITHIN_US) // SECOND_US)

    def check(self, address: str) -> None:
        """RateLimitedError while this address has to wait."""
        wait_s = self.wait_s(address)
        if wait_s:
            raise RateLimitedError(TOO_MANY_TRIES.format(f"{wait_s} second{'' if wait_s == 1 else 's'}"))

    def note_refusal(self, address: str) -> None:
        now = self._clock.now()
        if len(self._refused) >= _MOST_ADDRESSES:
            self._refused = {each: tries for each, tries in self._refused.items() if now - tries[-1] < WITHIN_US}
        self._refused.setdefault(caller_of(address), deque(maxlen=MOST)).append(now)
