"""Connections to addresses from a bank's configuration, which must not reach our own network.

name ─▶ resolved once ─▶ every answer checked ─▶ connected to a checked address, by its number

So a name that resolves differently the next time changes nothing; host header, server name and certificate remain those
of the name. Each attempt does all of this, because no connection is kept.

Unit    seconds
Errors  UnresolvedError; BlockedAddressError; TimeoutError; ssl.SSLError; OSError
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from threading import Thread
from typing import Any, Final

from clearhold.features.webhooks.urls import is_blocked

CONNECT_WITHIN_S: Final = 5.0
CLOSED_WITHIN_S: Final = 1.0
BUFFERED_BYTES: Final = 4_096
LOOKUPS_AT_ONCE: Final = 64
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
