"""Where the log's primary is: the Sentinels of a primary, or the nodes of a cluster, which know it.

redis+sentinel://[USER:PASSWORD@]HOST[:26379],HOST[:26379],…/NAME[?OPTION=…]
redis+cluster://[USER:PASSWORD@]HOST[:6379],HOST[:6379],…[?OPTION=…]
rediss+…:// with TLS to all of them

A node of a cluster that lacks the majority does not count: what it knows may be old.

Options  those of ``redis://`` for the servers, such as ``db`` and ``ssl_ca_certs``; ``sentinel_user`` and
         ``sentinel_password`` for the Sentinels, which have other users
Errors   ``ValueError`` for an address that is not of these forms, without its contents; ``NoPrimaryError`` while none
         of them names a primary
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import redis
import redis.asyncio
from redis.connection import parse_url
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from clearhold.store.redis_log.tagged import SLOT

ASKED_WITHIN_S: Final = 0.5
"""For one Sentinel or node, which may hang."""

_SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
_CLUSTER: Final = ("redis+cluster", "rediss+cluster")
_SENTINEL_PORT: Final = 26_379
_CLUSTER_PORT: Final = 6_379
_FORM: Final = "must be as redis+sentinel://HOST:26379,HOST:26379/NAME or redis+cluster://HOST:6379,HOST:6379"

Place = tuple[str, int]
"""Host and port."""


class NoPrimaryError(RedisConnectionError):
    """There is no primary that can be reached."""


class Finder(ABC):
    """Servers that know the primary, for threads or for one event loop. The one that answered last is asked first."""

    questions: tuple[tuple[str, ...], ...]

    def __init__(self, servers: list[Place], arguments: dict[str, Any]) -> None:
        """``arguments`` are those of a client of these servers."""
        within = {"socket_connect_timeout": ASKED_WITHIN_S, "socket_timeout": ASKED_WITHIN_S}
        self.servers, self.arguments = servers, arguments | within

    @abstractmethod
    def primary_in(self, answers: Sequence[Any], server: Place) -> Place | None:
        """The primary, from a server's answers to ``questions``; None if it does not know."""

    @abstractmethod
    def refusal(self, servers: str, cause: str) -> str:
        """The sentence when no server names a primary."""

    def address(self) -> Place:
        """The primary's host and port."""
        cause = ""
        for server in tuple(self.servers):
            try:
                with closing(redis.Redis(*server, **self.arguments)) as client:
                    answers = [client.execute_command(*each) for each in self.questions]
            except (RedisError, OSError) as error:
                cause = str(error)
                continue
            if (primary := self.primary_in(answers, server)) is not None:
                return self._noted(server, primary)
        raise self._no_primary(cause)

    async def address_async(self) -> Place:
        """As ``address``."""
        cause = ""
        for server in tuple(self.servers):
            try:
                async with redis.asyncio.Redis(host=server[0], port=server[1], **self.arguments) as client:
                    answers = [await client.execute_command(*each) for each in self.questions]
            except (RedisError, OSError) as error:
                cause = str(error)
                continue
            if (primary := self.primary_in(answers, server)) is not None:
                return self._noted(server, primary)
        raise self._no_primary(cause)

    def _noted(self, server: Place, primary: Place) -> Place:
        self.servers = [server, *(each for each in self.servers if each != server)]
        return primary

    def _no_primary(self, cause: str) -> NoPrimaryError:
        return NoPrimaryError(self.refusal(", ".join(f"{host}:{port}" for host, port in self.servers), cause))


class Sentinels(Finder):
    """Those of one primary."""

    def __init__(self, servers: list[Place], name: str, arguments: dict[str, Any]) -> None:
        super().__init__(servers, arguments)
        self.name, self.questions = name, (("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name),)

    def primary_in(self, answers: Sequence[Any], server: Place) -> Place | None:  # noqa: ARG002 - for clusters
        (primary,) = answers
        return None if primary is None else (_text(primary[0]), int(primary[1]))

    def refusal(self, servers: str, cause: str) -> str:  # noqa: ARG002 - each Sentinel may have another cause
        return f"No Sentinel of {servers} answers with a primary named {self.name}."


class ClusterNodes(Finder):
    """Some of a cluster, whose primary is that of the log's slot."""

    questions = (("CLUSTER", "INFO"), ("CLUSTER", "SLOTS"))

    def primary_in(self, answers: Sequence[Any], server: Place) -> Place | None:
        state, slots = answers
        if "cluster_state:ok" not in _text(state):
            return None
        for first, last, (host, port, *_), *_ in slots:
            if first <= SLOT <= last:
                return _text(host or b"") or server[0], int(port)  # without a host it is the one that was asked
        return None

    def refusal(self, servers: str, cause: str) -> str:
        why = f" ({cause})" if cause else ", or its cluster is down"
        return f"No node of {servers} names the primary of slot {SLOT}{why}."


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


class PrimaryAddress(NamedTuple):
    """A parsed address: who knows the primary, the arguments of a connection to it, and whether all use TLS."""

    finder: Finder
    arguments: dict[str, Any]
    is_tls: bool


def knows_primary(target: object) -> bool:
    """Whether an address is that of servers who know the primary."""
    return isinstance(target, str) and target.partition("://")[0] in {*_SENTINEL, *_CLUSTER}


def is_cluster(target: object) -> bool:
    return isinstance(target, str) and target.partition("://")[0] in _CLUSTER


def primary_address(target: str) -> PrimaryAddress:
    """Parse an address."""
    url = urlsplit(target)
    userinfo, at, hosts = url.netloc.rpartition("@")
    name, options = unquote(url.path.strip("/")), dict(parse_qsl(url.query))
    of_cluster = url.scheme in _CLUSTER
    servers = [_place_of(each, _CLUSTER_PORT if of_cluster else _SENTINEL_PORT) for each in hosts.split(",") if each]
    if not knows_primary(target) or not servers or bool(name) is of_cluster or "/" in name:
        raise ValueError(_FORM)
    is_tls = url.scheme.startswith("rediss")
    user = {"username": options.pop("sentinel_user", None), "password": options.pop("sentinel_password", None)}
    plain = f"{'rediss' if is_tls else 'redis'}://{userinfo}{at}primary/?{urlencode(options)}"
    arguments = {key: value for key, value in parse_url(plain).items() if key not in {"host", "connection_class"}}
    asking = {"ssl": is_tls} | {key: value for key, value in arguments.items() if key.startswith("ssl_")}
    if of_cluster:
        user = {key: arguments.get(key) for key in user}
        return PrimaryAddress(ClusterNodes(servers, asking | user), dict(arguments), is_tls)
    return PrimaryAddress(Sentinels(servers, name, asking | user), dict(arguments), is_tls)


def _place_of(text: str, usual_port: int) -> Place:
    """From ``host``, ``host:port`` or ``[address]:port``."""
    split = urlsplit(f"//{text}")
    if not split.hostname:
        raise ValueError(_FORM)
    return split.hostname, split.port or usual_port
