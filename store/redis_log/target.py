"""Which Redis has the log: one of its own beside the process, or one that was named.

Errors  StartupError for a named one that is not set up as the log demands
"""

from contextlib import ExitStack, closing
from pathlib import Path

from store.data_dir import DataDir
from store.redis_log.connect import check_external, connect_sync
from store.redis_log.server import EmbeddedRedis


def redis_target(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> str | Path:
    """Where the log's Redis is reached: the embedded one, started now, or the one that was named."""
    if redis_url is not None:
        with closing(connect_sync(redis_url)) as client:
            check_external(client)
        return redis_url
    embedded = EmbeddedRedis(data_dir.path)
    embedded.start()
    opened.callback(embedded.stop)
    return embedded.socket_path
