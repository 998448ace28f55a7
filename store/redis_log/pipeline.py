"""A connection to Redis that writes commands at once, and hands over replies when they come.

The client opens the connection (address, TLS, password) and reads the replies of the handshake; from then on the socket
is read here. The client's own way to write and read one command costs a task, two timers and six turns of the loop.

Errors  given to ``on_end``, once: Redis has closed the connection, or sent an invalid reply
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import hiredis
import msgspec
import structlog
from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from clearhold.store.data_dir import LogIdentity
from clearhold.store.redis_log.reader import IDENTITY, offset_of, shard_key
from clearhold.store.redis_log.tagged import has_tag, tagged

_CLOSED: Final = "Redis closed the connection."


class Pipeline(asyncio.Protocol):
    """Belongs to one event loop. A refusal of Redis is a reply too: a ``ResponseError``."""

    def __init__(
        self,
        connection: AbstractConnection,
        *,
        on_reply: Callable[[Any], None],
        on_end: Callable[[Exception], None],
    ) -> None:
        """Neither may raise. ``on_end`` is not called after ``close``."""
        self.connection: Final = connection
        self._on_reply, self._on_end = on_reply, on_end
        self._replies = hiredis.Reader(replyError=ResponseError)
        writer: asyncio.StreamWriter = cast("Any", connection)._writer  # noqa: SLF001 - the client offers no transport
        self._transport = writer.transport
        self._former = self._transport.get_protocol()
        self._is_over, self._has_tag = False, has_tag(connection)
        self._transport.set_protocol(self)

    def write(self, commands: bytes) -> None:
        """Send commands; each gets one call of ``on_reply``, in order."""
        if self._transport.is_closing():
            self._end(RedisConnectionError(_CLOSED))
        else:
            self._transport.write(tagged(commands) if self._has_tag else commands)

    def close(self) -> None:
        """Stop sending and handing over."""
        self._is_over = True
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        replies = self._replies
        try:
            replies.feed(data)
            while not self._is_over and (reply := replies.gets()) is not False:
                self._on_reply(reply)
        except hiredis.ProtocolError as error:
            self._end(error)

    def eof_received(self) -> None:
        self._end(RedisConnectionError(_CLOSED))

    def connection_lost(self, exc: Exception | None) -> None:
        self._former.connection_lost(exc)  # The client waits for this when it closes.
        self._end(exc or RedisConnectionError(_CLOSED))

    def _end(self, error: Exception) -> None:
        if not self._is_over:
            self.close()
            self._on_end(error)


AT_LEAST_S: Final = 0.001
HALVED_EVERY_S: Final = 1.0

_MEAN_GAIN: Final = 1 / 8
_DEVIATION_GAIN: Final = 1 / 4
_DEVIATIONS: Final = 4


class AppendTimes:
    """Estimates the time of an append from the last ones, in seconds of one event loop's clock.

    As in RFC 6298: a smoothed mean and four mean deviations. The estimate halves with each second without an append,
    so that one slow moment does not count for long.
    """

    def __init__(self) -> None:
        self._mean, self._deviation, self._noted_at = 0.0, 0.0, 0.0

    def note(self, took_s: float, *, now: float) -> None:
        """Note an append that ended now, confirmed or not."""
        error = took_s - self._mean
        self._deviation += _DEVIATION_GAIN * (abs(error) - self._deviation)
        self._mean += _MEAN_GAIN * error
        self._noted_at = now

    def expected_s(self, *, now: float) -> float:
        """The time to allow for an append that begins now."""
        quiet_s = max(0.0, now - self._noted_at)
        kept = math.exp2(-quiet_s / HALVED_EVERY_S)
        return max(AT_LEAST_S, kept * (self._mean + _DEVIATIONS * self._deviation))


def command(*words: str | int | bytes) -> bytes:
    packed: bytes = pack_command(words)  # type: ignore[arg-type]  # Its stub allows one word only
    return packed


def first_error(reply: Any) -> ResponseError | None:
    """An EXEC answers with a list, in which a command that failed stands as an error."""
    parts = reply if isinstance(reply, list) else []
    return next((part for part in parts if isinstance(part, ResponseError)), None)


log = structlog.get_logger()


class OtherLogError(RedisConnectionError):
    """This Redis does not have our log, or not all of it."""


class SameLog:
    """Checks that a new connection of the appender leads to the same log as before.

    A Redis whose disk was exchanged answers like any other, and its confirmed entries would be in a separate log.
    """

    def __init__(self, identity: LogIdentity) -> None:
        self._identity = identity
        self._is_other = False

    async def require(self, connection: AbstractConnection, last: Sequence[int]) -> None:
        """``last`` is the highest confirmed offset of each shard, 0 without one."""
        shards = [shard for shard, offset in enumerate(last) if offset]
        questions = [("GET", IDENTITY), *(("XINFO", "STREAM", shard_key(shard)) for shard in shards)]
        await connection.send_packed_command(connection.pack_commands(questions))
        missing = "id" if not self._is_ours(await connection.read_response(disable_decoding=True)) else None
        for shard in shards:
            if await _tail(connection) < last[shard]:
                missing = missing or f"shard {shard}"
        self._note(missing)
        if missing is not None:
            raise OtherLogError("Redis no longer has the log that it had.")

    def _is_ours(self, stored: bytes | None) -> bool:
        return stored is not None and msgspec.json.decode(stored, type=LogIdentity) == self._identity

    def _note(self, missing: str | None) -> None:
        """Log one line when the log is gone, and one when it is back."""
        if (missing is not None) != self._is_other:
            self._is_other = missing is not None
            if missing is None:
                log.warning("log_is_back")
            else:
                log.error("log_is_gone", missing=missing)


class LastConnection:
    """Ends the former connection of the appender in Redis before a new one is used: entries that are still on their way
    there would come behind later ones, as if they had been moved.
    """

    def __init__(self) -> None:
        self._former: dict[bytes | None, Any] = {}  # the last connection to each run of a server

    @property
    def is_certain(self) -> bool:
        """Whether nothing of a former connection can still arrive; a server that names no run shows it never."""
        return None not in self._former

    async def replace_by(self, connection: AbstractConnection) -> None:
        questions = (("INFO", "server"), ("CLIENT", "ID"))
        await connection.send_packed_command(connection.pack_commands(questions))
        about = await connection.read_response(disable_decoding=True)
        run, number = _run_id(about), await connection.read_response()
        if run is not None and run in self._former:  # each run of a server counts from 1
            await connection.send_command("CLIENT", "KILL", "ID", self._former[run])
            await connection.read_response()
        self._former[run] = number


def _run_id(about: bytes) -> bytes | None:
    """Of one run of one server, from INFO; None for a server that does not say it."""
    return next((line for line in about.splitlines() if line.startswith(b"run_id:")), None)


async def _tail(connection: AbstractConnection) -> int:
    """The offset of the newest entry ever appended, from the answer to XINFO STREAM; 0 without a stream."""
    try:
        about = await connection.read_response(disable_decoding=True)
    except ResponseError:
        return 0
    return offset_of(dict(zip(about[::2], about[1::2], strict=True))[b"last-generated-id"])
