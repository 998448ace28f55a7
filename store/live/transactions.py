"""Transactions of many small commands: packed beforehand, sent with one write, and answered with one read.

The client's own way costs several times as much as the commands, for packing each and for each confirmation.

Errors  ``RedisError``: when Redis refuses the transaction, nothing of it is executed; after a lost connection, nothing
        or all of it
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import hiredis
import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from clearhold.store.redis_log.pipeline import command

_BYTES: Final = 65_536
_MULTI: Final = command("MULTI")
_EXEC: Final = command("EXEC")


class Transaction(NamedTuple):
    """``packed`` are the bytes for Redis; ``replies`` counts its answers."""

    packed: bytes
    replies: int


def transaction(commands: Sequence[bytes], *, first: bytes = b"", count: int = 0) -> Transaction:
    """One of packed commands, which are executed together; ``first`` are ``count`` more in one piece, before them."""
    return Transaction(b"".join((_MULTI, first, *commands, _EXEC)), count + len(commands) + 2)


class Transactions:
    """For one thread."""

    def __init__(self, client: redis.Redis) -> None:
        self._pool = client.connection_pool

    def execute(self, whole: Transaction) -> list[Any]:
        """The reply of each command; one that failed is a ``ResponseError``, and the others are executed."""
        connection: Any = self._pool.get_connection()
        try:
            connection.send_packed_command([whole.packed])
            replies = _replies(connection._sock, whole.replies)  # noqa: SLF001 - its own reader is slow
            return _executed(replies)
        except BaseException:
            connection.disconnect()  # replies may be on their way, or another server may be the primary
            raise
        finally:
            self._pool.release(connection)


def _executed(replies: list[Any]) -> list[Any]:
    executed = replies[-1]
    if isinstance(executed, ResponseError):  # says that the transaction was dropped; an earlier one says why
        raise next(reply for reply in replies if isinstance(reply, ResponseError))
    return list(executed)


def _replies(socket: Any, number: int) -> list[Any]:
    reader, replies = hiredis.Reader(replyError=ResponseError), list[Any]()
    while len(replies) < number:
        try:
            received = socket.recv(_BYTES)
        except OSError as error:
            raise RedisConnectionError(f"No answer from Redis: {error}") from error
        if not received:
            raise RedisConnectionError("Redis closed the connection.")
        reader.feed(received)
        while (reply := reader.gets()) is not False:
            replies.append(reply)
    return replies
