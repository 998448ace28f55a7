"""Rate limits: one token bucket for each principal and class of operation, in this process's memory.

A bucket holds one second's worth and fills continuously. Levels are whole millionths of a token, so that a replay of
the same instants decides alike.

Errors  RateLimitedError when the bucket is empty
"""

from collections.abc import Mapping
from typing import Any, Final

from api.http.operation import RateClass
from features.core.errors import RateLimitedError
from features.core.instants import SECOND_US
from features.core.principal import Principal
from store.clock import Clock
from store.data_dir import StartupError

RATE_LIMITS: Final = "CLEARHOLD_RATE_LIMITS"
DEFAULT_LIMITS: Final[Mapping[RateClass, int]] = {
    RateClass.PREFLIGHT: 5_000,
    RateClass.WRITE: 100,
    RateClass.READ: 200,
}
MOST_PER_SECOND: Final = 1_000_000

_KEY: Final = "clearhold.rate"
_LIMITED: Final = "Too many requests of this kind. Try again after the seconds in the header Retry-After."


class RateLimits:
    """``limits`` are requests a second. Belongs to the API's event loop."""

    def __init__(self, limits: Mapping[RateClass, int], clock: Clock) -> None:
        self._limits, self._clock = limits, clock
        self._policies = {name: b'"%s";q=%d;w=1' % (name.encode(), limit) for name, limit in limits.items()}
        self._levels: dict[tuple[str, str, RateClass], tuple[int, int]] = {}

    def take(self, scope: Any, principal: Principal, rate_class: RateClass) -> None:
        """Take a token, or raise; the headers of the bucket are kept for the answer."""
        limit = self._limits[rate_class]
        full = limit * SECOND_US
        now = self._clock.now()
        key = (principal.tenant_id, principal.id, rate_class)
        level, at = self._levels.get(key, (full, now))
        level = min(full, level + max(0, now - at) * limit)
        taken = level >= SECOND_US
        if taken:
            level -= SECOND_US
        self._levels[key] = (level, now)
        left = b'"%s";r=%d;t=1' % (rate_class.encode(), level // SECOND_US)
        scope[_KEY] = ((b"ratelimit-policy", self._policies[rate_class]), (b"ratelimit", left))
        if not taken:
            raise RateLimitedError(_LIMITED)


def rate_headers(scope: Any) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of the bucket that this request took from; none when it took from none."""
    headers: tuple[tuple[bytes, bytes], ...] = scope.get(_KEY, ())
    return headers


def limits_of(text: str | None) -> Mapping[RateClass, int]:
    """``preflight=5000,write=100``: requests a second; other classes keep their default. StartupError if malformed."""
    limits = dict(DEFAULT_LIMITS)
    for part in (text or "").replace(" ", "").split(","):
        if not part:
            continue
        name, _, number = part.partition("=")
        known = name in RateClass._value2member_map_
        if not known or not number.isascii() or not number.isdigit() or not 1 <= int(number) <= MOST_PER_SECOND:
            raise StartupError(
                f"{RATE_LIMITS} must be like preflight=5000,write=100,read=200: "
                f"each of {', '.join(RateClass)} with 1 to {MOST_PER_SECOND} requests a second."
            )
        limits[RateClass(name)] = int(number)
    return limits
