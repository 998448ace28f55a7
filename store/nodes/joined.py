"""Whether a data directory is a member of its log: one that stands by while another node owns the log.

A mere copy of a directory must not stand by unnoticed, so the file names its node. A copy, a restored disk and a
snapshot are other nodes, for which the file does not count. It is written when a directory joins, and whenever its
service takes the log: a former owner that starts again stands by.

File  ``joined`` in the directory
"""

from pathlib import Path
from typing import Final

import msgspec

from clearhold.store.data_dir import read_layout
from clearhold.store.durable_files import durable_file
from clearhold.store.redis_log.owner import node_of

FILE: Final = "joined"


class Joined(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The log, and the node that may stand by for it."""

    log_id: str
    node: str


def mark_joined(folder: Path) -> None:
    """Note durably that this directory, in its place, is a member of its log."""
    content = msgspec.json.encode(_own(folder)) + b"\n"
    path = folder / FILE
    if path.exists() and path.read_bytes() == content:
        return
    with durable_file(path) as file:
        file.write(content)


def is_joined(folder: Path) -> bool:
    """Whether the directory joined its present log in its present place."""
    path = folder / FILE
    if not path.exists():
        return False
    try:
        return msgspec.json.decode(path.read_bytes(), type=Joined) == _own(folder)
    except msgspec.MsgspecError:  # a damaged file shows nothing: the directory joins again
        return False


def _own(folder: Path) -> Joined:
    return Joined(log_id=read_layout(folder).log_id, node=node_of(folder).id)
