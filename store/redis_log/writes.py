"""The commands that append to the log: of a Redis that this service started, or of one that it may share.

A server of the data directory has one service, which the directory's lock ensures: XADD is enough. Any service may use
a named Redis. There a server function appends for the owner's epoch alone (``owner.lua``), and the entries of one call
are in the log together, as those of a MULTI are.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from clearhold.store.redis_log.pipeline import command
from clearhold.store.redis_log.reader import TENANTS

OWNER: Final = "log:owner"
"""A hash: the owner of the log in a named Redis."""

MEMBERS: Final = "log:members"
"""A hash: the nodes that own or follow the log of a named Redis, with what each still needs of it."""

StreamEntry = tuple[str, str, tuple[str | int | bytes, ...]]
"""Key and id of an entry for a stream, and its fields: names and values, alternating."""

PackedWrite = tuple[bytes, int]
"""Commands, and the number of their replies, of which the last one has the ids of the entries. Plain tuples: each
event costs one of both.
"""


class LogWrites(Protocol):
    def entries(self, entries: Sequence[StreamEntry]) -> PackedWrite:
        """All entries are in the log, or none is."""

    def control(self, tenant_id: str, entries: Sequence[StreamEntry]) -> PackedWrite:
        """As ``entries``, and the tenant is among those with a control stream."""


def ids_of(reply: Any) -> list[bytes]:
    """The ids of the entries, from the last reply to a write."""
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
    """For the owner of one epoch; another epoch is answered FENCED, and nothing is appended."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def entries(self, entries: Sequence[StreamEntry]) -> PackedWrite:
        keys = [key for key, _, _ in entries]
        count, arguments = 1 + len(keys), _arguments(entries)
        return command("FCALL", "clearhold_append", count, OWNER, *keys, self._epoch, *arguments), 1

    def control(self, tenant_id: str, entries: Sequence[StreamEntry]) -> PackedWrite:
        keys = [key for key, _, _ in entries]
        count, arguments = 2 + len(keys), _arguments(entries)
        name = "clearhold_append_control"
        return command("FCALL", name, count, OWNER, TENANTS, *keys, self._epoch, tenant_id, *arguments), 1


def _added(entry: StreamEntry) -> bytes:
    key, stream_id, fields = entry
    return command("XADD", key, stream_id, *fields)


def _transaction(commands: Iterable[bytes]) -> PackedWrite:
    parts = [command("MULTI"), *commands, command("EXEC")]
    return b"".join(parts), len(parts)


def _arguments(entries: Sequence[StreamEntry]) -> list[str | int | bytes]:
    return [word for _, stream_id, fields in entries for word in (stream_id, len(fields), *fields)]
