"""Connections to the log's Redis, the required settings of a Redis for the log, and the share of its memory in use.

A command is never repeated automatically: an append that was sent twice would be in the log twice. At its memory limit
Redis refuses to grow (``noeviction``), and callers get a 503. Idempotency claims stay for a day and would fill it
first: they are refused above half of the limit, so that events and decisions still have room.

Errors  ``RedisSettingsError`` for a Redis that could forget an entry it has confirmed, or that cannot be reached
"""

import asyncio
import os
from pathlib import Path
from typing import Any, Final

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from clearhold.store.errors import StartupError

CONNECT_TIMEOUT_S: Final = 1.0
COMMAND_TIMEOUT_S: Final = 5.0
REQUIRED_SETTINGS: Final = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}

_USUAL: Final[dict[str, Any]] = {
    "decode_responses": False,
    "protocol": 2,
    "socket_connect_timeout": CONNECT_TIMEOUT_S,
    "socket_timeout": COMMAND_TIMEOUT_S,
}


class RedisSettingsError(StartupError):
    """The settings of this Redis do not suit the log."""


def connect_sync(target: str | Path) -> redis.Redis:
    """A client for threads. ``target`` is a URL (``redis://``, ``rediss://``, ``unix://``) or the path of a socket."""
    retry = Retry(NoBackoff(), 0)
    if _is_url(target):
        return redis.Redis.from_url(str(target), retry=retry, **_USUAL)
    return redis.Redis(unix_socket_path=str(target), retry=retry, **_USUAL)


def connect_async(target: str | Path) -> redis.asyncio.Redis:
    """As ``connect_sync``, for the event loop that uses it first."""
    retry = AsyncRetry(NoBackoff(), 0)
    if _is_url(target):
        return redis.asyncio.Redis.from_url(str(target), retry=retry, **_USUAL)
    return redis.asyncio.Redis(unix_socket_path=str(target), retry=retry, **_USUAL)


def check_external(client: redis.Redis) -> None:
    """Refuse a Redis that may lose a confirmed entry; the sentence names the settings to change, and the commands."""
    try:
        settings = {name: client.config_get(name).get(name) for name in REQUIRED_SETTINGS}
    except AuthenticationError as error:
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL refuses the user or password of the URL, or demands one ({error})."
        ) from error
    except (RedisConnectionError, RedisTimeoutError) as error:
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL cannot be reached ({error}). Does it run, and is the address right?"
        ) from error
    except RedisError as error:
        raise RedisSettingsError(
            f"The settings of the Redis at CLEARHOLD_REDIS_URL cannot be read ({error}); CONFIG GET must be allowed."
        ) from error
    wrong = {name: value for name, value in REQUIRED_SETTINGS.items() if settings[name] != value}
    if wrong:
        states = ", ".join(f"{name} is {settings[name] or 'unknown'}" for name in wrong)
        commands = "; ".join(f"CONFIG SET {name} {value}" for name, value in wrong.items())
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL could lose what it has confirmed: {states}. "
            f"Run {commands}; then CONFIG REWRITE, or set the same in its redis.conf."
        )


def _is_url(target: str | Path) -> bool:
    return isinstance(target, str) and "://" in target


EMBEDDED_SHARE: Final = 4
"""The embedded Redis may use a quarter of this process's memory limit."""

LEAST_BYTES: Final = 256 * 1024 * 1024
READ_EVERY_S: Final = 1.0

_CLAIMS_SHARE: Final = 2
_CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


class RedisMemory:
    """The last reading; ``limit_bytes`` 0 is no limit. Belongs to the event loop; any thread may read it."""

    def __init__(self) -> None:
        self.used_bytes = 0
        self.limit_bytes = 0

    @property
    def has_room_for_claims(self) -> bool:
        return not self.limit_bytes or self.used_bytes <= self.limit_bytes // _CLAIMS_SHARE

    async def read(self, client: redis.asyncio.Redis) -> None:
        """Read it now; while Redis does not answer the last reading stays, and other metrics show the outage."""
        try:
            reading = await client.info("memory")
        except (RedisError, OSError):
            return
        self.used_bytes, self.limit_bytes = int(reading["used_memory"]), int(reading["maxmemory"])

    async def read_regularly(self, client: redis.asyncio.Redis) -> None:
        """Read it regularly until cancelled."""
        while True:
            await self.read(client)
            await asyncio.sleep(READ_EVERY_S)


def embedded_limit_bytes() -> int:
    """The limit of an embedded Redis: a share of the machine's memory, or of the container's if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        text = _CGROUP_LIMIT.read_text().strip()
    except OSError:  # no container, or another system
        text = ""
    if text.isdigit():
        memory = min(memory, int(text))
    return max(LEAST_BYTES, memory // EMBEDDED_SHARE)
