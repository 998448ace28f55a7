"""The wall clock, and the only module that reads it; and a timer for an answer of another process.

Other code gets a ``Clock`` as an argument. The service's is a ``SteadyClock``: a wrong time that is corrected within
minutes changes nothing, because alerts that were escalated and deadlines that ran out do not come back.

An overloaded or suspended machine pauses both processes. When they continue, the timer is over and the answer a moment
away: a timer that fires much too late waits a little longer, or the answer would be dropped, and its caller refused.

Unit    microseconds since the Unix epoch, UTC, as everywhere (``features/core/instants.py``); of timers, seconds
"""

import asyncio
import time
from collections.abc import Callable
from threading import Lock
from typing import Final, Protocol

import structlog

from clearhold.features.core.instants import DAY_US, MINUTE_US, SECOND_US

_NS_PER_US: Final = 1_000


class Clock(Protocol):
    def now(self) -> int:
        """The present instant, in microseconds."""
        ...


class ServiceClock(Clock, Protocol):
    """A clock that may be wrong, and says so."""

    @property
    def is_doubtful(self) -> bool:
        """While no deadline should run out by this clock."""
        ...

    def compare(self, newest: int) -> None:
        """Compare with the time of the log's newest entry."""
        ...

    @property
    def ahead_s(self) -> float:
        """The machine's clock minus this one, in seconds."""
        ...


class SystemClock:
    """The machine's clock. It may step back; nothing here relies on it growing."""

    def now(self) -> int:
        return time.time_ns() // _NS_PER_US


JUMP_US: Final = 5 * SECOND_US
"""What the clock may be set ahead at once. It is set back by no more than it waits for; both are usual with NTP."""

HOLD_US: Final = 5 * MINUTE_US
"""For an operator, or NTP, to correct a wrong clock."""

AWAY_US: Final = DAY_US
"""A service that was stopped for longer may have been started with a wrong clock."""

log = structlog.get_logger()


def since_boot() -> int:
    """Microseconds on a clock that cannot be set. On Linux it also counts while the machine is suspended."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // _NS_PER_US


class SteadyClock:
    """The machine's clock, except that a jump counts only after it has lasted for ``HOLD_US``; meanwhile time goes on
    as before the jump. Time never goes back, but for a jump that counts. For any thread.
    """

    def __init__(self, *, wall: Clock | None = None, elapsed: Callable[[], int] = since_boot) -> None:
        self._wall, self._elapsed, self._lock = wall or SystemClock(), elapsed, Lock()
        self._offset = self._wall.now() - elapsed()
        self._last = 0
        self._jump_us = 0  # of a jump that does not count yet
        self._counts_at = 0  # of the clock that cannot be set
        self._doubtful_until = elapsed()

    def now(self) -> int:
        with self._lock:
            elapsed = self._elapsed()
            jump_us = self._wall.now() - elapsed - self._offset
            if abs(jump_us) > JUMP_US:
                if not self._counts(jump_us, elapsed):
                    jump_us = 0
            elif self._jump_us:
                self._jump_us = 0
                log.warning("clock_is_right_again")
            self._offset += jump_us
            self._last = max(self._last, elapsed + self._offset)
            return self._last

    def _counts(self, jump_us: int, elapsed: int) -> bool:
        if abs(jump_us - self._jump_us) > JUMP_US:
            self._jump_us, self._counts_at = jump_us, elapsed + HOLD_US
            log.error("clock_jumped", seconds=jump_us // SECOND_US, counts_in_s=HOLD_US // SECOND_US)
        if self._doubtful_until <= elapsed < self._counts_at:  # in doubt any change is a correction
            return False
        log.error("clock_jump_counts", seconds=jump_us // SECOND_US)
        self._jump_us = self._last = 0
        self._doubtful_until = min(self._doubtful_until, elapsed)
        return True

    def compare(self, newest: int) -> None:
        """Compare with the time of the log's newest entry, at the start."""
        now = self.now()
        if now < newest - JUMP_US:
            log.error("clock_is_behind_the_log", seconds=(newest - now) // SECOND_US)
        elif newest and now > newest + AWAY_US:
            log.warning("clock_is_far_ahead_of_the_log", seconds=(now - newest) // SECOND_US)
        else:
            return
        self._doubtful_until = self._elapsed() + HOLD_US

    @property
    def ahead_s(self) -> float:
        """Not 0 while a jump does not count yet."""
        self.now()
        return self._jump_us / SECOND_US

    @property
    def is_doubtful(self) -> bool:
        """While a jump does not count yet, and for a while after a start far from the log's newest entry."""
        return bool(self.ahead_s) or self._elapsed() < self._doubtful_until


STOOD_STILL_S: Final = 0.1
READ_WITHIN_S: Final = 0.25
"""For the other process to answer, which was suspended together with this one."""


def call_at(at: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
    """As ``loop.call_at`` of the running event loop; ``READ_WITHIN_S`` later if it fires too late."""
    loop = asyncio.get_running_loop()

    def fired() -> None:
        if loop.time() - at > STOOD_STILL_S:
            loop.call_later(READ_WITHIN_S, callback)
        else:
            callback()

    return loop.call_at(at, fired)
