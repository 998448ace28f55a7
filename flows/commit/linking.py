"""The log of links of a process, where its log in a named Redis has one."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import structlog
from redis.exceptions import RedisError

from clearhold.features.core.errors import UnavailableError
from clearhold.store.errors import StartupError
from clearhold.store.record.chain_file import RecordCheckpointRow
from clearhold.store.record.checkpoints import RecordCheckpoints
from clearhold.store.record.link_log import LinkLog
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.links import RedisLinks
from clearhold.store.redis_log.owner import LogOwnership

NO_LINKS: Final = (
    "The log has no order of the record for further nodes yet. Start its owner with CLEARHOLD_REDIS_REPLICAS of 1 or "
    "more, which begins one."
)

log = structlog.get_logger()


def opened_link_log(
    target: str | Path,
    ownership: LogOwnership | None,
    opened: ExitStack,
    *,
    replicas: int,
    is_owner: Callable[[], bool] = lambda: True,
) -> LinkLog | None:
    """None for the embedded Redis, and for a log that has no replicas and never had any. Until ``opened`` ends.

    StartupError for a node that stands by for a log without one: the chains of the two would have different orders.
    """
    if ownership is None:
        return None
    links = RedisLinks(opened.enter_context(closing(connect_sync(target))), ownership, replicas=replicas)
    if not replicas and links.base() is None:
        if not is_owner():
            raise StartupError(NO_LINKS)
        return None
    return LinkLog(links, is_owner=is_owner)


def publish_checkpoints(checkpoints: RecordCheckpoints, link_log: LinkLog | None) -> None:
    """Tell the other nodes of each checkpoint that this node signs; it signs none while that fails."""
    if link_log is None:
        return

    def publish(row: RecordCheckpointRow) -> None:
        try:
            link_log.publish(row)
        except (RedisError, OSError) as error:
            log.warning("checkpoint_not_published", error=str(error))
            raise UnavailableError("The checkpoint is not in the log yet; nothing is signed.") from error

    checkpoints.publish = publish


def followed_link_log(target: str | Path, opened: ExitStack, *, replicas: int) -> LinkLog | None:
    """The log of links for a process beside the owner of the log; None for a log without one."""
    links = RedisLinks(opened.enter_context(closing(connect_sync(target))), None, replicas=replicas)
    return None if links.base() is None else LinkLog(links, is_owner=lambda: False)
