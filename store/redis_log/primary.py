"""Where the log's primary is: the Sentinels that know it are asked for each new connection.

redis+sentinel://[USER:PASSWORD@]HOST[:26379],HOST[:26379],…/NAME[?OPTION=…]; rediss+sentinel:// with TLS to all of them

A server that is named is asked for its role, so that a former primary which is a replica by now is not taken for one. A
connection to a server that turns out to be a replica later is closed at its first refusal, and the next one asks again.

Options  those of ``redis://`` for the servers, such as ``db`` and ``ssl_ca_certs``; ``sentinel_user`` and
         ``sentinel_password`` for the Sentinels, which have other users
Errors   ``ValueError`` for an address that is not of this form, without its contents; ``NoPrimaryError`` while no
         Sentinel names a server that can be reached and is a primary
"""

from contextlib import closing
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import redis
import redis.asyncio
from redis.asyncio.connection import Connection as AsyncConnection
from redis.asyncio.connection import SSLConnection as AsyncSSLConnection
from redis.connection import Connection, SSLConnection, parse_url
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisError

SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")
SENTINEL_PORT: Final = 26_379
ASKED_WITHIN_S: Final = 0.5
"""For one Sentinel, which may hang."""

_FORM: Final = "must be as redis+sentinel://HOST:26379,HOST:26379/NAME"
_QUESTION: Final = ("SENTINEL", "GET-MASTER-ADDR-BY-NAME")
_DEMOTED: Final = "This server is a replica by now."


class NoPrimaryError(RedisConnectionError):
    """There is no primary that can be reached."""


class Finder:
    """The Sentinels of a primary, for threads or for one event loop. The one that answered last is asked first."""

    def __init__(self, sentinels: list[tuple[str, int]], name: str, arguments: dict[str, Any]) -> None:
        """``arguments`` are those of a client of the Sentinels."""
        within = {"socket_connect_timeout": ASKED_WITHIN_S, "socket_timeout": ASKED_WITHIN_S}
        self._sentinels, self._name, self._arguments = sentinels, name, arguments | within

    def address(self) -> tuple[str, int]:
        """The primary's host and port."""
        for sentinel in tuple(self._sentinels):
            try:
                with closing(redis.Redis(*sentinel, **self._arguments)) as client:
                    answer = client.execute_command(*_QUESTION, self._name)
            except (RedisError, OSError):
                continue
            if answer:
                return self._noted(sentinel, answer)
        raise self._refusal()

    async def address_async(self) -> tuple[str, int]:
        """As ``address``."""
        for sentinel in tuple(self._sentinels):
            try:
                async with redis.asyncio.Redis(host=sentinel[0], port=sentinel[1], **self._arguments) as client:
                    answer = await client.execute_command(*_QUESTION, self._name)
            except (RedisError, OSError):
                continue
            if answer:
                return self._noted(sentinel, answer)
        raise self._refusal()

    def _noted(self, sentinel: tuple[str, int], answer: Any) -> tuple[str, int]:
        self._sentinels = [sentinel, *(each for each in self._sentinels if each != sentinel)]
        host, port = answer
        return host.decode() if isinstance(host, bytes) else str(host), int(port)

    def _refusal(self) -> NoPrimaryError:
        hosts = ", ".join(f"{host}:{port}" for host, port in self._sentinels)
        return NoPrimaryError(f"No Sentinel of {hosts} answers with a primary named {self._name}.")


class SentinelAddress(NamedTuple):
    """A parsed address: the Sentinels, the arguments of a connection to a server, and whether all use TLS."""

    finder: Finder
    arguments: dict[str, Any]
    is_tls: bool


def is_sentinel(target: object) -> bool:
    return isinstance(target, str) and target.partition("://")[0] in SCHEMES


def sentinel_address(target: str) -> SentinelAddress:
    """Parse an address."""
    url = urlsplit(target)
    userinfo, at, hosts = url.netloc.rpartition("@")
    name, options = unquote(url.path.strip("/")), dict(parse_qsl(url.query))
    sentinels = [_host_of(each) for each in hosts.split(",") if each]
    if url.scheme not in SCHEMES or not name or "/" in name or not sentinels:
        raise ValueError(_FORM)
    is_tls = url.scheme == SCHEMES[1]
    user = {"username": options.pop("sentinel_user", None), "password": options.pop("sentinel_password", None)}
    plain = f"{'rediss' if is_tls else 'redis'}://{userinfo}{at}primary/?{urlencode(options)}"
    arguments = {key: value for key, value in parse_url(plain).items() if key not in {"host", "connection_class"}}
    tls = {key: value for key, value in arguments.items() if key.startswith("ssl_")}
    return SentinelAddress(Finder(sentinels, name, {"ssl": is_tls, **tls, **user}), dict(arguments), is_tls)


def _host_of(text: str) -> tuple[str, int]:
    """From ``host``, ``host:port`` or ``[address]:port``."""
    split = urlsplit(f"//{text}")
    if not split.hostname:
        raise ValueError(_FORM)
    return split.hostname, split.port or SENTINEL_PORT


def primary_sync(target: str, **options: Any) -> redis.Redis:
    """A client for threads; ``options`` are those of its connections."""
    address = sentinel_address(target)
    kind = _FoundByTls if address.is_tls else _Found
    pool = redis.ConnectionPool(connection_class=kind, finder=address.finder, **address.arguments | options)
    return redis.Redis.from_pool(pool)


def primary_async(target: str, **options: Any) -> redis.asyncio.Redis:
    """As ``primary_sync``, for an event loop."""
    address = sentinel_address(target)
    kind = _FoundAsyncByTls if address.is_tls else _FoundAsync
    arguments = address.arguments | options
    pool = redis.asyncio.ConnectionPool(connection_class=kind, finder=address.finder, **arguments)
    return redis.asyncio.Redis.from_pool(pool)


def _require_primary(role: Any) -> None:
    if role[0] != b"master":
        raise NoPrimaryError(_DEMOTED)


class _Found(Connection):
    """A connection that looks for the primary first."""

    def __init__(self, *, finder: Finder, **arguments: Any) -> None:
        self._finder = finder
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

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().read_response(*arguments, **options)
        except ReadOnlyError as error:
            own: Any = self
            own.disconnect()
            raise NoPrimaryError(_DEMOTED) from error


class _FoundByTls(_Found, SSLConnection):
    """As ``_Found``."""


class _FoundAsync(AsyncConnection):
    """As ``_Found``, on an event loop."""

    def __init__(self, *, finder: Finder, **arguments: Any) -> None:
        self._finder = finder
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

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*arguments, **options)
        except ReadOnlyError as error:
            await self.disconnect(nowait=True)
            raise NoPrimaryError(_DEMOTED) from error


class _FoundAsyncByTls(_FoundAsync, AsyncSSLConnection):
    """As ``_FoundAsync``."""
