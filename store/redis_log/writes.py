"""The commands that append to the log: of a Redis that this service started, or of one that it may share.

A server of the data directory has one service, which the directory's lock ensures: XADD is enough, and MULTI for
several entries. Any service may use a named Redis, where all callers of a write share one transaction (``fenced.py``).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from clearhold.features.core.log_entry import EntryKind
from clearhold.store.redis_log.pipeline import command
from clearhold.store.redis_log.reader import TENANTS

OWNER: Final = "log:owner"
"""A hash: the owner of the log in a named Redis."""

EPOCH: Final = "log:epoch"
"""The epoch of the owner once more: a key that is written only when the log is taken, and that writes watch."""

WRITTEN: Final = "log:written"
"""A word of the newest write of the owner, which that write sets in its transaction (``broken_write.py``)."""

HANDED_OVER: Final = b"handed over"
"""The beat of an owner that has not taken yet the log that was handed to it."""

FENCES: Final = "fences"
"""A field of the owner's hash: how many services ended because they no longer owned the log."""

WANTED: Final = "log:wanted"
"""The node that an operator wants to be the owner, and the run of its machine; it ends by itself."""

MEMBERS: Final = "log:members"
"""A hash: the nodes that own or follow the log of a named Redis, with what each still needs of it."""

StreamEntry = tuple[str, str, tuple[str | int | bytes, ...]]
"""Key and id of an entry for a stream, and its fields: names and values, alternating."""

PackedWrite = tuple[bytes, int]
"""Commands, and the number of their replies. Plain tuples: each event costs one of both."""


class ToProgram(NamedTuple):
    """An entry for a program's shard that goes with one of the control stream."""

    shard: int
    kind: EntryKind
    program_id: str
    body: bytes


class LogWrites(Protocol):
    def entries(self, entries: Sequence[StreamEntry]) -> PackedWrite:
        """All entries are in the log, or none is."""

    def control(self, tenant_id: str, entries: Sequence[StreamEntry]) -> PackedWrite:
        """As ``entries``, and the tenant is among those with a control stream."""


def ids_of(reply: Any) -> list[bytes]:
    """The ids of the entries, from the answer to a write: the last reply, or in a shared transaction all of them."""
    return [reply] if isinstance(reply, bytes) else [part for part in reply if isinstance(part, bytes)]


class PlainWrites:
    """For a Redis that no other service uses."""

    def entries(self, entries: Sequence[StreamEntry]) -> PackedWrite:
        if len(entries) == 1:
            return _added(entries[0]), 1
        return _transaction(map(_added, entries))

    def control(self, tenant_id: str, entries: Sequence[StreamEntry]) -> PackedWrite:
        return _transaction((command("SADD", TENANTS, tenant_id), *map(_added, entries)))


class FencedWrites:
    """For a named Redis: commands within the transaction of a write."""

    def entries(self, entries: Sequence[StreamEntry]) -> PackedWrite:
        return b"".join(map(_added, entries)), len(entries)

    def control(self, tenant_id: str, entries: Sequence[StreamEntry]) -> PackedWrite:
        commands = (command("SADD", TENANTS, tenant_id), *map(_added, entries))
        return b"".join(commands), len(commands)


def _added(entry: StreamEntry) -> bytes:
    key, stream_id, fields = entry
    return command("XADD", key, stream_id, *fields)


def _transaction(commands: Iterable[bytes]) -> PackedWrite:
    parts = [command("MULTI"), *commands, command("EXEC")]
    return b"".join(parts), len(parts)
