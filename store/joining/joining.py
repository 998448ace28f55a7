"""Directory, log and database brought together before anything is served from them.

Errors  ``StartupError`` when they do not belong together, one sentence that says what to do
"""

from contextlib import closing
from pathlib import Path

import duckdb

from store.data_dir import DataDir
from store.joining.identity import LogInRedis, check_database, check_redis, claim, has_history_in
from store.redis_log.connect import connect_sync


def join_log(data_dir: DataDir, target: str | Path, database: duckdb.DuckDBPyConnection) -> None:
    """Make sure that the Redis at ``target`` and the database hold the directory's own log."""
    with closing(connect_sync(target)) as client:
        log = LogInRedis(client, name_of(data_dir, target))
        check_database(data_dir, database)
        check_redis(data_dir, log, has_history=has_history_in(data_dir, database))
        claim(data_dir, log, database)


def name_of(data_dir: DataDir, target: str | Path) -> str:
    """Which Redis this is, for a sentence; an address may hold a password and is not quoted."""
    return f"the Redis in {data_dir.redis_dir}" if isinstance(target, Path) else "the Redis at CLEARHOLD_REDIS_URL"
