"""Replicas of the log's Redis: writes that a number of them has, and reads of such writes alone.

Redis confirms a write before its replicas have it, and a replica that is promoted lacks it then. ``WAIT`` returns the
number of replicas that have all writes of the same connection. So it must follow the write on it: a later
one may lead to another primary, and has no writes to confirm. The writes of other connections lie before a marker that
is written now, since replicas take all writes in one order.

The memory of a replica counts. ``WAITAOF`` would wait for its disk, which takes a second (decision 0103).

Errors  ``NotReplicatedError`` when fewer replicas confirmed: the write may be in the log nevertheless
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import redis
from redis.exceptions import ConnectionError as RedisConnectionError

MARKER: Final = "log:marker"
"""A key whose only purpose is to be written."""

CONFIRMED_WITHIN_S: Final = 1.0
"""The usual limit of a wait for replicas."""


class NotReplicatedError(RedisConnectionError):
    """Fewer replicas than demanded have the write; a later one may succeed."""


class _Connection(Protocol):
    """The used part of the client's connection for threads."""

    def pack_commands(self, commands: Sequence[Sequence[str | int | float | bytes]]) -> list[bytes]: ...
    def send_packed_command(self, command: list[bytes]) -> None: ...
    def read_response(self) -> Any: ...


def wait_of(replicas: int, within_s: float) -> tuple[str, int, int]:
    """The words of WAIT; a limit of 0 would be none."""
    return "WAIT", replicas, max(1, int(within_s * 1_000))


def require_replicas(has: Any, replicas: int) -> None:
    """Raise unless the answer to WAIT is enough."""
    if isinstance(has, Exception):
        raise has
    if int(has) < replicas:
        raise NotReplicatedError(f"{has} of {replicas} replicas have confirmed a write in time.")


def replicated(client: redis.Redis, *command: str | float | bytes, replicas: int, within_s: float) -> Any:
    """The answer to a command, once ``replicas`` replicas have what it wrote; with 0, the answer alone.

    ``within_s`` is to be shorter than the client's own limit of an answer.
    """
    if not replicas:
        return client.execute_command(*command)
    pool: Any = client.connection_pool
    connection: Any = pool.get_connection()
    try:
        connection.send_packed_command(connection.pack_commands((command, wait_of(replicas, within_s))))
        answer = client.parse_response(connection, str(command[0]))
        require_replicas(connection.read_response(), replicas)
    except BaseException:
        connection.disconnect()  # No answer may be left for the next command.
        raise
    finally:
        pool.release(connection)
    return answer


def confirmed(connection: _Connection, replicas: int, within_s: float) -> None:
    """Return once ``replicas`` replicas have all writes that the connection's Redis has taken until now.

    ``connection`` is the one on which it was read, not one of the same client.
    """
    ask_confirmation(connection, replicas, within_s)
    require_confirmation(connection, replicas)


def ask_confirmation(connection: _Connection, replicas: int, within_s: float) -> None:
    """Send what ``confirmed`` sends; ``require_confirmation`` then reads the answers."""
    marker = ("SET", MARKER, b"")
    connection.send_packed_command(connection.pack_commands((marker, wait_of(replicas, within_s))))


def require_confirmation(connection: _Connection, replicas: int) -> None:
    """Read the answers to ``ask_confirmation``; raises as ``confirmed``."""
    connection.read_response()
    require_replicas(connection.read_response(), replicas)


def read_replicated(client: redis.Redis, *command: str | float | bytes, replicas: int, within_s: float) -> Any:
    """The answer to a reading command, once ``replicas`` replicas have all that it read; an empty one at once."""
    if not replicas:
        return client.execute_command(*command)
    pool: Any = client.connection_pool
    connection: Any = pool.get_connection()
    try:
        connection.send_packed_command(connection.pack_commands((command,)))
        answer = client.parse_response(connection, str(command[0]))
        if answer:
            confirmed(connection, replicas, within_s)
    except BaseException:
        connection.disconnect()
        raise
    finally:
        pool.release(connection)
    return answer
