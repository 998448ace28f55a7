"""A Redis that comes back with another log, or with less of ours, takes nothing; and ours does again."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.data_dir import LogIdentity
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_async, connect_sync
from clearhold.store.redis_log.pipeline import SameLog
from clearhold.store.redis_log.reader import IDENTITY, LogReader
from tests.support.clock import T0

pytestmark = pytest.mark.anyio

SHARDS = 4
OURS = LogIdentity(log_id="7d0c2f5e-6f0a-4c1b-8a55-0d9b6b1f2a10", shards=SHARDS)
OTHER = LogIdentity(log_id="00000000-6f0a-4c1b-8a55-0d9b6b1f2a10", shards=SHARDS)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path)
    server.start()
    mark(server, OURS)
    yield server
    server.stop()


@pytest.fixture
async def appender(server: EmbeddedRedis) -> AsyncIterator[LogAppender]:
    async with connect_async(server.socket_path) as client:
        yield LogAppender(client, shards=SHARDS, identity=OURS)


def mark(server: EmbeddedRedis, identity: LogIdentity) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        client.set(IDENTITY, msgspec.json.encode(identity))


def entries(server: EmbeddedRedis, shard: int) -> int:
    with closing(connect_sync(server.socket_path)) as client:
        return int(client.xlen(f"log:{shard}"))


async def append(appender: LogAppender, shard: int = 0) -> int:
    return await appender.append(shard, EntryKind.BANK, "prg_1", T0, b"{}")


async def taken(appender: LogAppender, shard: int) -> int:
    """Tries again: a write that breaks off with the old connection is refused."""
    async with asyncio.timeout(60):
        while True:
            with suppress(UnavailableError):
                return await append(appender, shard)


def emptied(server: EmbeddedRedis, _: Path, __: Path) -> None:
    server.start()


def exchanged(server: EmbeddedRedis, _: Path, __: Path) -> None:
    server.start()
    mark(server, OTHER)


def set_back(server: EmbeddedRedis, folder: Path, older: Path) -> None:
    shutil.copytree(older, folder)
    server.start()


@pytest.mark.parametrize("come_back", [emptied, exchanged, set_back])
async def test_given_a_redis_that_comes_back_with_another_log_when_appended_then_it_is_refused_until_ours_is_back(
    server: EmbeddedRedis,
    appender: LogAppender,
    tmp_path: Path,
    come_back: Callable[[EmbeddedRedis, Path, Path], None],
) -> None:
    folder, older, ours = tmp_path / "redis", tmp_path / "older", tmp_path / "ours"
    await append(appender, 1)
    server.stop()
    shutil.copytree(folder, older)
    server.start()
    await taken(appender, 1)
    await append(appender, 2)
    server.stop()
    folder.rename(ours)

    come_back(server, folder, older)
    before = [entries(server, shard) for shard in range(SHARDS)]
    for shard in (1, 2, 3):
        with pytest.raises(UnavailableError):
            await append(appender, shard)
    assert [entries(server, shard) for shard in range(SHARDS)] == before

    server.stop()
    shutil.rmtree(folder)
    ours.rename(folder)
    server.start()
    assert await taken(appender, 2) == appender.last_appended(2)
    assert [entries(server, shard) for shard in (1, 2)] == [2, 2]


async def test_given_a_connection_that_is_not_made_and_cannot_be_cancelled_when_appended_then_callers_hear_in_time(
    appender: LogAppender, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = asyncio.Event()

    async def slow(*_: object) -> None:
        while not goes_on.is_set():
            with suppress(asyncio.CancelledError):
                await goes_on.wait()

    monkeypatch.setattr(SameLog, "require", slow)
    async with asyncio.timeout(60):
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await append(appender)
        waiting = asyncio.create_task(append(appender))
        await asyncio.sleep(0)
        goes_on.set()

        assert await waiting == appender.last_appended(0)


async def test_given_streams_that_were_trimmed_to_nothing_when_connected_again_then_they_are_ours(
    server: EmbeddedRedis, appender: LogAppender
) -> None:
    offset = await append(appender, 1)
    with closing(connect_sync(server.socket_path)) as client:
        reader = LogReader(client, range(SHARDS))
        reader.trim(1, offset)
        assert reader.identity() == OURS
    server.stop()
    server.start()

    assert await taken(appender, 1) > offset
