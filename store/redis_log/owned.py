"""The ownership of the log for a process: taken at its start, or followed as a standby, and ended at once when fenced.

Errors  ``StartupError`` while another owner is live and this node may not stand by
"""

import os
import socket
import sys
from contextlib import ExitStack, closing
from typing import NoReturn

import structlog

from clearhold.store.data_dir import DataDir
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.owner import (
    ANSWERS_WITHIN_S,
    FENCED_EXIT,
    LogOwnership,
    OwnerRefusedError,
    node_of,
    taken,
)
from clearhold.store.redis_log.reader import identity_in

log = structlog.get_logger()


def url_in(address: str) -> str | None:
    """The URL in the address of an owner or member, ``HOST (URL)``."""
    url = address.partition(" (")[2].removesuffix(")")
    return url if url.startswith("http") else None


def owned_log(
    redis_url: str | None,
    data_dir: DataDir,
    url: str,
    opened: ExitStack,
    *,
    take_over: bool = False,
    may_stand_by: bool = False,
) -> LogOwnership | None:
    """The ownership of the log in a named Redis, until ``opened`` ends; None with the embedded one, which is in the
    directory and has its lock. A Redis with another directory's log is left to the refusal of ``join_log``. A member,
    which ``may_stand_by``, does not own a log that another node owns.
    """
    if redis_url is None:
        return None
    client = opened.enter_context(closing(connect_sync(redis_url, answers_within_s=ANSWERS_WITHIN_S)))
    if identity_in(client) not in {None, data_dir.identity}:
        return None
    node, address = node_of(data_dir.path), f"{socket.gethostname()} ({url})"
    try:
        ownership = taken(client, node, address, take_over=take_over)
    except OwnerRefusedError:
        if not may_stand_by:
            raise
        ownership = LogOwnership(client, node, address)
        log.info("stands_by", node=node.id)
    else:
        ownership.start(end_fenced)
    opened.callback(ownership.release)
    return ownership


def end_fenced(sentence: str) -> NoReturn:
    """End at once: an orderly end would commit, deliver and sign what the other service commits, delivers and signs."""
    log.critical("fenced", error=sentence)
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    os._exit(FENCED_EXIT)
