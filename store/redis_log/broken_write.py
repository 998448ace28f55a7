"""A write whose connection broke before its answer came: is it in the log?

break ─▶ new connection, the former one ended ─▶ epoch watched ─▶ is the write's word there?
            no: send it again          yes: the entries at the ends of their streams ─▶ WAIT ─▶ answers

It is exact. Each transaction sets ``log:written`` to a new word, so its entries are in the log exactly if the word is
there: the owner alone appends, and sends one write after the other. The broken connection has been ended in the same
run of the server, so that nothing of it is still to come; another run, or a promoted replica, does not get it.

Errors  ``UnsettledError`` when the log does not show exactly the entries of the write; the client's errors, after which
        another connection may show it; ``NotReplicatedError`` without enough replicas
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import hiredis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ResponseError

from clearhold.store.redis_log.replication import MARKER, require_replicas, wait_of
from clearhold.store.redis_log.writes import WRITTEN, PackedWrite

_ADD: Final = b"XADD"


class UnsettledError(Exception):
    """It cannot be known whether the write is in the log."""


async def ids_in_log(connection: AbstractConnection, word: bytes, calls: Sequence[PackedWrite]) -> list[Any] | None:
    """The ids of each caller's entries, in order; None when nothing of the write is in the log."""
    if await _answer(connection, "GET", WRITTEN) != word:
        return None
    sent = [_entries_of(packed) for packed, _ in calls]
    counts = Counter(key for entries in sent for key, *_ in entries)
    stored = {key: await _newest(connection, key, count) for key, count in counts.items()}
    ids: list[Any] = []
    for entries in sent:
        ids.append([])
        for key, *fields in entries:
            entry_id, *stored_fields = stored[key].pop()
            if stored_fields != fields:
                raise UnsettledError(f"The end of {key.decode()} in the log is not the write that was broken off.")
            ids[-1].append(entry_id)
    return ids


async def confirm(connection: AbstractConnection, replicas: int, within_s: float) -> None:
    """Return once ``replicas`` replicas have all that this server has taken until now."""
    await _answer(connection, "SET", MARKER, b"")  # which a server that became a replica refuses
    if replicas:
        require_replicas(await _answer(connection, *wait_of(replicas, within_s)), replicas)


async def _newest(connection: AbstractConnection, key: bytes, count: int) -> list[list[bytes]]:
    """The ids and fields of the newest entries of a stream, from the newest to the oldest."""
    try:
        page = await _answer(connection, "XREVRANGE", key, "+", "-", "COUNT", count)
    except ResponseError as error:
        raise UnsettledError(f"The end of {key.decode()} in the log cannot be read: {error}") from error
    if len(page) < count:
        raise UnsettledError(f"{key.decode()} has fewer entries than were written.")
    return [[entry_id, *fields] for entry_id, fields in page]


def _entries_of(packed: bytes) -> list[list[bytes]]:
    """Key and fields of each entry in packed commands."""
    reader = hiredis.Reader()
    reader.feed(packed)
    entries = []
    while (words := reader.gets()) is not False:
        if words[0] == _ADD:
            _, key, _, *fields = words
            entries.append([key, *fields])
    return entries


async def _answer(connection: AbstractConnection, *command: str | int | bytes) -> Any:
    await connection.send_command(*command)
    return await connection.read_response(disable_decoding=True)
