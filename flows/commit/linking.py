"""The chains of a service, with the log of links where its log in a named Redis has one."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb

from clearhold.store.record.chain import ChainWriter, Holes
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.linked_chains import LinkedChains
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.links import RedisLinks
from clearhold.store.redis_log.owner import LogOwnership


def opened_link_log(
    target: str | Path,
    ownership: LogOwnership | None,
    opened: ExitStack,
    *,
    replicas: int,
    is_owner: Callable[[], bool] = lambda: True,
) -> LinkLog | None:
    """None for the embedded Redis, and for a log that has no replicas and never had any. Until ``opened`` ends."""
    if ownership is None:
        return None
    links = RedisLinks(opened.enter_context(closing(connect_sync(target))), ownership, replicas=replicas)
    if not replicas and links.base() is None:
        return None
    return LinkLog(links, is_owner=is_owner)


def chain_writer(
    database: duckdb.DuckDBPyConnection, folder: Path, link_log: LinkLog | None, holes: Holes
) -> ChainWriter:
    """The writer of the chains in ``folder``; ``holes`` is shared with their readers."""
    if link_log is None:
        return ChainWriter(database, folder)
    return LinkedChains(database, folder, link_log, holes=holes)
