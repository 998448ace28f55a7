"""Limits on what callers use: requests a second, open connections, and the answers to guessed tokens.

Rates        one token bucket for each caller and class of operation, in this process's memory. A caller is a principal,
             or on a public route an address: of IPv6 the first 64 bits, which one host owns. A bucket holds one
             second's worth and fills continuously. Levels are whole millionths of a token, so that a replay of the same
             instants gives the same decisions. A bucket that was unused for a second is full, and is forgotten.
Connections  ``RESERVED_FILES`` of the process's files are for the stores; three quarters of the connections may come
             from one address, which may be a proxy for many callers
Errors       RateLimitedError when the bucket is empty; ``StartupError`` when the process has too few files to serve
"""

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address
from time import monotonic
from typing import Any, Final

import structlog

from clearhold.api.http.operation import RateClass
from clearhold.features.core.errors import RateLimitedError
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.errors import StartupError

RATE_LIMITS: Final = "CLEARHOLD_RATE_LIMITS"
DEFAULT_LIMITS: Final[Mapping[RateClass, int]] = {
    RateClass.PREFLIGHT: 5_000,
    RateClass.WRITE: 100,
    RateClass.READ: 200,
    RateClass.VERIFY: 10,
    RateClass.CONSOLE: 100,
}
MOST_PER_SECOND: Final = 1_000_000
MOST_REFUSALS: Final = 200
HELD_S: Final = 1.0

_KEY: Final = "clearhold.rate"
_Bucket = tuple[str, str, RateClass]
_HOST_BITS: Final = 64
_LIMITED: Final = "Too many requests of this kind. Try again after the seconds in the header Retry-After."


class RateLimits:
    """``limits`` are requests a second. Belongs to the API's event loop."""

    def __init__(self, limits: Mapping[RateClass, int], clock: Clock) -> None:
        self._limits, self._clock = limits, clock
        self._policies = {name: b'"%s";q=%d;w=1' % (name.encode(), limit) for name, limit in limits.items()}
        self._levels: dict[_Bucket, tuple[int, int]] = {}
        self._former: dict[_Bucket, tuple[int, int]] = {}  # unused since the last exchange of levels
        self._set_aside_at = 0

    def take(self, scope: Any, principal: Principal, rate_class: RateClass) -> None:
        """Take a token, or raise; the answer gets the bucket's headers."""
        self._take(scope, (principal.tenant_id, principal.id, rate_class))

    def take_for_address(self, scope: Any, rate_class: RateClass, caller: str | None = None) -> None:
        """As ``take``, for a caller that only its address identifies, or ``caller`` in its place."""
        self._take(scope, ("", _address(scope) if caller is None else caller_of(caller), rate_class))

    def _take(self, scope: Any, bucket: _Bucket) -> None:
        rate_class = bucket[2]
        limit = self._limits[rate_class]
        full = limit * SECOND_US
        now = self._clock.now()
        self._forget_full(now)
        level, at = self._levels.get(bucket) or self._former.get(bucket, (full, now))
        level = min(full, level + max(0, now - at) * limit)
        taken = level >= SECOND_US
        if taken:
            level -= SECOND_US
        self._levels[bucket] = (level, now)
        left = b'"%s";r=%d;t=1' % (rate_class.encode(), level // SECOND_US)
        scope[_KEY] = ((b"ratelimit-policy", self._policies[rate_class]), (b"ratelimit", left))
        if not taken:
            raise RateLimitedError(_LIMITED)

    def _forget_full(self, now: int) -> None:
        """Forget, once a second, the buckets that were unused for a second; they are full."""
        if abs(now - self._set_aside_at) >= SECOND_US:
            self._former = self._levels
            self._levels = {}
            self._set_aside_at = now


def rate_headers(scope: Any) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of this request's bucket, if it took a token."""
    headers: tuple[tuple[bytes, bytes], ...] = scope.get(_KEY, ())
    return headers


def _address(scope: Any) -> str:
    return caller_of(scope["client"][0] if scope["client"] else "")


def caller_of(host: str) -> str:
    """The caller behind an address: of IPv6 its first 64 bits."""
    if ":" not in host:
        return host
    address = IPv6Address(host)
    return str(address.ipv4_mapped or int(address) >> _HOST_BITS)


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
                f"{RATE_LIMITS} must be like preflight=5000,write=100,read=200,verify=10,console=100: "
                f"each of {', '.join(RateClass)} with 1 to {MOST_PER_SECOND} requests a second."
            )
        limits[RateClass(name)] = int(number)
    return limits


class Floods:
    """Slows down the answers to an address that guesses tokens, after ``MOST_REFUSALS`` in a second.

    Authenticated callers from the same address, as behind a proxy, are not slowed. Belongs to the API's event loop.
    """

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
        return self._refused[address] > MOST_REFUSALS


MOST_CONNECTIONS: Final = 4_096
RESERVED_FILES: Final = 256
LOG_EVERY_S: Final = 60.0

_MOST_FILES: Final = 65_536
_FEWEST_FILES: Final = 2 * RESERVED_FILES

log = structlog.get_logger()


class Connections:
    """Belongs to the event loop of the server."""

    def __init__(self, most: int = MOST_CONNECTIONS, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._most_of_one = most, most - most // 4
        self._now = now
        self._by_address: Counter[str] = Counter()
        self._logged_at: float | None = None
        self.open = 0
        self.refused = 0

    def add(self, address: str) -> bool:
        """Whether there is room for one more. It counts until it is removed, also without room."""
        self.open += 1
        self._by_address[address] += 1
        if self.open <= self._most and self._by_address[address] <= self._most_of_one:
            return True
        self.refused += 1
        if self._logged_at is None or self._now() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = self._now()
            log.warning("connections_refused", open=self.open - 1, limit=self._most, refused_so_far=self.refused)
        return False

    def remove(self, address: str) -> None:
        self.open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


def raise_file_limit() -> int:
    """Raise the process's limit of files to its maximum; returns the number of connections that fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if files < _FEWEST_FILES:
        raise StartupError(
            f"The process may open {files} files; raise its limit (ulimit -n) to {_FEWEST_FILES} or more."
        )
    return min(MOST_CONNECTIONS, files - RESERVED_FILES)
