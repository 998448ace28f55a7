"""Connections to addresses that bank's own configuration names, which must not reach anything of ours.

name ─▶ resolved once ─▶ every answer checked ─▶ connected to a checked address, by its number

So a name that answers differently the next time changes nothing; host header, server name and certificate stay those of
the name. This is done again for each attempt, because no connection is kept.

Unit    seconds
Errors  UnresolvedError and BlockedAddressError of its own; TimeoutError; the rest is httpcore's
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from threading import Thread
from typing import Any, Final

import httpcore

from features.webhooks.addresses import is_blocked

CONNECT_WITHIN_S: Final = 5.0
LOOKUPS_AT_ONCE: Final = 64
_MOST_ADDRESSES: Final = 8

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a host name; UnresolvedError when there is none."""


class UnresolvedError(Exception):
    """The domain name system has no address for the host."""


class BlockedAddressError(Exception):
    """The host has an address that nothing is sent to."""


class Resolver:
    """Looks names up on threads of its own, which no stop waits for. Belongs to one event loop.

    Deliveries to one host share a look-up that is under way, so that a name server that hangs holds up its own alone.
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
            lookup.exception()  # whoever waited has it, and everybody may have left

    async def _look_up(self, host: str, port: int) -> Sequence[str]:
        async with self._slots:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[Sequence[str]] = loop.create_future()

            def look_up() -> None:
                addresses = _addresses_of(host, port)
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    loop.call_soon_threadsafe(_give, answer, addresses)

            Thread(target=look_up, name="webhook-lookup", daemon=True).start()
            return await answer


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses alone, and to this machine where ``allow_local`` says so."""

    def __init__(
        self, resolve: Resolve, *, allow_local: bool, network: httpcore.AsyncNetworkBackend | None = None
    ) -> None:
        self._resolve, self._allow_local = resolve, allow_local
        self._network = network or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        async with asyncio.timeout(CONNECT_WITHIN_S if timeout is None else timeout):
            addresses = await self._resolve(host, port)
            if any(is_blocked(address, allow_local=self._allow_local) for address in addresses):
                raise BlockedAddressError
            return await self._connect_to_first(addresses, port, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002 - httpcore's own signature
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - as above
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore.AsyncNetworkStream:
        raise BlockedAddressError

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _connect_to_first(
        self, addresses: Sequence[str], port: int, local_address: str | None, socket_options: Iterable[Any] | None
    ) -> httpcore.AsyncNetworkStream:
        """Of several addresses, the first that takes the connection."""
        failure: Exception = UnresolvedError()
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                return await self._network.connect_tcp(
                    address, port, local_address=local_address, socket_options=socket_options
                )
            except httpcore.ConnectError as error:
                failure = error
        raise failure


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _addresses_of(host: str, port: int) -> Sequence[str] | None:
    """On a thread of its own; None for a name without an address."""
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
