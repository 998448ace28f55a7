"""Connections to the log's Redis, and the required settings of a Redis for the log.

Errors  ``RedisSettingsError`` for a Redis that could forget an entry it has confirmed, or that cannot be reached

A command is never repeated automatically: an append that was sent twice would be in the log twice.
"""

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
