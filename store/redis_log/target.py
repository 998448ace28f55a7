"""Finds the log's Redis: the embedded one, or the named one.

Errors  StartupError for a named one with unsuitable settings
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from clearhold.store.data_dir import DataDir
from clearhold.store.redis_log.connect import check_external, connect_sync
from clearhold.store.redis_log.server import EmbeddedRedis


class BegunRedis(NamedTuple):
    """The address of Redis, and a wait for its first answer: loading its log may take seconds."""

    target: str | Path
    wait: Callable[[], None]


def begun_redis(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> BegunRedis:
    """The embedded Redis, started and not awaited, or the named one, checked."""
    if redis_url is not None:
        with closing(connect_sync(redis_url)) as client:
            check_external(client)
        return BegunRedis(redis_url, lambda: None)
    embedded = EmbeddedRedis(data_dir.path)
    embedded.begin()
    opened.callback(embedded.stop)
    return BegunRedis(embedded.socket_path, embedded.wait)


def redis_target(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> str | Path:
    """The address of the log's Redis: the embedded one, started now, or the named one."""
    begun = begun_redis(redis_url, data_dir, opened)
    begun.wait()
    return begun.target
