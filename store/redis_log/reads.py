"""Commands of a reader of the log, on its own connections.

With replicas, an answer that has something is handed on once they have all of it (``replication.py``): no state and no
row then rests on an entry that a promoted replica lacks. That is one marker a read, not one an entry.

Errors  the built-in ``ConnectionError`` while Redis is down, still starting, refuses commands for a while, or lacks
        replicas; other refusals as they are
"""

from collections.abc import Callable
from typing import Any, Final

import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import MasterDownError, OutOfMemoryError, ReadOnlyError
from redis.exceptions import TimeoutError as RedisTimeoutError

from clearhold.store.redis_log.replication import CONFIRMED_WITHIN_S, ask_confirmation, confirmed, require_confirmation

Wait = Callable[[int, float], None]
"""Returns when a descriptor is readable, or after this many seconds."""

Command = tuple[str | int | bytes, ...]

LATE_S: Final = 3.0
_UNREADABLE: Final = "The log cannot be read"
_READS: Final = ("XRANGE", "XREVRANGE", "SMEMBERS")


class LogReads:
    """``wait`` and ``replicas`` as for ``LogReader``."""

    def __init__(self, client: redis.Redis, *, wait: Wait | None, replicas: int) -> None:
        self._redis, self._wait, self._replicas = client, wait, replicas
        for command in ("XRANGE", "XREVRANGE"):  # Unparsed: the parsing costs more than all later steps.
            client.set_response_callback(command, _as_it_came)

    def both(self, first: Command, second: Command, seconds: float) -> tuple[Any, Any]:
        """The answers to two commands, sent together. The first may take this long: others are waited for meanwhile."""
        answers: tuple[Any, Any] = self._on_a_connection(
            lambda connection: self._both_on(connection, first, second, seconds)
        )
        return answers

    def execute(self, *command: str | int | bytes) -> Any:
        """The answer to a command."""
        if self._replicas and command[0] in _READS:
            return self._on_a_connection(lambda connection: self._read_on(connection, command))
        try:
            return self._redis.execute_command(*command)
        except redis.RedisError as error:
            if not _passes(error):
                raise
            raise ConnectionError(f"{_UNREADABLE}: {error}") from error

    def _both_on(self, connection: Any, first: Command, second: Command, seconds: float) -> tuple[Any, Any]:
        connection.send_packed_command(connection.pack_commands((first, second)))
        if seconds:
            self._wait_for(connection, seconds)
        answers = connection.read_response(), connection.read_response()
        if answers[0] and self._replicas:
            ask_confirmation(connection, self._replicas, CONFIRMED_WITHIN_S)
            self._wait_for(connection, CONFIRMED_WITHIN_S)
            require_confirmation(connection, self._replicas)
        return answers

    def _read_on(self, connection: Any, command: Command) -> Any:
        connection.send_packed_command(connection.pack_commands((command,)))
        answer = self._redis.parse_response(connection, str(command[0]))
        if answer:
            confirmed(connection, self._replicas, CONFIRMED_WITHIN_S)
        return answer

    def _wait_for(self, connection: Any, seconds: float) -> None:
        """Let others wait for the answer, which comes then at the latest; reading it would block them."""
        if self._wait is None:
            return
        descriptor = connection._sock.fileno()  # noqa: SLF001 - the client offers no descriptor
        self._wait(descriptor, seconds + LATE_S)
        if not connection.can_read():
            raise RedisTimeoutError("Redis does not answer.")

    def _on_a_connection(self, step: Callable[[Any], Any]) -> Any:
        pool: Any = self._redis.connection_pool
        try:
            connection = pool.get_connection()
            try:
                return step(connection)
            except BaseException:
                connection.disconnect()  # No answer may be left for the next command.
                raise
            finally:
                pool.release(connection)
        except redis.RedisError as error:
            if not _passes(error):
                raise
            raise ConnectionError(f"{_UNREADABLE}: {error}") from error


_GONE_FOR_NOW: Final = (RedisConnectionError, RedisTimeoutError, MasterDownError, OutOfMemoryError, ReadOnlyError)
_REFUSALS_FOR_NOW: Final = ("BUSY", "MISCONF", "NOREPLICAS", "UNBLOCKED")
"""Redis runs a script, cannot write its file, lacks its replicas, or has just changed its role."""


def _passes(error: redis.RedisError) -> bool:
    """Whether the same command may succeed later."""
    return isinstance(error, _GONE_FOR_NOW) or str(error).startswith(_REFUSALS_FOR_NOW)


def _as_it_came(answer: Any, **_: Any) -> Any:
    return answer
