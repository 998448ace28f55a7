"""The primary that Sentinels know: found, followed over a failover, and never a replica."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import RedisSettingsError, check_external, connect_async, connect_sync
from clearhold.store.redis_log.finders import NoPrimaryError, Sentinels, primary_address
from clearhold.store.redis_log.owner import LogNode, taken
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.replication import replicated
from tests.support.clock import T0
from tests.support.redis_replicas import RedisProcess, free_port, replicated_redis, sentinels
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 4
NAME = "clearhold-log"


class Watched:
    """A primary, two replicas, and three Sentinels."""

    def __init__(self, primary: RedisProcess, replicas: list[RedisProcess], url: str) -> None:
        self.servers, self.url = [primary, *replicas], url

    def port(self) -> int:
        """The port of the server that a new client is led to."""
        with closing(connect_sync(self.url)) as client:
            return int(str(client.config_get("port")["port"]))

    def primary(self) -> RedisProcess:
        (server,) = (each for each in self.servers if each.port == self.port())
        return server


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with replicated_redis(tmp_path, 2) as (primary, replicas), sentinels(tmp_path, primary, NAME) as url:
        yield Watched(primary, replicas, url)


async def test_given_a_killed_primary_when_appended_then_all_that_was_confirmed_is_in_the_promoted_one(
    watched: Watched,
) -> None:
    first = watched.primary()
    ownership = taken(connect_sync(watched.url), LogNode("node_here", "boot"), "here", take_over=True)
    ownership.start(lambda _: None)
    confirmed: list[int] = []
    async with connect_async(watched.url) as client:
        appender = LogAppender(client, shards=SHARDS, ownership=ownership, replicas=1)

        async def append() -> bool:
            try:
                confirmed.append(await appender.append(1, EntryKind.TICK, "prg_1", T0, b"{}"))
            except UnavailableError:
                return False
            return True

        for _ in range(50):
            assert await append()
        killed_at, before = time.monotonic(), len(confirmed)
        first.kill()
        while not await append():
            assert time.monotonic() - killed_at < 15
            await asyncio.sleep(0.05)
        for _ in range(20):
            assert await append()

    assert len(confirmed) == before + 21
    assert watched.port() != first.port
    await asyncio.to_thread(eventually, ownership.is_current)
    with closing(connect_sync(watched.url)) as client_now:
        reader = LogReader(client_now, range(SHARDS), replicas=1)
        assert {*confirmed} <= {entry.offset for entry in reader.entries(1, 0, 2**62, page=100)}
    ownership.release()


def test_given_a_failover_by_hand_then_clients_of_threads_follow_it_and_a_replica_is_never_taken(
    watched: Watched,
) -> None:
    first = watched.primary()
    with ExitStack() as opened:
        client, idle = (opened.enter_context(closing(connect_sync(watched.url))) for _ in range(2))
        assert replicated(client, "INCR", "count", replicas=2, within_s=2) == 1
        assert idle.get("count") == b"1"
        direct = opened.enter_context(closing(first.client()))
        direct.replicaof("127.0.0.1", 1)  # of which no Sentinel knows yet
        with pytest.raises(NoPrimaryError, match="is a replica by now"):
            client.incr("count")
        with pytest.raises(NoPrimaryError):
            connect_sync(watched.url).get("count")
        direct.replicaof("NO", "ONE")
        assert client.incr("count") == 2
        sentinel = opened.enter_context(closing(redis.Redis(*primary_address(watched.url).finder.servers[0])))
        eventually(lambda: fails_over(sentinel), within_s=20)
        eventually(lambda: watched_port(watched) not in {0, first.port}, within_s=20)
        eventually(lambda: counts(client) >= 2, within_s=20)
        assert idle.config_get("port") == client.config_get("port")


def fails_over(sentinel: redis.Redis) -> bool:
    """Whether the Sentinel took the command: it refuses while it knows no replica that is near enough."""
    try:
        sentinel.execute_command("SENTINEL", "FAILOVER", NAME)
    except redis.ResponseError:
        return False
    return True


def watched_port(watched: Watched) -> int:
    try:
        return watched.port()
    except redis.ConnectionError:
        return 0


def counts(client: redis.Redis) -> int:
    try:
        return int(client.incr("count"))
    except redis.ConnectionError:
        return 0


def test_given_sentinels_of_which_one_is_gone_then_the_next_is_asked_and_an_unknown_name_is_refused(
    watched: Watched,
) -> None:
    hosts = watched.url.removeprefix("redis+sentinel://")
    with closing(connect_sync(f"redis+sentinel://127.0.0.1:1,{hosts}")) as client:
        assert client.ping()
        check_external(client)
    unknown = watched.url.removesuffix(NAME) + "another"
    with closing(connect_sync(unknown)) as client, pytest.raises(RedisSettingsError, match="named another"):
        check_external(client)


@pytest.mark.parametrize(
    ("url", "hosts", "arguments", "is_tls"),
    [
        ("redis+sentinel://one/log", [("one", 26379)], {}, False),
        ("redis+sentinel://u:p%40@one:1,[::1]:2/log", [("one", 1), ("::1", 2)], {"password": "p@"}, False),
        ("rediss+sentinel://one/log?db=2&ssl_ca_certs=%2Fca.pem", [("one", 26379)], {"db": 2}, True),
    ],
)
def test_given_an_address_when_read_then_it_has_hosts_name_user_and_options(
    url: str, hosts: list[tuple[str, int]], arguments: dict[str, object], *, is_tls: bool
) -> None:
    address = primary_address(url)

    assert address.finder.servers == hosts
    assert isinstance(address.finder, Sentinels)
    assert address.finder.name == "log"
    assert {name: address.arguments.get(name) for name in arguments} == arguments
    assert address.is_tls is is_tls
    assert address.finder.arguments["ssl"] is is_tls
    assert address.finder.arguments.get("ssl_ca_certs") == ("/ca.pem" if is_tls else None)


@pytest.mark.parametrize("url", ["redis+sentinel://", "redis+sentinel://one", "redis+sentinel:///log", "redis://one/0"])
def test_given_an_address_without_a_host_or_a_name_then_it_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="redis\\+sentinel://HOST"):
        primary_address(url)


def test_given_a_node_of_a_cluster_when_started_then_a_sentence_says_what_to_name(tmp_path: Path) -> None:
    server = RedisProcess(tmp_path / "cluster", "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    try:
        server.wait()
        with closing(connect_sync(server.url)) as client, pytest.raises(RedisSettingsError, match="node of a cluster"):
            check_external(client)
    finally:
        server.kill()
