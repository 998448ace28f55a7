"""Control entries that others removed from Redis are noticed, and put back at a start."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

from clearhold.store.control.entries import ControlKind
from clearhold.store.lake.log_segments import ControlCopy, LogSegments
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_async
from clearhold.store.redis_log.reader import TENANTS, LogReader, control_key, offset_of
from clearhold.store.seals import EntrySeals
from tests.support.clock import T0

SEALS = EntrySeals.under(bytes(range(32)))
KEY = control_key("ten_1")

pytestmark = pytest.mark.anyio


@pytest.fixture
async def appender(redis_server: EmbeddedRedis, log_redis: Redis) -> AsyncIterator[LogAppender]:  # noqa: ARG001
    client = connect_async(redis_server.socket_path)
    yield LogAppender(client, shards=1, seals=SEALS)
    await client.aclose()


@pytest.fixture
def segments(tmp_path: Path) -> LogSegments:
    return LogSegments(tmp_path, seals=SEALS)


def opened(redis: Redis, segments: LogSegments) -> ControlCopy:
    return ControlCopy(LogReader(redis, [], seals=SEALS), segments)


def entries_in(redis: Redis) -> Any:
    return redis.xrange(KEY)


def ids(redis: Redis) -> list[bytes]:
    return [stream_id for stream_id, _ in entries_in(redis)]


async def append(appender: LogAppender, number: int, tenant_id: str = "ten_1") -> None:
    await appender.append_control(tenant_id, ControlKind.API_KEY, T0, b'{"number":%d}' % number)


REMOVALS: dict[str, tuple[int, Callable[[Redis], object]]] = {
    "the first": (1, lambda redis: redis.xdel(KEY, ids(redis)[0])),
    "one between": (1, lambda redis: redis.xdel(KEY, ids(redis)[1])),
    "the last": (1, lambda redis: redis.xdel(KEY, ids(redis)[-1])),
    "two": (2, lambda redis: redis.xdel(KEY, *ids(redis)[:2])),
    "all but one": (2, lambda redis: redis.xtrim(KEY, 1, approximate=False)),
    "all": (3, lambda redis: redis.xtrim(KEY, 0, approximate=False)),
    "the tenant": (3, lambda redis: redis.srem(TENANTS, "ten_1")),
}


@pytest.mark.parametrize(("removed", "remove"), REMOVALS.values(), ids=REMOVALS)
async def test_given_removed_entries_when_copied_or_started_then_they_are_counted_and_a_start_puts_them_back(
    appender: LogAppender, log_redis: Redis, segments: LogSegments, removed: int, remove: Callable[[Redis], object]
) -> None:
    for number in range(3):
        await append(appender, number)
        await append(appender, number, "ten_2")
    running = opened(log_redis, segments)
    running.copy_all()
    before = list(LogReader(log_redis, [], seals=SEALS).control())

    remove(log_redis)
    with capture_logs() as lines:
        running.copy_all()
        running.copy_all()
    started = opened(log_redis, segments)
    counted = started.lacking()
    started.restore_removed()

    assert [(line["event"], line["tenant_id"], line["entries"]) for line in lines] == [
        ("control_entries_removed", "ten_1", removed)
    ]
    assert (running.removed, started.removed, counted) == (removed, removed, {"ten_1": removed, "ten_2": 0})
    assert list(LogReader(log_redis, [], seals=SEALS).control()) == before
    started.copy_all()
    assert (started.removed, opened(log_redis, segments).lacking()) == (removed, {"ten_1": 0, "ten_2": 0})
    log_redis.xdel(KEY, ids(log_redis)[1])  # once more
    started.copy_all()
    assert started.removed == removed + 1


async def test_given_an_entry_that_was_replaced_or_removed_before_its_copy_when_copied_then_it_is_counted(
    appender: LogAppender, log_redis: Redis, segments: LogSegments
) -> None:
    copy = opened(log_redis, segments)
    for number in range(2):
        await append(appender, number)
    copy.copy_all()
    assert copy.removed == 0

    log_redis.xdel(KEY, ids(log_redis)[-1])
    log_redis.xadd(KEY, {"k": "api_key", "t": T0, "b": b"{}"})  # forged, so that the number is the same
    copy.copy_all()
    assert copy.removed == 1

    await append(appender, 2)
    log_redis.xdel(KEY, ids(log_redis)[-1])
    copy.copy_all()
    assert copy.removed == 2


async def test_given_an_entry_that_was_moved_behind_its_revocation_when_started_then_only_the_entry_in_its_place_counts(
    appender: LogAppender, log_redis: Redis, segments: LogSegments
) -> None:
    for number in range(2):
        await append(appender, number)
    opened(log_redis, segments).copy_all()
    before = list(LogReader(log_redis, [], seals=SEALS).control())
    (key_id, key), _ = entries_in(log_redis)
    log_redis.xdel(KEY, key_id)
    moved: Any = log_redis.xadd(KEY, key)

    reader = LogReader(log_redis, [], seals=SEALS)
    copy = ControlCopy(reader, segments)
    copy.restore_removed()

    assert list(reader.control()) == before
    assert (copy.removed, reader.forged_control) == (1, {("ten_1", offset_of(moved))})


async def test_given_a_repeated_entry_when_a_start_copies_it_first_then_the_earlier_one_still_counts(
    appender: LogAppender, log_redis: Redis, segments: LogSegments
) -> None:
    await append(appender, 0)
    opened(log_redis, segments).copy_all()
    before = list(LogReader(log_redis, [], seals=SEALS).control())
    log_redis.xadd(KEY, entries_in(log_redis)[0][1])

    reader = LogReader(log_redis, [], seals=SEALS)
    copy = ControlCopy(reader, segments)
    copy.restore_removed()

    assert list(reader.control()) == before
    copy.copy_all()
    opened(log_redis, segments).restore_removed()

    assert (copy.removed, len(reader.forged_control)) == (0, 1)
    assert opened(log_redis, segments).lacking() == {"ten_1": 0}


async def test_given_entries_that_are_not_copied_yet_when_copied_then_none_is_counted(
    appender: LogAppender, log_redis: Redis, segments: LogSegments
) -> None:
    copy = opened(log_redis, segments)
    log_redis.sadd(TENANTS, "ten_without_entries")
    await append(appender, 0)
    copy.copy_all()
    for number in range(1, 4):
        await append(appender, number)

    assert copy.lacking() == {"ten_1": 0, "ten_without_entries": 0}
    copy.copy_all()

    assert copy.removed == 0
    assert len(list(segments.control("ten_1").read(0))) == len(segments.control("ten_1").segments) == 4


JUNK: dict[bytes, Any] = {b"k": b"api_key", b"t": b"1", b"b": b"{}"}
REPLACEMENTS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "in its place": lambda rows: [*rows[:1], (rows[1][0], JUNK), *rows[2:]],
    "before it": lambda rows: [(b"1-1", JUNK), rows[0], *rows[2:]],
    "by the entry before it": lambda rows: [*rows[:1], (rows[1][0], rows[0][1]), *rows[2:]],
    "by a copy of itself before all": lambda rows: [(b"1-1", rows[1][1]), rows[0], *rows[1:]],
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS)
async def test_given_an_entry_in_the_place_of_a_removed_one_when_started_then_the_removed_one_is_counted_and_put_back(
    appender: LogAppender, log_redis: Redis, segments: LogSegments, replace: Callable[[list[Any]], list[Any]]
) -> None:
    for number in range(3):
        await append(appender, number)
    running = opened(log_redis, segments)
    running.copy_all()
    before = list(LogReader(log_redis, [], seals=SEALS).control())

    written = replace(entries_in(log_redis))
    log_redis.delete(KEY)
    for stream_id, fields in written:
        log_redis.xadd(KEY, fields, id=stream_id)
    running.copy_all()
    reader = LogReader(log_redis, [], seals=SEALS)
    started = ControlCopy(reader, segments)
    started.restore_removed()

    assert (running.removed, started.removed) == (1, 1)
    assert list(reader.control()) == before


@pytest.mark.parametrize("tenants", [1, 5])
async def test_given_tenants_when_copied_again_then_their_list_is_read_once(
    appender: LogAppender, log_redis: Redis, segments: LogSegments, tenants: int
) -> None:
    for number in range(tenants):
        await append(appender, number, f"ten_{number}")
    copy = opened(log_redis, segments)
    copy.copy_all()

    log_redis.config_resetstat()
    copy.copy_all()

    assert log_redis.info("commandstats")["cmdstat_smembers"]["calls"] == 1


async def test_given_forged_entries_when_copied_again_and_again_then_each_is_logged_once(
    appender: LogAppender, log_redis: Redis, segments: LogSegments
) -> None:
    await append(appender, 0)
    copy = opened(log_redis, segments)
    copy.copy_all()
    ((_, sealed),) = entries_in(log_redis)

    with capture_logs() as lines:
        forgeries: list[Any] = [sealed, JUNK, {"x": "y"}]
        added: list[Any] = [log_redis.xadd(KEY, fields) for fields in forgeries]
        for _ in range(3):
            copy.copy_all()

    forged = [("forged_entry", KEY, offset_of(stream_id)) for stream_id in added]
    assert [(line["event"], line["stream"], line["offset"]) for line in lines] == forged
