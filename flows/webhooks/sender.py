"""One attempt to deliver: sends the bytes to a checked address, and reads the status of the answer, nothing else.

name ─▶ resolved once ─▶ every answer checked ─▶ connected to a checked address, by its number ─▶ sent

Addresses come from a bank's configuration and must not reach our own network. A name that resolves differently the next
time changes nothing; host header, server name and certificate remain those of the name. No redirects, no cookies, no
proxy of the environment, no compression, one connection an attempt. It writes the request and parses the answer itself,
because a full client takes eight times as long.

Unit    seconds
Errors  none of ``Sender``: every failure is an outcome. UnresolvedError, BlockedAddressError, TimeoutError,
        ssl.SSLError and OSError of ``GuardedNetwork``
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from threading import Thread
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import httptools

from clearhold.features.webhooks.delivery import Attempt, AttemptError, answered, is_blocked
from clearhold.flows.running.bounded_http import usual_authorities

CONNECT_WITHIN_S: Final = 5.0
CLOSED_WITHIN_S: Final = 1.0
BUFFERED_BYTES: Final = 4_096
LOOKUPS_AT_ONCE: Final = 256
"""No fewer than the attempts in flight: a look-up that hangs outlasts its attempt, and must not delay the others."""

_MOST_ADDRESSES: Final = 8

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]

OpenStream = Callable[..., Awaitable[Stream]]
"""Connects to an address and a port, as ``asyncio.open_connection`` does."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a host name; UnresolvedError without one."""


class UnresolvedError(Exception):
    """The domain name system has no address for the host."""


class BlockedAddressError(Exception):
    """The host has a blocked address."""


class Resolver:
    """Looks names up on separate threads, which do not delay a stop. Belongs to one event loop.

    Deliveries to one host share its look-up, so a name server that hangs holds up only its hosts.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[str, int], asyncio.Future[Sequence[str]]] = {}
        self._slots = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        if _is_address(host):
            return (host,)
        lookup = self._under_way.get((host, port))
        if lookup is None:
            lookup = self._under_way[host, port] = asyncio.ensure_future(self._look_up(host, port))
            lookup.add_done_callback(lambda done: self._finished(host, port, done))
        return await asyncio.shield(lookup)

    def _finished(self, host: str, port: int, lookup: asyncio.Future[Sequence[str]]) -> None:
        del self._under_way[host, port]
        if not lookup.cancelled():
            lookup.exception()  # retrieved: it may have no caller left

    async def _look_up(self, host: str, port: int) -> Sequence[str]:
        async with self._slots:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[Sequence[str]] = loop.create_future()

            def look_up() -> None:
                addresses = _addresses_of(host, port)
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(_give, answer, addresses)

            Thread(target=look_up, name="webhook-lookup", daemon=True).start()
            return await answer


class GuardedNetwork:
    """Connects to public addresses only, and to this machine with ``allow_local``."""

    def __init__(
        self, resolve: Resolve, *, allow_local: bool, open_stream: OpenStream = asyncio.open_connection
    ) -> None:
        self._resolve, self._allow_local, self._open = resolve, allow_local, open_stream

    async def connect(self, host: str, port: int, *, certificates: ssl.SSLContext | None) -> Stream:
        """A stream to one of the host's addresses, encrypted if ``certificates`` are given."""
        over_tls: dict[str, Any] = {}
        if certificates is not None:
            over_tls = {"ssl": certificates, "server_hostname": host, "ssl_shutdown_timeout": CLOSED_WITHIN_S}
        async with asyncio.timeout(CONNECT_WITHIN_S):
            addresses = await self._resolve(host, port)
            if any(is_blocked(address, allow_local=self._allow_local) for address in addresses):
                raise BlockedAddressError
            return await self._connect_to_first(addresses, port, over_tls)

    async def _connect_to_first(self, addresses: Sequence[str], port: int, over_tls: Mapping[str, Any]) -> Stream:
        """The first address that accepts."""
        failure: Exception = UnresolvedError()
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                return await self._open(address, port, limit=BUFFERED_BYTES, **over_tls)
            except ssl.SSLError:
                raise
            except OSError as error:
                failure = error
        raise failure


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _addresses_of(host: str, port: int) -> Sequence[str] | None:
    """On the look-up's thread; None for a name without an address."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return tuple(dict.fromkeys(str(address[0]) for *_, address in answers)) or None


def _give(answer: asyncio.Future[Sequence[str]], addresses: Sequence[str] | None) -> None:
    if answer.done():
        return
    if addresses is None:
        answer.set_exception(UnresolvedError())
    else:
        answer.set_result(addresses)


ATTEMPT_WITHIN_S: Final = 15.0
MOST_HEAD_BYTES: Final = 65_536
READ_BYTES: Final = 4_096
"""The most bytes of an answer's body that are read, and dropped, so that its sender can end it."""

READ_WITHIN_S: Final = 1.0
_PORTS: Final = {"https": 443, "http": 80}
_FIRST_FINAL: Final = 200
_NO_STATUS: Final = 0


class _NoAnswerError(Exception):
    """The answer has no valid head."""


class Sender:
    """Belongs to one event loop. ``certificates`` None: the system's authorities."""

    def __init__(self, network: GuardedNetwork, *, certificates: ssl.SSLContext | None = None) -> None:
        self._network = network
        self._certificates = certificates or usual_authorities()

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        """POST the body; the outcome follows from the status, which must come within an attempt's time."""
        try:
            async with asyncio.timeout(ATTEMPT_WITHIN_S):
                stream, answer = await self._post(urlsplit(url), headers, body)
        except TimeoutError:
            return Attempt(None, AttemptError.TIMEOUT)
        except UnresolvedError:
            return Attempt(None, AttemptError.DNS)
        except BlockedAddressError:
            return Attempt(None, AttemptError.BLOCKED_ADDRESS)
        except ssl.SSLError:
            return Attempt(None, AttemptError.TLS)
        except (OSError, _NoAnswerError):
            return Attempt(None, AttemptError.CONNECTION)
        await _end(stream, answer)
        return answered(answer.status)

    async def _post(self, url: SplitResult, headers: Mapping[str, str], body: bytes) -> tuple[Stream, "_Answer"]:
        """The open stream, and the answer up to its status."""
        certificates = self._certificates if url.scheme == "https" else None
        port = url.port or _PORTS[url.scheme]
        reader, writer = await self._network.connect(url.hostname or "", port, certificates=certificates)
        try:
            writer.write(_request(url, headers, body))
            with contextlib.suppress(ConnectionError):  # a receiver that hangs up may have answered before
                await writer.drain()
            answer = await _answer_on(reader)
        except BaseException:
            writer.transport.abort()
            raise
        return (reader, writer), answer


class _Answer:
    """The head of an answer and the length of its body, as parsed so far."""

    def __init__(self) -> None:
        self.status = _NO_STATUS
        self.body_bytes = 0
        self.is_complete = False
        self._parser = httptools.HttpResponseParser(self)
        # Lenient: of one answer a connection only the status counts, and no second message is read.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_chunked_length=True)

    @property
    def has_status(self) -> bool:
        return self.status != _NO_STATUS

    def feed(self, part: bytes) -> None:
        try:
            self._parser.feed_data(part)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.has_status:
                raise _NoAnswerError from error
            self.is_complete = True  # the rest cannot be parsed

    def on_headers_complete(self) -> None:
        """The first head counts that is not an interim one (1xx)."""
        status = self._parser.get_status_code()
        if not self.has_status and status >= _FIRST_FINAL:
            self.status = status

    def on_body(self, part: bytes) -> None:
        self.body_bytes += len(part)

    def on_message_complete(self) -> None:
        self.is_complete = self.has_status


async def _answer_on(reader: asyncio.StreamReader) -> _Answer:
    """The answer up to its status."""
    answer, size = _Answer(), 0
    while not answer.has_status:
        part = await reader.read(READ_BYTES)
        size += len(part)
        if not part or size > MOST_HEAD_BYTES:
            raise _NoAnswerError
        answer.feed(part)
    return answer


async def _end(stream: Stream, answer: _Answer) -> None:
    """Read a little more, so that the receiver can end its answer, and close.

    The status is known: errors in the rest change nothing.
    """
    reader, writer = stream
    try:
        await _read_a_little(reader, answer)
    except BaseException:
        writer.transport.abort()
        raise
    writer.close()


async def _read_a_little(reader: asyncio.StreamReader, answer: _Answer) -> None:
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(READ_WITHIN_S):
            while not answer.is_complete and answer.body_bytes < READ_BYTES:
                part = await reader.read(READ_BYTES)
                if not part:
                    return
                answer.feed(part)


def _request(url: SplitResult, headers: Mapping[str, str], body: bytes) -> bytes:
    """The bytes of the request. The URL was checked at registration: printable ASCII without spaces."""
    target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    fields = {"Host": url.netloc, **headers, "Content-Length": str(len(body)), "Connection": "close"}
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + body
