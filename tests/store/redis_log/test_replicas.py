"""A log whose replicas must confirm each write: starts, appends and reads against real servers that stop and go on."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
import redis

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.redis_log.appender import WRITE_WITHIN_S, LogAppender
from clearhold.store.redis_log.connect import RedisSettingsError, connect_async, connect_sync
from clearhold.store.redis_log.health import RedisHealth
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.reader import LogReader, control_key, shard_key
from clearhold.store.redis_log.replicas import check_replicas, require_confirmed
from tests.support.clock import T0
from tests.support.redis_replicas import RedisProcess, replicated_redis
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 4


class Replicated:
    """A primary with two replicas."""

    def __init__(self, primary: RedisProcess, replicas: list[RedisProcess]) -> None:
        self.primary, self.replicas = primary, replicas
        self.client = primary.client()

    def owned(self) -> LogOwnership:
        return taken(connect_sync(self.primary.url), LogNode("node_here", "boot"), "here", take_over=True)

    def go_on(self) -> None:
        for each in self.replicas:
            each.go_on()
        eventually(lambda: self.client.execute_command("WAIT", len(self.replicas), 100) == len(self.replicas))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    with replicated_redis(tmp_path_factory.mktemp("replicas"), 2) as (primary, replicas):
        yield Replicated(primary, replicas)


@pytest.fixture(autouse=True)
def _emptied(servers: Replicated) -> Iterator[None]:
    servers.client.flushall()
    yield
    servers.go_on()


async def append(appender: LogAppender, shard: int = 1) -> int | UnavailableError:
    try:
        return await appender.append(shard, EntryKind.TICK, "prg_1", T0, b"{}")
    except UnavailableError as error:
        return error


async def test_given_two_replicas_when_one_stops_then_one_is_enough_and_two_are_not(servers: Replicated) -> None:
    ownership = servers.owned()
    async with connect_async(servers.primary.url) as one, connect_async(servers.primary.url) as both:
        of_one = LogAppender(one, shards=SHARDS, ownership=ownership, replicas=1)
        of_both = LogAppender(both, shards=SHARDS, ownership=ownership, replicas=2)
        assert isinstance(await append(of_both), int)
        servers.replicas[0].stop()

        confirmed = [await append(of_one) for _ in range(20)]
        began = time.monotonic()
        refused = await append(of_both)
        took_s = time.monotonic() - began

        assert all(isinstance(each, int) for each in confirmed)
        assert isinstance(refused, UnavailableError)
        assert "1 of 2 replicas" in str(refused.__cause__)
        assert took_s < WRITE_WITHIN_S + 1
        with closing(servers.replicas[1].client()) as other:
            assert other.xlen(shard_key(1)) == 22  # the refused entry is there too
        servers.go_on()
        assert isinstance(await append(of_both), int)
    ownership.release()


async def test_given_no_replica_that_answers_when_appended_then_all_callers_and_control_streams_are_refused(
    servers: Replicated,
) -> None:
    ownership = servers.owned()
    async with connect_async(servers.primary.url) as client:
        appender = LogAppender(client, shards=SHARDS, ownership=ownership, replicas=1)
        await appender.connect()
        for each in servers.replicas:
            each.stop()
        answers = await asyncio.gather(
            *(append(appender, shard) for shard in range(SHARDS)),
            appender.append_control("ten_1", "program", T0, b"{}"),
            return_exceptions=True,
        )
        assert all(isinstance(each, UnavailableError) for each in answers), answers
        with pytest.raises(UnavailableError):
            await appender.append_control("ten_1", "program", T0, b"{}")
        assert servers.client.xlen(control_key("ten_1")) == 1  # sent, and no caller may count on it
        servers.go_on()
        assert isinstance(await append(appender), int)
    ownership.release()


def test_given_entries_that_no_replica_has_when_read_then_they_are_handed_on_once_one_has_them(
    servers: Replicated,
) -> None:
    with closing(connect_sync(servers.primary.url)) as client:
        reader, plain = LogReader(client, range(SHARDS), replicas=1), LogReader(client, range(SHARDS))
        assert reader.read({}, count=9, block_ms=10) == []
        for each in servers.replicas:
            each.stop()
        servers.client.xadd(shard_key(1), {"k": "tick", "p": "", "t": T0, "b": ""})

        assert len(plain.read({}, count=9, block_ms=0)) == 1
        with pytest.raises(ConnectionError, match="0 of 1 replicas"):
            reader.read({}, count=9, block_ms=100)
        with pytest.raises(ConnectionError, match="0 of 1 replicas"):
            reader.range(1, 0, 2**62, count=9)
        servers.replicas[1].go_on()

        ((shard, entries),) = reader.read({}, count=9, block_ms=0)
        assert (shard, [entry.kind for entry in entries]) == (1, ["tick"])
        assert reader.range(1, 0, 2**62, count=9) == entries


def test_given_many_reads_then_the_marker_does_not_grow(servers: Replicated) -> None:
    servers.client.xadd(shard_key(1), {"k": "tick", "p": "", "t": T0, "b": ""})
    with closing(connect_sync(servers.primary.url)) as client:
        reader = LogReader(client, range(SHARDS), replicas=2)
        for _ in range(30):
            assert reader.read({}, count=9, block_ms=0)
    assert set(servers.client.keys()) == {shard_key(1).encode(), b"log:marker"}
    assert servers.client.get("log:marker") == b""


def test_given_a_number_of_replicas_when_started_then_more_than_are_connected_is_refused(servers: Replicated) -> None:
    with closing(connect_sync(servers.primary.url)) as client:
        check_replicas(client, 2)
        require_confirmed(client, 2)
        with pytest.raises(RedisSettingsError, match=r"CLEARHOLD_REDIS_REPLICAS is 3, and 2 replicas are connected"):
            check_replicas(client, 3)
        for each in servers.replicas:
            each.stop()
        with pytest.raises(RedisSettingsError, match="too far behind"):
            require_confirmed(client, 1)


@pytest.mark.parametrize(("name", "value"), [("appendfsync", "everysec"), ("appendonly", "no")])
def test_given_a_replica_that_can_lose_what_it_has_when_started_then_it_is_named(
    servers: Replicated, name: str, value: str
) -> None:
    replica = servers.replicas[1]
    with closing(replica.client()) as other, closing(connect_sync(servers.primary.url)) as client:
        before = str(other.config_get(name)[name])
        other.config_set(name, value)
        try:
            with pytest.raises(
                RedisSettingsError, match=rf"{replica.host}:{replica.port} could lose .* {name} is {value}"
            ):
                check_replicas(client, 1)
        finally:
            other.config_set(name, before)
        check_replicas(client, 1)


def test_given_a_replica_as_the_named_redis_or_one_that_is_gone_when_started_then_a_sentence_says_so(
    servers: Replicated,
) -> None:
    with (
        closing(connect_sync(servers.replicas[0].url)) as client,
        pytest.raises(RedisSettingsError, match=rf"is a replica of .*:{servers.primary.port}.*redis\+sentinel://"),
    ):
        check_replicas(client, 1)
    with closing(connect_sync("redis://127.0.0.1:1")) as nothing, pytest.raises(RedisSettingsError, match="allow INFO"):
        check_replicas(nothing, 1)


def test_given_a_password_when_started_then_replicas_are_asked_with_it(servers: Replicated) -> None:
    replica = servers.replicas[0]
    with closing(replica.client()) as other:
        other.execute_command("ACL", "SETUSER", "default", "resetpass", ">another")
        try:
            with (
                closing(connect_sync(servers.primary.url)) as client,
                pytest.raises(RedisSettingsError, match=rf":{replica.port} .*"),
            ):
                check_replicas(client, 1)
        finally:
            other.execute_command("ACL", "SETUSER", "default", "nopass")


def test_given_stopped_replicas_then_the_health_says_so_until_they_go_on(servers: Replicated) -> None:
    with closing(connect_sync(servers.primary.url)) as client:
        health, plain = RedisHealth(client, replicas=1), RedisHealth(client)
        assert health.keeps_entries()
        for each in servers.replicas:
            each.stop()
        assert not health.keeps_entries()
        assert plain.keeps_entries()
        servers.go_on()
        assert health.keeps_entries()
    assert isinstance(servers.client, redis.Redis)
