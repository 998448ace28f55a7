"""What the appender confirmed is in the log, whatever happens; what it did not confirm, the caller hears of in time."""

import asyncio
import itertools
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
import redis.asyncio
from redis import Redis

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.store.redis_log import appender as appender_module
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_async, connect_sync
from clearhold.store.redis_log.pipeline import HALVED_EVERY_S
from clearhold.store.redis_log.reader import LogReader, stream_id_of
from clearhold.store.redis_log.writes import ToProgram
from tests.support.clock import T0
from tests.support.redis_process import alive, pid_of, pongs
from tests.support.stalls import Stopwatch, stand_still
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 4
HEARD_WITHIN_S = 2.5
"""What a write may take, and a second for a busy machine; the time for which it stood still does not count."""


def to_program(shard: int, body: bytes = b"{}") -> ToProgram:
    return ToProgram(shard, EntryKind.PROGRAM, "prg_1", body)


@pytest.fixture
async def client(redis_server: EmbeddedRedis, log_redis: Redis) -> AsyncIterator[redis.asyncio.Redis]:
    """Of the shared server, which ``log_redis`` has emptied."""
    assert log_redis.dbsize() == 0
    async with connect_async(redis_server.socket_path) as client:
        yield client


@pytest.fixture
def appender(client: redis.asyncio.Redis) -> LogAppender:
    return LogAppender(client, shards=SHARDS)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A server of the test's own, to be harmed."""
    server = EmbeddedRedis(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def own_appender(own_server: EmbeddedRedis) -> AsyncIterator[LogAppender]:
    async with connect_async(own_server.socket_path) as client:
        yield LogAppender(client, shards=SHARDS)


async def append(appender: LogAppender, body: bytes = b"{}", *, shard: int = 0) -> int:
    return await appender.append(shard, EntryKind.BANK, "prg_1", T0, body)


async def outcome_of(appender: LogAppender, body: bytes = b"{}", *, shard: int = 0) -> int | UnavailableError:
    try:
        return await append(appender, body, shard=shard)
    except UnavailableError as error:
        return error


def entries_of(client: Redis, shard: int = 0) -> list[LogEntry]:
    return LogReader(client, [shard]).range(shard, 0, 2**63 - 1, count=1_000_000)


def grown(confirmed: dict[int, bytes], size: int) -> bool:
    return len(confirmed) >= size


async def test_given_an_entry_when_appended_then_the_log_holds_it_under_the_offset_returned(
    appender: LogAppender, log_redis: Redis
) -> None:
    assert appender.last_appended(2) == 0

    offset = await appender.append(2, EntryKind.PREFLIGHT, "prg_1", T0, b"\x00\r\n\xff")

    assert entries_of(log_redis, 2) == [
        LogEntry(shard=2, offset=offset, kind="preflight", program_id="prg_1", appended_at=T0, body=b"\x00\r\n\xff")
    ]
    assert appender.last_appended(2) == offset
    assert appender.last_appended(1) == 0


async def test_given_many_callers_at_once_then_each_gets_its_own_offset_in_calling_order_over_few_writes(
    appender: LogAppender, log_redis: Redis
) -> None:
    reads_before = log_redis.info("stats")["total_reads_processed"]

    offsets = await asyncio.gather(*(append(appender, b"%d" % n) for n in range(2_000)))

    reads = log_redis.info("stats")["total_reads_processed"] - reads_before
    assert offsets == sorted(set(offsets))
    assert [(entry.offset, entry.body) for entry in entries_of(log_redis)] == [
        (offset, b"%d" % n) for n, offset in enumerate(offsets)
    ]
    assert appender.last_appended(0) == offsets[-1]
    assert reads < 200, "each caller paid for a round trip of its own"


async def test_given_large_bodies_among_small_ones_then_all_arrive_whole(
    appender: LogAppender, log_redis: Redis
) -> None:
    bodies = [os.urandom(1 << 20) if n % 2 else b"small" for n in range(16)]

    await asyncio.gather(*(append(appender, body) for body in bodies))

    assert [entry.body for entry in entries_of(log_redis)] == bodies


async def test_given_the_server_is_killed_under_load_then_no_confirmed_entry_is_lost(
    own_server: EmbeddedRedis, own_appender: LogAppender
) -> None:
    confirmed: dict[int, bytes] = {}
    refused: list[bytes] = []
    enough = threading.Event()

    async def keep_appending(caller: int) -> None:
        for n in itertools.count():
            if enough.is_set():
                return
            body = b"%d/%d" % (caller, n)
            outcome = await outcome_of(own_appender, body)
            if isinstance(outcome, int):
                confirmed[outcome] = body
            else:
                refused.append(body)

    def keep_killing() -> None:
        """Until at least three kills, one of which caught a write under way."""
        try:
            for kill in range(1, 31):
                seen = len(confirmed)
                eventually(partial(grown, confirmed, seen + 300))
                os.kill(pid_of(own_server), signal.SIGKILL)
                if kill >= 3 and refused:
                    return
        finally:
            enough.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.to_thread(keep_killing))
        for caller in range(30):
            tasks.create_task(keep_appending(caller))

    with closing(connect_sync(own_server.socket_path)) as client:
        eventually(lambda: pongs(client))
        found = {entry.offset: entry.body for entry in entries_of(client)}
    assert {offset: found.get(offset) for offset in confirmed} == confirmed
    assert refused, "no kill met a write under way"


async def test_given_the_server_hangs_then_everyone_hears_with_the_first_and_later_calls_work(
    own_server: EmbeddedRedis, own_appender: LogAppender
) -> None:
    await append(own_appender)
    pid = pid_of(own_server)
    os.kill(pid, signal.SIGSTOP)
    started = time.monotonic()
    with Stopwatch() as hearing:
        first = asyncio.create_task(outcome_of(own_appender))
        await asyncio.sleep(1.2)  # Whoever comes later waits no longer than the first: not until 2.7 s.

        outcomes = await asyncio.gather(first, *(outcome_of(own_appender) for _ in range(1_500)))

    forgotten = 2 ** ((time.monotonic() - started - appender_module.WRITE_WITHIN_S) / HALVED_EVERY_S)
    assert own_appender.expected_s() * forgotten > appender_module.WRITE_WITHIN_S
    assert hearing.own_s < HEARD_WITHIN_S
    assert {type(outcome) for outcome in outcomes} == {UnavailableError}
    os.kill(pid, signal.SIGCONT)
    assert await append(own_appender) > 0


@pytest.mark.timed
async def test_given_a_machine_that_stood_still_when_it_goes_on_then_what_redis_confirms_is_waited_for(
    own_server: EmbeddedRedis, own_appender: LogAppender
) -> None:
    await append(own_appender)
    os.kill(pid_of(own_server), signal.SIGSTOP)
    calls = [asyncio.create_task(append(own_appender, b"%d" % n)) for n in range(3)]
    await asyncio.sleep(0)

    stand_still(appender_module.WRITE_WITHIN_S + 0.5)
    asyncio.get_running_loop().call_later(0.05, os.kill, pid_of(own_server), signal.SIGCONT)

    assert max([await call for call in calls]) == own_appender.last_appended(0)


async def test_given_no_server_then_callers_hear_in_time_and_once_it_is_back_calls_work(
    own_server: EmbeddedRedis, own_appender: LogAppender
) -> None:
    before = await append(own_appender)
    own_server.stop()

    with Stopwatch() as hearing:
        outcomes = await asyncio.gather(*(outcome_of(own_appender) for _ in range(20)))

    assert hearing.own_s < HEARD_WITHIN_S
    assert {type(outcome) for outcome in outcomes} == {UnavailableError}
    own_server.start()
    assert await append(own_appender) > before


async def test_given_the_server_is_killed_while_idle_then_the_next_call_waits_for_the_new_one(
    own_server: EmbeddedRedis, own_appender: LogAppender
) -> None:
    before = await append(own_appender)
    killed = pid_of(own_server)
    os.kill(killed, signal.SIGKILL)
    await asyncio.to_thread(eventually, lambda: not alive(killed))
    await asyncio.sleep(0.1)  # so that the connection's end has been heard of: a reset after sending would be a doubt

    assert await append(own_appender) > before


async def test_given_one_entry_that_redis_refuses_then_only_its_own_caller_hears_of_it(
    appender: LogAppender, log_redis: Redis
) -> None:
    log_redis.set("log:3", "not a stream")

    outcomes = await asyncio.gather(*(outcome_of(appender, shard=n % SHARDS) for n in range(40)))

    refused = [n % SHARDS for n, outcome in enumerate(outcomes) if isinstance(outcome, UnavailableError)]
    assert refused == [3] * 10
    assert [len(entries_of(log_redis, shard)) for shard in range(3)] == [10, 10, 10]


async def test_given_no_memory_left_then_callers_hear_of_it_and_nothing_is_stored_until_there_is(
    appender: LogAppender, log_redis: Redis
) -> None:
    log_redis.config_set("maxmemory", 1)
    try:
        outcomes = await asyncio.gather(*(outcome_of(appender) for _ in range(5)))
        with pytest.raises(UnavailableError):
            await appender.append_control("ten_1", "tenant", T0, b"{}", to_programs=[to_program(1)])
    finally:
        log_redis.config_set("maxmemory", 0)

    assert {type(outcome) for outcome in outcomes} == {UnavailableError}
    assert log_redis.dbsize() == 0
    assert await append(appender) > 0


async def test_given_a_control_entry_with_a_program_then_both_streams_hold_it(
    appender: LogAppender, log_redis: Redis
) -> None:
    offset = await appender.append_control("ten_1", "program", T0, b"control", to_programs=[to_program(2, b"program")])

    [program] = entries_of(log_redis, 2)
    assert list(LogReader(log_redis, []).control()) == [("ten_1", offset, "program", T0, b"control")]
    assert (program.kind, program.program_id, program.appended_at) == ("program", "prg_1", T0)
    assert program.body == b"program"
    assert appender.last_appended(2) == program.offset


async def test_given_control_and_ordinary_entries_at_once_then_each_caller_gets_its_own_answer(
    appender: LogAppender, log_redis: Redis
) -> None:
    calls = [
        append(appender, b"%d" % n) if n % 2 else appender.append_control("ten_1", "tenant", T0, b"%d" % n)
        for n in range(40)
    ]

    offsets = await asyncio.gather(*calls)

    control = {offset: body for _, offset, _, _, body in LogReader(log_redis, []).control()}
    ordinary = {entry.offset: entry.body for entry in entries_of(log_redis)}
    assert [(ordinary if n % 2 else control)[offset] for n, offset in enumerate(offsets)] == [
        b"%d" % n for n in range(40)
    ]


async def test_given_a_control_entry_that_fails_midway_then_its_caller_hears_of_it(
    appender: LogAppender, log_redis: Redis
) -> None:
    log_redis.set("log:2", "not a stream")

    with pytest.raises(UnavailableError):
        await appender.append_control("ten_1", "program", T0, b"{}", to_programs=[to_program(2)])

    assert appender.last_appended(2) == 0


async def test_given_a_stream_ahead_of_the_clock_when_its_count_grows_too_far_then_offsets_move_on_in_order(
    appender: LogAppender, log_redis: Redis
) -> None:
    ahead_ms = 2**42
    log_redis.xadd("log:0", {"k": "bank", "p": "", "t": 0, "b": b""}, id=f"{ahead_ms}-{2**19 - 1}")

    at_the_edge = await append(appender)
    beyond = await asyncio.gather(*(append(appender) for _ in range(10)))

    assert stream_id_of(at_the_edge) == f"{ahead_ms}-{2**19}"
    assert [stream_id_of(offset) for offset in beyond] == [f"{ahead_ms + 1}-{n}" for n in range(10)]


async def test_given_a_caller_that_goes_away_then_the_others_are_served(
    appender: LogAppender, log_redis: Redis
) -> None:
    calls = [asyncio.create_task(append(appender, b"%d" % n)) for n in range(10)]
    await asyncio.sleep(0)

    calls[3].cancel()

    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [int] * 3 + [asyncio.CancelledError] + [int] * 6
    assert await append(appender, b"after") == entries_of(log_redis)[-1].offset


@pytest.mark.parametrize(("limit", "value"), [("MAX_WAITING_ENTRIES", 3), ("MAX_WAITING_BYTES", 3 * 1_000)])
async def test_given_more_than_may_wait_then_the_rest_are_refused_at_once_and_room_comes_back(
    appender: LogAppender, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(appender_module, limit, value)

    outcomes = await asyncio.gather(*(outcome_of(appender, bytes(1_000)) for _ in range(5)))

    assert [type(outcome) for outcome in outcomes] == [int] * 3 + [UnavailableError] * 2
    assert await append(appender) > 0


async def test_given_a_connection_when_an_entry_is_appended_then_it_is_sent_in_the_same_turn_of_the_event_loop(
    appender: LogAppender, log_redis: Redis
) -> None:
    await append(appender)

    call = asyncio.create_task(append(appender, b"next"))
    await asyncio.sleep(0)

    eventually(lambda: len(entries_of(log_redis)) == 2)  # meanwhile no turn of the loop is taken
    assert await call == entries_of(log_redis)[-1].offset


async def test_given_a_password_and_a_database_in_the_url_when_appended_then_they_count(
    own_server: EmbeddedRedis,
) -> None:
    with closing(connect_sync(own_server.socket_path)) as admin:
        admin.config_set("requirepass", "of-the-bank")
    async with connect_async(f"unix://:of-the-bank@{own_server.socket_path}?db=3") as client:
        offset = await append(LogAppender(client, shards=SHARDS))

    with closing(connect_sync(f"unix://:of-the-bank@{own_server.socket_path}?db=3")) as reader:
        assert [entry.offset for entry in entries_of(reader)] == [offset]


@pytest.mark.parametrize(
    "replies", [b"?nonsense\r\n", b"$3\r\n9-1\r\n+OK\r\n"], ids=["no reply", "a reply that nobody asked for"]
)
async def test_given_a_server_that_breaks_the_protocol_when_appended_next_then_another_connection_is_taken(
    tmp_path: Path, replies: bytes
) -> None:
    with scripted(tmp_path / "server.sock", replies, b"$3\r\n9-5\r\n"):
        async with connect_async(tmp_path / "server.sock") as client:
            appender = LogAppender(client, shards=SHARDS)
            await outcome_of(appender)

            assert stream_id_of(await append(appender)) == "9-5"


@contextmanager
def scripted(path: Path, *replies: bytes) -> Iterator[None]:
    """A server that answers appends on each of its connections in turn with these bytes, and all else with PONG."""

    def serve(listening: socket.socket) -> None:
        for reply in replies:
            connection, _ = listening.accept()
            with connection:
                while sent := connection.recv(1 << 16):
                    connection.sendall(reply if b"XADD" in sent else b"+PONG\r\n" * sent.count(b"*"))

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield
        thread.join()
