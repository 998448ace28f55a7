"""HTTP/1.1 to servers that are not trusted: the transport of an ``httpx.AsyncClient``.

httptools parses the answers. The transport of httpx parses them in Python: a server that sends a byte a chunk, interim
answers without an end, or thousands of headers would hold the event loop for a quarter of a second at a time. Here an
answer takes the event loop for a millisecond at a time, and its head is bounded. Connections are kept for a short
while. One with bytes that answer no request, such as a late 408, is not used again.

The caller limits the time of a request and the size of a body.

Errors  httpx.ConnectError; httpx.RemoteProtocolError for an answer that is no HTTP, ends midway or has a too large head
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Final, cast

import httptools
import httpx

MOST_HEAD_BYTES: Final = 65_536
"""The head of an answer and all interim answers before it."""

MOST_HEADERS: Final = 256
READ_BYTES: Final = 16_384
KEPT_S: Final = 5.0
_EARLY_S: Final = 0.1  # no timer fires earlier by as much
_PORTS: Final = {"https": 443, "http": 80}
_FIRST_FINAL: Final = 200

Origin = tuple[str, str, int]


@cache
def usual_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


class BoundedTransport(httpx.AsyncBaseTransport):
    """At most ``connections`` connections at a time; a further request waits for one. Belongs to one event loop.

    ``authorities`` None: the usual ones sign the servers' certificates.
    """

    def __init__(self, connections: int, authorities: ssl.SSLContext | None = None) -> None:
        self._authorities = authorities
        self._slots = asyncio.Semaphore(connections)
        self._kept: dict[Origin, list[_Connection]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer up to its head."""
        content = _head_of(request) + await request.aread()
        url = request.url
        origin = (url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])
        await self._slots.acquire()
        try:
            connection = self._kept_connection(origin) or await _connected(origin, self._authorities)
            answer = await _answer_to(content, connection)
        except BaseException:
            self._slots.release()
            raise
        body = _Body(self, origin, connection, answer)
        return httpx.Response(answer.status, headers=answer.headers, stream=body)

    async def aclose(self) -> None:
        for connections in self._kept.values():
            for connection in connections:
                connection.transport.abort()
        self._kept.clear()

    def _kept_connection(self, origin: Origin) -> "_Connection | None":
        kept = self._kept.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.is_unused_for_less_than(KEPT_S):
                return connection
            connection.transport.abort()
        return None

    def _end_unused(self, origin: Origin) -> None:
        for connection in list(self._kept.get(origin, ())):
            if not connection.is_unused_for_less_than(KEPT_S):
                self._kept[origin].remove(connection)
                connection.transport.abort()
        if not self._kept.get(origin):
            self._kept.pop(origin, None)

    def release(self, origin: Origin, connection: "_Connection", *, keep: bool) -> None:
        """After an answer: keep its connection, or end it."""
        if keep:
            loop = asyncio.get_running_loop()
            connection.idle_since = loop.time()
            self._kept.setdefault(origin, []).append(connection)
            loop.call_later(KEPT_S + _EARLY_S, self._end_unused, origin)
        else:
            connection.transport.abort()
        self._slots.release()


class _Connection(asyncio.Protocol):
    """Keeps received bytes until they are read; stops receiving while there are enough for a read."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._came, self._news = bytearray(), asyncio.Event()
        self._has_ended = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._came += data
        if len(self._came) >= READ_BYTES:
            self.transport.pause_reading()
        self._news.set()

    def eof_received(self) -> None:
        self._has_ended = True
        self._news.set()

    def connection_lost(self, _: Exception | None) -> None:
        self.eof_received()

    def is_unused_for_less_than(self, seconds: float) -> bool:
        """Whether nothing came since its last answer, not even an end."""
        is_young = asyncio.get_running_loop().time() - self.idle_since < seconds
        return is_young and not self._came and not self._has_ended

    async def read(self) -> bytes:
        """Some bytes, b"" at the end; the event loop has a turn before each read."""
        await asyncio.sleep(0)
        while not self._came and not self._has_ended:
            self._news.clear()
            await self._news.wait()
        part = bytes(self._came[:READ_BYTES])
        del self._came[:READ_BYTES]
        if len(self._came) < READ_BYTES and not self._has_ended:
            self.transport.resume_reading()
        return part


class _ReadAnswer:
    """An answer as parsed so far; ``taken`` gives the parts of its body once."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = self.has_surplus = self._keeps_connection = False
        self._body: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, part: bytes) -> None:
        try:
            self._parser.feed_data(part)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise httpx.RemoteProtocolError("This is no answer.") from error

    def taken(self) -> bytes:
        body, self._body = b"".join(self._body), []
        return body

    @property
    def ends_with_connection(self) -> bool:
        return not any(name.lower() in {b"content-length", b"transfer-encoding"} for name, _ in self.headers)

    @property
    def leaves_connection_usable(self) -> bool:
        return self._keeps_connection and not self.has_surplus

    def on_message_begin(self) -> None:
        self.has_surplus = self.is_complete  # bytes behind the answer

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:
            return  # a trailer
        if len(self.headers) >= MOST_HEADERS:
            raise ValueError("too many headers")
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The first head counts that is not an interim one (1xx)."""
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL:
            self.headers.clear()
        elif not self.status:
            self.status = status

    def on_body(self, part: bytes) -> None:
        if not self.has_surplus:
            self._body.append(part)

    def on_message_complete(self) -> None:
        if self.status and not self.is_complete:
            self.is_complete, self._keeps_connection = True, self._parser.should_keep_alive()


class _Body(httpx.AsyncByteStream):
    def __init__(self, pool: BoundedTransport, origin: Origin, connection: _Connection, answer: _ReadAnswer) -> None:
        self._pool, self._origin, self._connection, self._answer = pool, origin, connection, answer
        self._is_open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            if part := self._answer.taken():
                yield part
            if self._answer.is_complete:
                return
            came = await self._connection.read()
            if not came and self._answer.ends_with_connection:
                return
            if not came:
                raise httpx.RemoteProtocolError("The answer ends midway.")
            self._answer.feed(came)

    async def aclose(self) -> None:
        if self._is_open:
            self._is_open = False
            self._pool.release(self._origin, self._connection, keep=self._answer.leaves_connection_usable)


def _head_of(request: httpx.Request) -> bytes:
    line = b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)
    return b"\r\n".join([line, *(b"%s: %s" % header for header in request.headers.raw), b"", b""])


async def _connected(origin: Origin, authorities: ssl.SSLContext | None) -> _Connection:
    scheme, host, port = origin
    certificates = (authorities or usual_authorities()) if scheme == "https" else None
    try:
        _, connection = await asyncio.get_running_loop().create_connection(_Connection, host, port, ssl=certificates)
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error
    return connection


async def _answer_to(content: bytes, connection: _Connection) -> _ReadAnswer:
    """Send the request; the answer up to its head."""
    try:
        connection.transport.write(content)
        return await _head_on(connection)
    except BaseException:
        connection.transport.abort()
        raise


async def _head_on(connection: _Connection) -> _ReadAnswer:
    answer, size = _ReadAnswer(), 0
    while not answer.status:
        part = await connection.read()
        size += len(part)
        if not part or size > MOST_HEAD_BYTES:
            raise httpx.RemoteProtocolError("The answer has no head, or too large a one.")
        answer.feed(part)
    return answer
