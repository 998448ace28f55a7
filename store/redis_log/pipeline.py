"""A connection to Redis that writes commands at once, and hands over replies when they come.

The client opens the connection (address, TLS, password) and reads the replies of the handshake; from then on the socket
is read here. The client's own way to write and read one command costs a task, two timers and six turns of the loop.

Errors  given to ``on_end``, once: Redis has closed the connection, or sent an invalid reply
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

import hiredis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

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
        self._is_over = False
        self._transport.set_protocol(self)

    def write(self, commands: bytes) -> None:
        """Send commands; each gets one call of ``on_reply``, in order."""
        if self._transport.is_closing():
            self._end(RedisConnectionError(_CLOSED))
        else:
            self._transport.write(commands)

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
