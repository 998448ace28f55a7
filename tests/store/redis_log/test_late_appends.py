"""Entries that reach Redis after their callers were refused do not come behind later ones, as if they were moved."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from redis import Redis
from redis.asyncio.connection import AbstractConnection

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, SealOrder
from clearhold.store.control.entries import ControlKind
from clearhold.store.redis_log import appender as appender_module
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_async
from clearhold.store.redis_log.pipeline import LastConnection
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.writes import ToProgram
from clearhold.store.seals import EntrySeals
from tests.support.clock import T0
from tests.support.redis_process import redis_of_its_own

pytestmark = pytest.mark.anyio

SEALS = EntrySeals.under(bytes(range(32)))


class _Passage:
    """One connection: whether its bytes may pass, and whether Redis has answered them or has ended it."""

    def __init__(self) -> None:
        self.is_open, self.settled = asyncio.Event(), asyncio.Event()
        self.is_open.set()


class LateWay:
    """A way to Redis on which the bytes of a connection can be delayed, also beyond the connection's end."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._passages: list[_Passage] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, on = await asyncio.open_unix_connection(self._target)
        passage = _Passage()
        self._passages.append(passage)

        async def answer() -> None:
            with contextlib.suppress(ConnectionError):
                while some := await back.read(65_536):
                    passage.settled.set()
                    writer.write(some)
            passage.settled.set()
            writer.close()

        answering = asyncio.create_task(answer())
        with contextlib.suppress(ConnectionError):
            while some := await reader.read(65_536):
                await passage.is_open.wait()
                on.write(some)
        on.close()
        await answering

    def delay(self) -> None:
        """The bytes of the connections that there are."""
        for passage in self._passages:
            passage.is_open.clear()
            passage.settled.clear()

    async def let_arrive(self) -> None:
        """Returns once Redis has answered the delayed bytes, or has ended their connection."""
        for passage in self._passages:
            passage.is_open.set()
            await asyncio.wait_for(passage.settled.wait(), 10)


@pytest.fixture
async def way(tmp_path: Path, redis_server: EmbeddedRedis) -> AsyncIterator[LateWay]:
    way = LateWay(redis_server.socket_path)
    async with await asyncio.start_unix_server(way.serve, tmp_path / "way.sock"):
        yield way


def a_program(body: bytes) -> ToProgram:
    return ToProgram(0, EntryKind.PROGRAM, "prg_1", body)


Append = Callable[[LogAppender, bytes], Awaitable[object]]
APPENDS: dict[str, Append] = {
    "one": lambda appender, body: appender.append(0, EntryKind.LABEL, "prg_1", T0, body),
    "two at once": lambda appender, body: appender.append_events(0, "prg_1", T0, [body, body], kind=EntryKind.AGENT),
    "with a control entry": lambda appender, body: appender.append_control(
        "ten_1", ControlKind.PROGRAM, T0, body, to_programs=[a_program(body)]
    ),
}


@pytest.mark.parametrize("append", APPENDS.values(), ids=APPENDS)
async def test_given_entries_that_arrive_after_later_ones_then_they_are_not_in_the_log_and_none_is_taken_for_forged(
    way: LateWay, tmp_path: Path, log_redis: Redis, append: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appender_module, "WRITE_WITHIN_S", 0.2)
    async with connect_async(tmp_path / "way.sock") as client:
        appender = LogAppender(client, shards=1, seals=SEALS)
        await append(appender, b"first")
        way.delay()
        with pytest.raises(UnavailableError):
            await append(appender, b"late")
        await append(appender, b"later")
        await way.let_arrive()

    reader, order = LogReader(log_redis, [0], seals=SEALS), SealOrder()
    entries = [order.checked(entry) for entry in reader.range(0, 0, 2**62, count=99)]
    assert {entry.body for entry in entries} == {b"first", b"later"}
    assert not any(entry.is_forged for entry in entries)
    assert b"late" not in [body for *_, body in reader.control()]


async def test_given_a_redis_that_counts_its_connections_again_when_connected_then_no_other_one_is_ended(
    tmp_path: Path,
) -> None:
    server = EmbeddedRedis(tmp_path)
    server.start()
    try:
        async with connect_async(server.socket_path) as client, connect_async(server.socket_path) as other:
            for _ in range(5):
                await (await client.connection_pool.get_connection()).connect()
            appender = LogAppender(client, shards=1, seals=SEALS)
            await appender.append(0, EntryKind.TICK, "", T0, b"")
            server.stop()
            server.start()
            await other.ping()
            mine = await other.client_id()
            with contextlib.suppress(UnavailableError):
                await appender.append(0, EntryKind.TICK, "", T0, b"")
            await appender.append(0, EntryKind.TICK, "", T0, b"")

            assert await other.client_id() == mine
    finally:
        server.stop()


async def test_given_another_server_after_a_failover_when_connected_then_no_connection_there_is_ended(
    tmp_path: Path,
) -> None:
    last, sockets = LastConnection(), [tmp_path / name / "redis.sock" for name in ("one", "two")]
    with redis_of_its_own(tmp_path / "one"), redis_of_its_own(tmp_path / "two"):
        async with connect_async(sockets[0]) as one, connect_async(sockets[1]) as two:
            for _ in range(9):  # so that the other server has a connection of this one's number
                former = await one.connection_pool.get_connection()
            await last.replace_by(former)
            await former.send_command("CLIENT", "ID")
            number = await former.read_response()
            others: dict[int, AbstractConnection] = {}
            while number not in others:
                other = await two.connection_pool.get_connection()
                await other.send_command("CLIENT", "ID")
                others[await other.read_response()] = other
            await last.replace_by(await two.connection_pool.get_connection())

            await others[number].send_command("PING")
            assert await others[number].read_response() == b"PONG"
