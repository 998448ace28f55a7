"""Which Redis has the log: one of its own beside the process, or one that was named.

Errors  StartupError for a named one that is not set up as the log demands
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from clearhold.store.data_dir import DataDir
from clearhold.store.redis_log.connect import check_external, connect_sync
from clearhold.store.redis_log.server import EmbeddedRedis


class BegunRedis(NamedTuple):
    """Where Redis is reached, and what returns once it answers: reading back its log may take seconds."""

    target: str | Path
    wait: Callable[[], None]


def begun_redis(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> BegunRedis:
    """The embedded Redis, which is started now and not waited for, or the one that was named, checked."""
    if redis_url is not None:
        with closing(connect_sync(redis_url)) as client:
            check_external(client)
        return BegunRedis(redis_url, lambda: None)
    embedded = EmbeddedRedis(data_dir.path)
    embedded.begin()
    opened.callback(embedded.stop)
    return BegunRedis(embedded.socket_path, embedded.wait)


def redis_target(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> str | Path:
    """Where the log's Redis is reached: the embedded one, started now, or the one that was named."""
    begun = begun_redis(redis_url, data_dir, opened)
    begun.wait()
    return begun.target
