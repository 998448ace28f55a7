"""A write whose connection breaks is answered as usual within its limit, and each entry is in the log once."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
import redis
from redis.asyncio.connection import AbstractConnection

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, SealOrder
from clearhold.store.redis_log import appender as appender_module
from clearhold.store.redis_log import pipeline as pipeline_module
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.broken_write import UnsettledError
from clearhold.store.redis_log.connect import connect_async, connect_sync
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.reader import LogReader, control_key, shard_key
from clearhold.store.redis_log.writes import EPOCH, OWNER, ToProgram
from clearhold.store.seals import EntrySeals
from tests.support.breaking_way import Break, BreakingWay, breaking_way
from tests.support.clock import T0
from tests.support.redis_replicas import RedisProcess, replicated_redis
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 4
SEALS = EntrySeals.under(bytes(range(32)))
TENANT = "ten_1"

Servers = tuple[RedisProcess, list[RedisProcess]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with replicated_redis(tmp_path_factory.mktemp("broken"), 1) as opened:
        yield opened


@pytest.fixture
def server(servers: Servers) -> Iterator[redis.Redis]:
    with closing(servers[0].client()) as client:
        client.flushall()
        yield client


@pytest.fixture
def owner(servers: Servers, server: redis.Redis) -> Iterator[LogOwnership]:
    assert server.dbsize() == 0
    ownership = taken(connect_sync(servers[0].url), LogNode("node_here", "boot"), "here", take_over=False)
    yield ownership
    ownership.release()


class Parts(NamedTuple):
    way: BreakingWay
    appender: LogAppender


@pytest.fixture
async def parts(servers: Servers, owner: LogOwnership, tmp_path: Path) -> AsyncIterator[Parts]:
    async with breaking_way(tmp_path, servers[0].port) as way, connect_async(tmp_path / "way.sock") as client:
        yield Parts(way, LogAppender(client, shards=SHARDS, seals=SEALS, ownership=owner, replicas=1))


def to_program(shard: int, body: bytes) -> ToProgram:
    return ToProgram(shard, EntryKind.PROGRAM, "prg_1", body)


async def one(appender: LogAppender, body: bytes) -> list[int]:
    return [await appender.append(1, EntryKind.LABEL, "prg_1", T0, body)]


async def three_at_once(appender: LogAppender, body: bytes) -> list[int]:
    return await appender.append_events(1, "prg_1", T0, [body, body, body])


async def with_control(appender: LogAppender, body: bytes) -> list[int]:
    to = [to_program(1, body), to_program(2, body)]
    return [await appender.append_control(TENANT, "program", T0, body, to_programs=to)]


Append = Callable[[LogAppender, bytes], Awaitable[list[int]]]
APPENDS: dict[str, Append] = {"one": one, "three at once": three_at_once, "with control": with_control}


def shard_bodies(client: redis.Redis) -> list[bytes]:
    """The bodies of all shards, in order; no entry may be taken for forged, as a repeated or moved one would be."""
    reader, orders = LogReader(client, range(SHARDS), seals=SEALS), [SealOrder() for _ in range(SHARDS)]
    entries = [
        order.checked(each)
        for shard, order in enumerate(orders)
        for each in reader.range(shard, 0, 2**62, count=10_000)
    ]
    assert not any(entry.is_forged for entry in entries)
    return [entry.body for entry in entries]


def control_offsets(client: redis.Redis) -> list[int]:
    return [offset for _, offset, *_ in LogReader(client, [], seals=SEALS).control()]


@pytest.mark.parametrize("how", Break)
@pytest.mark.parametrize("append", APPENDS.values(), ids=APPENDS)
async def test_given_a_connection_that_breaks_then_the_caller_gets_its_offsets_and_the_log_has_its_entries_once(
    server: redis.Redis, parts: Parts, append: Append, how: Break
) -> None:
    first = await append(parts.appender, b"first")
    parts.way.breaks.append(how)

    broken = await append(parts.appender, b"broken")
    later = await append(parts.appender, b"later")
    await parts.way.let_arrive()

    assert parts.way.broken == 1
    bodies = shard_bodies(server)
    for body in (b"first", b"broken", b"later"):
        assert bodies.count(body) == len(bodies) / 3 > 0
    reader = LogReader(server, [1])
    offsets = control_offsets(server) or [each.offset for each in reader.range(1, 0, 2**62, count=99)]
    assert [*first, *broken, *later] == offsets


async def test_given_many_callers_and_breaks_one_after_the_other_then_each_has_its_own_offset(
    server: redis.Redis, parts: Parts
) -> None:
    await one(parts.appender, b"0")
    parts.way.breaks.extend([Break.AFTER, Break.BEFORE, Break.HALF, Break.AFTER])

    calls = [parts.appender.append(n % SHARDS, EntryKind.LABEL, "prg_1", T0, b"%d" % n) for n in range(1, 60)]
    control = with_control(parts.appender, b"60")
    offsets = dict(enumerate(await asyncio.gather(*calls), start=1))
    [control_offset] = await control

    assert parts.way.broken == 4
    reader = LogReader(server, range(SHARDS), seals=SEALS)
    for n, offset in offsets.items():
        [entry] = reader.range(n % SHARDS, offset - 1, offset, count=1)
        assert entry.body == b"%d" % n
    assert control_offsets(server) == [control_offset]
    assert sorted(shard_bodies(server)) == sorted([*(b"%d" % n for n in range(61)), b"60"])


async def test_given_a_connection_that_the_server_ends_while_a_replica_is_slow_then_the_entry_is_confirmed_once(
    servers: Servers, server: redis.Redis, parts: Parts
) -> None:
    _, (replica,) = servers
    await one(parts.appender, b"first")
    replica.stop()
    try:
        waiting = asyncio.create_task(one(parts.appender, b"second"))
        await asyncio.to_thread(eventually, lambda: server.xlen(shard_key(1)) == 2)
        killed = [server.client_kill_filter(_id=each["id"]) for each in server.client_list() if each["cmd"] == "wait"]
        await asyncio.sleep(0.1)
        assert killed
        assert not waiting.done()
    finally:
        replica.go_on()

    [offset] = await waiting
    assert LogReader(server, []).end_of(shard_key(1)) == offset
    assert shard_bodies(server) == [b"first", b"second"]


@pytest.mark.parametrize("seed", range(6))
async def test_given_random_breaks_and_ended_connections_then_every_call_is_answered_and_no_entry_is_lost_or_doubled(
    server: redis.Redis, parts: Parts, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appender_module, "WRITE_WITHIN_S", 60)
    random_ = random.Random(seed)
    answers: dict[bytes, tuple[Append, list[int]]] = {}

    async def call(caller: int) -> None:
        for n in itertools.count():
            if n >= 10 and parts.way.broken >= 5:
                return
            body, append = b"%d/%d" % (caller, n), random_.choice([*APPENDS.values()])
            answers[body] = append, await append(parts.appender, body)

    async def end_connections() -> None:
        while True:
            await asyncio.sleep(random_.uniform(0, 0.02))
            if random_.random() < 0.5:
                parts.way.breaks.append(random_.choice([*Break]))
            else:
                server.client_kill_filter(_type="normal", skipme=True)

    ending = asyncio.create_task(end_connections())
    await asyncio.gather(*(call(caller) for caller in range(8)))
    ending.cancel()
    await parts.way.let_arrive()

    bodies = shard_bodies(server)
    assert {*bodies} == {*answers}
    for body, (append, offsets) in answers.items():
        assert bodies.count(body) == (2 if append is with_control else len(offsets))
    control = sorted(offset for append, offsets in answers.values() if append is with_control for offset in offsets)
    assert control_offsets(server) == control


async def test_given_an_owner_that_took_the_log_meanwhile_then_the_call_is_refused_and_nothing_is_sent_again(
    server: redis.Redis, owner: LogOwnership, parts: Parts
) -> None:
    await one(parts.appender, b"first")
    parts.way.breaks.append(Break.BEFORE)
    server.hset(OWNER, mapping={"epoch": owner.epoch + 1, "node": "node_there", "address": "there"})
    server.set(EPOCH, owner.epoch + 1)

    with pytest.raises(UnavailableError) as refused:
        await one(parts.appender, b"second")

    assert str(refused.value.__cause__).startswith(f"FENCED {owner.epoch + 1}")
    assert shard_bodies(server) == [b"first"]


async def test_given_another_entry_behind_the_broken_write_then_it_is_not_known_and_the_call_is_refused(
    server: redis.Redis, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await one(parts.appender, b"first")
    require = pipeline_module.LastConnection.replace_by

    async def disturbed(last: pipeline_module.LastConnection, connection: AbstractConnection) -> None:
        server.xadd(shard_key(1), {"k": "bank", "p": "", "t": 0, "b": b"of another program"})
        await require(last, connection)

    parts.way.breaks.append(Break.AFTER)
    monkeypatch.setattr(pipeline_module.LastConnection, "replace_by", disturbed)
    with pytest.raises(UnavailableError) as refused:
        await one(parts.appender, b"second")

    assert isinstance(refused.value.__cause__, UnsettledError)
    monkeypatch.undo()
    assert await with_control(parts.appender, b"third")
    assert server.xlen(control_key(TENANT)) == 1


async def test_given_a_server_that_names_no_run_then_a_broken_write_is_refused(
    server: redis.Redis, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_module, "_run_id", lambda _: None)
    await one(parts.appender, b"first")
    parts.way.breaks.append(Break.BEFORE)

    with pytest.raises(UnavailableError) as refused:
        await one(parts.appender, b"second")

    assert isinstance(refused.value.__cause__, UnsettledError)
    assert shard_bodies(server) == [b"first"]


async def test_given_breaks_until_the_limit_is_over_then_the_call_is_refused_and_the_next_one_is_answered(
    server: redis.Redis, parts: Parts
) -> None:
    await one(parts.appender, b"first")
    parts.way.breaks.extend([Break.BEFORE] * 10_000)

    with pytest.raises(UnavailableError) as refused:
        await one(parts.appender, b"second")

    assert isinstance(refused.value.__cause__, TimeoutError)
    parts.way.breaks.clear()
    assert await one(parts.appender, b"third")
    assert shard_bodies(server) == [b"first", b"third"]
