"""The rate of requests to the bank's API for one tenant, and its pauses.

Unit    instants and durations in microseconds; every instant is handed in
"""

from typing import Final

from clearhold.features.core.backoff import pause_after
from clearhold.features.core.instants import HOUR_US, SECOND_US

FIRST_BACKOFF_US: Final = SECOND_US
MAX_BACKOFF_US: Final = 300 * SECOND_US
MAX_RETRY_AFTER_US: Final = HOUR_US
PAUSE_US: Final = 1300 * SECOND_US
MAX_TURNS_AHEAD: Final = 8  # more than are waited for at once, unless the clock stepped back


class TenantPace:
    """Requests at even intervals; growing pauses after failures, and a long one after a refused key."""

    def __init__(self, *, per_second: int) -> None:
        self._interval_us = SECOND_US // per_second
        self._next_at = 0
        self._failures = 0
        self._ready_at = 0
        self._refused_key: str | None = None

    def is_ready(self, key: str, *, now: int) -> bool:
        """Whether a request with this key may be sent now. A new key ends the pause of a refused one."""
        if self._refused_key is not None and self._refused_key != key:
            self._refused_key, self._ready_at = None, 0
        return now >= self._ready_at or self._ready_at - now > MAX_RETRY_AFTER_US  # the clock stepped back

    def is_paused(self, *, now: int) -> bool:
        """Whether the bank refused the key a short while ago."""
        return self._refused_key is not None and now < self._ready_at

    def take_turn(self, *, now: int) -> int:
        """Take the next turn; returns the wait for it."""
        is_ahead = now <= self._next_at <= now + MAX_TURNS_AHEAD * self._interval_us
        at = self._next_at if is_ahead else now
        self._next_at = at + self._interval_us
        return at - now

    def note_success(self) -> bool:
        """True for the first success after a failure or a refusal."""
        is_first = bool(self._failures) or self._refused_key is not None
        if self._refused_key is not None:
            self._ready_at = 0  # a request that was under way shows that the key is taken after all
        self._failures, self._refused_key = 0, None
        return is_first

    def note_failure(self, *, now: int, retry_after_us: int | None = None) -> bool:
        """Back off; failures at the same time count once. True for the first failure after a success."""
        is_first = not self._failures
        backoff_us = 0
        if now >= self._ready_at:
            self._failures += 1
            backoff_us = pause_after(self._failures, FIRST_BACKOFF_US, MAX_BACKOFF_US)
        wait_us = max(backoff_us, min(retry_after_us or 0, MAX_RETRY_AFTER_US))
        self._ready_at = max(self._ready_at, now + wait_us)
        return is_first

    def note_refusal(self, key: str, *, now: int) -> bool:
        """Pause until the key is replaced, or for a while; True unless the key was refused before."""
        is_first = self._refused_key != key
        self._refused_key, self._ready_at = key, now + PAUSE_US
        return is_first
