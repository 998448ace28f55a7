"""Connections to the log's primary, each of which looks for it first (``finders.py``).

A server that is named is asked for its role, so that a former primary which is a replica by now is not taken for one. A
connection is closed when its server refuses because it is no longer the primary, and the next one asks again. To a
cluster, all commands are sent with tagged keys.

Errors   ``ValueError`` for an address that is not of the forms; ``NoPrimaryError`` while there is no primary that can
         be reached, or the slot of the log is being moved
"""

from collections.abc import Iterable
from typing import Any, Final

import redis
import redis.asyncio
from redis.asyncio.connection import Connection as AsyncConnection
from redis.asyncio.connection import SSLConnection as AsyncSSLConnection
from redis.connection import Connection, SSLConnection
from redis.exceptions import AskError, ClusterDownError, MovedError, ReadOnlyError, TryAgainError

from clearhold.store.redis_log.finders import ClusterNodes, Finder, NoPrimaryError, primary_address
from clearhold.store.redis_log.tagged import tagged

_DEMOTED: Final = "This server is a replica by now."
_ELSEWHERE: Final = (ReadOnlyError, AskError, ClusterDownError, MovedError, TryAgainError)


def primary_sync(target: str, **options: Any) -> redis.Redis:
    """A client for threads; ``options`` are those of its connections."""
    address = primary_address(target)
    kind = _FoundByTls if address.is_tls else _Found
    pool = redis.ConnectionPool(connection_class=kind, finder=address.finder, **address.arguments | options)
    return redis.Redis.from_pool(pool)


def primary_async(target: str, **options: Any) -> redis.asyncio.Redis:
    """As ``primary_sync``, for an event loop."""
    address = primary_address(target)
    kind = _FoundAsyncByTls if address.is_tls else _FoundAsync
    arguments = address.arguments | options
    pool = redis.asyncio.ConnectionPool(connection_class=kind, finder=address.finder, **arguments)
    return redis.asyncio.Redis.from_pool(pool)


def _require_primary(role: Any) -> None:
    if role[0] != b"master":
        raise NoPrimaryError(_DEMOTED)


def _not_here(error: Exception) -> NoPrimaryError:
    if isinstance(error, ReadOnlyError):
        return NoPrimaryError(_DEMOTED)
    return NoPrimaryError(f"This node does not serve the slot of the log now: {error}")


def _joined(packed: bytes | str | Iterable[bytes]) -> bytes:
    if isinstance(packed, str):
        return packed.encode()
    return packed if isinstance(packed, bytes) else b"".join(packed)


class _Found(Connection):
    """A connection that looks for the primary first."""

    def __init__(self, *, finder: Finder, **arguments: Any) -> None:
        self._finder, self.has_tag = finder, isinstance(finder, ClusterNodes)
        client: Any = super()
        client.__init__(**arguments)

    def connect(self) -> None:
        own: Any = self
        client: Any = super()
        if own._sock is not None:  # noqa: SLF001 - the client does not say whether it is connected
            return
        own.host, own.port = self._finder.address()
        client.connect()
        try:
            own.send_command("ROLE")
            _require_primary(own.read_response(disable_decoding=True))
        except BaseException:
            own.disconnect()
            raise

    def send_packed_command(self, command: bytes | str | Iterable[bytes], *arguments: Any, **options: Any) -> None:
        client: Any = super()
        client.send_packed_command([tagged(_joined(command))] if self.has_tag else command, *arguments, **options)

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().read_response(*arguments, **options)
        except _ELSEWHERE as error:
            own: Any = self
            own.disconnect()
            raise _not_here(error) from error


class _FoundByTls(_Found, SSLConnection):
    """As ``_Found``."""


class _FoundAsync(AsyncConnection):
    """As ``_Found``, on an event loop."""

    def __init__(self, *, finder: Finder, **arguments: Any) -> None:
        self._finder, self.has_tag = finder, isinstance(finder, ClusterNodes)
        client: Any = super()
        client.__init__(**arguments)

    async def connect(self) -> None:
        if self.is_connected:
            return
        self.host, self.port = await self._finder.address_async()
        client: Any = super()
        await client.connect()
        try:
            await self.send_command("ROLE")
            _require_primary(await self.read_response(disable_decoding=True))
        except BaseException:
            await self.disconnect(nowait=True)
            raise

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], *arguments: Any, **options: Any
    ) -> None:
        sent = [tagged(_joined(command))] if self.has_tag else command
        await super().send_packed_command(sent, *arguments, **options)

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*arguments, **options)
        except _ELSEWHERE as error:
            await self.disconnect(nowait=True)
            raise _not_here(error) from error


class _FoundAsyncByTls(_FoundAsync, AsyncSSLConnection):
    """As ``_FoundAsync``."""
