"""Every write is answered, although its server is killed and started again or a replica is promoted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import redis

from clearhold.features.core.log_entry import EntryKind, SealOrder
from clearhold.store.redis_log import appender as appender_module
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import connect_async, connect_sync
from clearhold.store.redis_log.owner import LogNode, taken
from clearhold.store.redis_log.reader import LogReader, shard_key
from clearhold.store.seals import EntrySeals
from tests.support.breaking_way import Break, breaking_way
from tests.support.clock import T0
from tests.support.redis_replicas import replicated_redis, sentinels
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 2
SEALS = EntrySeals.under(bytes(range(32)))
CALLERS = 6


@pytest.fixture(autouse=True)
def _long_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appender_module, "WRITE_WITHIN_S", 60)


@asynccontextmanager
async def appending(target: str | Path, owner_at: str, *, replicas: int) -> AsyncIterator[LogAppender]:
    ownership = taken(connect_sync(owner_at), LogNode("node_here", "boot"), "here", take_over=False)
    try:
        async with connect_async(target) as client:
            yield LogAppender(client, shards=SHARDS, seals=SEALS, ownership=ownership, replicas=replicas)
    finally:
        ownership.release()


async def append(appender: LogAppender, body: bytes) -> int:
    return await appender.append(len(body) % SHARDS, EntryKind.LABEL, "prg_1", T0, body)


class Callers:
    """Append one entry after the other, each once, until ``end``."""

    def __init__(self, appender: LogAppender) -> None:
        self._appender = appender
        self.answers: dict[bytes, int] = {}
        self._is_ending = False
        self._tasks = [asyncio.create_task(self._call(caller)) for caller in range(CALLERS)]

    async def more(self, count: int) -> None:
        """Wait for this number of further answers."""
        wanted = len(self.answers) + count
        while len(self.answers) < wanted:
            await asyncio.sleep(0.005)
            for each in self._tasks:
                assert not each.done(), each.exception()

    async def end(self) -> None:
        self._is_ending = True
        await asyncio.gather(*self._tasks)

    async def _call(self, caller: int) -> None:
        number = 0
        while not self._is_ending:
            body = b"%d/%d" % (caller, number)
            self.answers[body] = await append(self._appender, body)
            number += 1


def in_log(client: redis.Redis) -> dict[bytes, int]:
    """Body and offset of each entry; none may be there twice, or be taken for forged."""
    reader, orders = LogReader(client, range(SHARDS), seals=SEALS), [SealOrder() for _ in range(SHARDS)]
    entries = [
        order.checked(each) for shard, order in enumerate(orders) for each in reader.entries(shard, 0, 2**62, page=500)
    ]
    assert not any(entry.is_forged for entry in entries)
    assert len({entry.body for entry in entries}) == len(entries)
    return {entry.body: entry.offset for entry in entries}


async def test_given_a_server_that_is_killed_again_and_again_then_every_call_is_answered_and_in_the_log_once(
    tmp_path: Path,
) -> None:
    with replicated_redis(tmp_path, 0) as (server, _):
        async with appending(server.url, server.url, replicas=0) as appender:
            callers = Callers(appender)
            for _ in range(3):
                await callers.more(150)
                server.kill()
                await asyncio.to_thread(server.again)
            await callers.more(150)
            await callers.end()
        with closing(server.client()) as client:
            assert in_log(client) == callers.answers


@pytest.mark.parametrize("is_killed", [True, False])
async def test_given_sentinels_that_promote_a_replica_then_every_call_is_answered_and_in_the_log_once(
    tmp_path: Path, *, is_killed: bool
) -> None:
    with replicated_redis(tmp_path, 2) as (primary, _), sentinels(tmp_path, primary, "log") as url:
        async with appending(url, url, replicas=1) as appender:
            callers = Callers(appender)
            await callers.more(100)
            if is_killed:
                primary.kill()
            else:
                with closing(redis.Redis(port=int(url.partition(",")[0].rpartition(":")[2]))) as sentinel:
                    sentinel.execute_command("SENTINEL", "FAILOVER", "log", "COORDINATED")
            await until(lambda: primary_port(url) not in {None, primary.port})
            await callers.more(100)
            await callers.end()
        with closing(connect_sync(url)) as client:
            assert in_log(client) == callers.answers


def primary_port(url: str) -> int | None:
    """The port of the present primary; None while there is none."""
    with closing(connect_sync(url)) as client:
        try:
            return int(client.info("server")["tcp_port"])
        except redis.RedisError:
            return None


@pytest.mark.parametrize("how", [Break.AFTER, Break.BEFORE])
async def test_given_a_promoted_replica_that_lacks_the_write_then_it_is_sent_again(tmp_path: Path, how: Break) -> None:
    with replicated_redis(tmp_path, 2) as (primary, (second, third)):
        async with (
            breaking_way(tmp_path, primary.port) as way,
            appending(tmp_path / "way.sock", primary.url, replicas=1) as appender,
        ):
            first = await append(appender, b"first")
            with closing(second.client()) as client:
                await until(lambda: client.xlen(shard_key(1)) == 1)
                client.replicaof("NO", "ONE")
            await asyncio.to_thread(third.follow, second)
            way.breaks.append(how)
            broken = asyncio.create_task(append(appender, b"again"))
            await until(lambda: way.broken == 1)
            if how is Break.AFTER:
                with closing(primary.client()) as client:
                    assert client.xlen(shard_key(1)) == 2
            way.port = second.port
            primary.kill()
            offset = await broken
            last = await append(appender, b"third")
        for server in (second, third):
            with closing(server.client()) as client:
                assert in_log(client) == {b"first": first, b"again": offset, b"third": last}


async def until(holds: Callable[[], bool]) -> None:
    await asyncio.to_thread(eventually, holds)
