"""Writes of the log's owner: one transaction for all callers, and each caller's own answer."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest
import redis
import redis.asyncio

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import connect_async, connect_sync
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.reader import LogReader, control_key, shard_key
from clearhold.store.redis_log.writes import EPOCH, OWNER, ToProgram
from tests.support.clock import T0
from tests.support.redis_replicas import RedisProcess, replicated_redis

pytestmark = pytest.mark.anyio

SHARDS = 4


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisProcess, list[RedisProcess]]]:
    with replicated_redis(tmp_path_factory.mktemp("fenced"), 1) as opened:
        yield opened


@pytest.fixture
def server(servers: tuple[RedisProcess, list[RedisProcess]]) -> redis.Redis:
    client = servers[0].client()
    client.flushall()
    return client


@pytest.fixture
def owner(servers: tuple[RedisProcess, list[RedisProcess]], server: redis.Redis) -> Iterator[LogOwnership]:
    assert server.dbsize() == 0
    ownership = taken(connect_sync(servers[0].url), LogNode("node_here", "boot"), "here", take_over=False)
    yield ownership
    ownership.release()


@pytest.fixture
async def appender(servers: tuple[RedisProcess, list[RedisProcess]], owner: LogOwnership) -> AsyncIterator[LogAppender]:
    async with connect_async(servers[0].url) as client:
        yield LogAppender(client, shards=SHARDS, ownership=owner)


async def append(appender: LogAppender, shard: int, body: bytes = b"{}") -> int | UnavailableError:
    try:
        return await appender.append(shard, EntryKind.TICK, "prg_1", T0, body)
    except UnavailableError as error:
        return error


async def test_given_many_callers_at_once_then_few_transactions_have_their_entries_in_calling_order(
    server: redis.Redis, appender: LogAppender
) -> None:
    await appender.connect()
    before = calls_of(server, "exec")

    offsets = await asyncio.gather(*(append(appender, n % SHARDS, b"%d" % n) for n in range(2_000)))

    assert calls_of(server, "exec") - before <= 2_000 // 512 + 2  # the first caller writes alone
    reader = LogReader(server, range(SHARDS))
    for shard in range(SHARDS):
        entries = [(entry.offset, entry.body) for entry in reader.entries(shard, 0, 2**62, page=900)]
        assert entries == [(offsets[n], b"%d" % n) for n in range(shard, 2_000, SHARDS)]


async def test_given_a_refused_entry_among_others_then_its_caller_alone_is_refused(
    server: redis.Redis, appender: LogAppender
) -> None:
    await append(appender, 0)
    server.set(shard_key(2), "no stream")
    to = [ToProgram(3, EntryKind.PROGRAM, "prg_1", b"{}")]

    one, two, three, four, control = await asyncio.gather(
        *(append(appender, shard, b"x") for shard in range(SHARDS)),
        appender.append_control("ten_1", "program", T0, b"{}", to_programs=to),
    )

    assert isinstance(three, UnavailableError)
    assert "WRONGTYPE" in str(three.__cause__)
    assert all(isinstance(each, int) for each in (one, two, four))
    assert control == LogReader(server, []).end_of(control_key("ten_1"))
    assert [server.xlen(shard_key(shard)) for shard in (0, 1, 3)] == [2, 1, 2]


async def test_given_another_owner_between_two_writes_then_the_second_is_dropped_by_redis_itself(
    server: redis.Redis, owner: LogOwnership, appender: LogAppender
) -> None:
    assert isinstance(await append(appender, 1), int)
    server.hset(OWNER, mapping={"epoch": owner.epoch + 1, "node": "node_there", "address": "there"})
    server.set(EPOCH, owner.epoch + 1)  # both, as the server function writes them

    refused = await append(appender, 1)

    assert isinstance(refused, UnavailableError)
    assert str(refused.__cause__) == f"FENCED {owner.epoch + 1} by node_there at there"
    assert server.xlen(shard_key(1)) == 1
    assert not owner.is_current()
    began = asyncio.get_running_loop().time()
    assert isinstance(await append(appender, 1), UnavailableError)
    assert asyncio.get_running_loop().time() - began < 1, "a fenced owner waits for no other server"


async def test_given_a_write_of_the_epoch_that_changes_nothing_then_only_that_write_is_refused(
    server: redis.Redis, owner: LogOwnership, appender: LogAppender
) -> None:
    await append(appender, 1)
    server.set(EPOCH, owner.epoch)

    assert isinstance(await append(appender, 1), UnavailableError)
    assert isinstance(await append(appender, 1), int)
    assert server.xlen(shard_key(1)) == 2


async def test_given_a_server_that_became_a_replica_when_appended_then_it_is_sent_again_to_a_primary_within_the_limit(
    servers: tuple[RedisProcess, list[RedisProcess]], server: redis.Redis, appender: LogAppender
) -> None:
    primary, (other,) = servers
    await append(appender, 1)
    server.replicaof("127.0.0.1", 1)  # of a primary that does not answer
    waiting = [asyncio.create_task(append(appender, shard % SHARDS)) for shard in range(20)]
    await asyncio.sleep(0.5)
    assert not any(each.done() for each in waiting)
    server.replicaof("NO", "ONE")
    offsets = await asyncio.gather(*waiting)

    assert all(isinstance(each, int) for each in offsets)
    assert sum(server.xlen(shard_key(shard)) for shard in range(SHARDS)) == 21
    other.follow(primary)


def calls_of(client: redis.Redis, command: str) -> int:
    stats = client.info("commandstats").get(f"cmdstat_{command}", {})
    return int(stats.get("calls", 0))


@pytest.mark.parametrize("rule", ["-watch", "-multi", "-exec", "-hmget"])
async def test_given_a_user_without_a_command_of_the_fence_then_nothing_is_appended_without_it(
    servers: tuple[RedisProcess, list[RedisProcess]], server: redis.Redis, owner: LogOwnership, rule: str
) -> None:
    server.execute_command("ACL", "SETUSER", "poor", "on", "nopass", "~*", "&*", "+@all", rule)
    url = f"redis://poor:x@{servers[0].host}:{servers[0].port}"
    async with connect_async(url) as client:
        refused = await append(LogAppender(client, shards=SHARDS, ownership=owner), 1)

    assert isinstance(refused, UnavailableError)
    assert not server.exists(shard_key(1))
    with closing(redis.Redis.from_url(url)) as poor:
        assert poor.ping()
