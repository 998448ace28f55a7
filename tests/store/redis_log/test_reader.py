"""The reader hands out entries in order, each once, from any offset on."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.redis_log import reader as reader_module
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import LogGapError, LogReader, offset_of, stream_id_of
from tests.support.clock import T0


@pytest.fixture
def reader(log_redis: Redis) -> LogReader:
    return LogReader(log_redis, [0, 1, 2])


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path)
    server.start()
    yield server
    server.stop()


def add(client: Redis, key: str, body: bytes = b"{}", *, kind: str = "bank") -> int:
    return offset_of(client.xadd(key, {"k": kind, "p": "prg_1", "t": T0, "b": body}))


def bodies(entries: list[LogEntry]) -> list[bytes]:
    return [entry.body for entry in entries]


def test_given_an_entry_when_read_then_it_comes_as_it_was_appended(reader: LogReader, log_redis: Redis) -> None:
    offset = add(log_redis, "log:1", b"\x00\xff")

    [(shard, entries)] = reader.read({}, count=10, block_ms=0)

    assert shard == 1
    assert entries == [
        LogEntry(shard=1, offset=offset, kind="bank", program_id="prg_1", appended_at=T0, body=b"\x00\xff")
    ]


def test_given_offsets_when_read_then_only_what_comes_after_them_in_order(reader: LogReader, log_redis: Redis) -> None:
    first = add(log_redis, "log:0", b"0")
    add(log_redis, "log:0", b"1")
    add(log_redis, "log:0", b"2")
    add(log_redis, "log:2", b"3")
    add(log_redis, "log:7", b"not ours")

    found = dict(reader.read({0: first}, count=10, block_ms=0))

    assert {shard: bodies(entries) for shard, entries in found.items()} == {0: [b"1", b"2"], 2: [b"3"]}


def test_given_more_than_asked_for_when_read_in_pages_then_nothing_is_missed_or_read_twice(
    reader: LogReader, log_redis: Redis
) -> None:
    for n in range(7):
        add(log_redis, "log:0", str(n).encode())
    seen: list[bytes] = []
    after = {0: 0}

    while page := reader.read(after, count=3, block_ms=0):
        [(_, entries)] = page
        assert len(entries) <= 3
        seen += bodies(entries)
        after = {0: entries[-1].offset}

    assert seen == [str(n).encode() for n in range(7)]


@pytest.mark.timed
def test_given_nothing_new_when_read_then_it_answers_with_nothing_once_the_wait_is_over(reader: LogReader) -> None:
    started = time.monotonic()

    assert reader.read({}, count=10, block_ms=60) == []

    assert 0.05 <= time.monotonic() - started < 2


def test_given_no_shards_then_there_is_nothing_to_read(log_redis: Redis) -> None:
    assert LogReader(log_redis, []).read({}, count=10, block_ms=1_000) == []


@pytest.mark.timed
def test_given_a_reader_that_waits_when_an_entry_comes_then_it_wakes_at_once(
    reader: LogReader, redis_server: EmbeddedRedis
) -> None:
    with closing(connect_sync(redis_server.socket_path)) as other:
        later = threading.Timer(0.05, add, (other, "log:0", b"late"))
        later.start()
        started = time.monotonic()

        [(_, entries)] = reader.read({}, count=10, block_ms=2_000)

        later.join()
        assert bodies(entries) == [b"late"]
        assert time.monotonic() - started < 1


def test_given_a_range_when_read_then_its_start_is_excluded_and_its_end_included(
    reader: LogReader, log_redis: Redis
) -> None:
    offsets = [add(log_redis, "log:0", str(n).encode()) for n in range(5)]

    assert bodies(reader.range(0, offsets[0], offsets[3], count=10)) == [b"1", b"2", b"3"]
    assert bodies(reader.range(0, offsets[0], offsets[3], count=2)) == [b"1", b"2"]
    assert bodies(reader.range(0, 0, offsets[0], count=10)) == [b"0"]
    assert reader.range(0, offsets[3], offsets[3], count=10) == []
    assert reader.range(0, offsets[3], offsets[1], count=10) == []


def test_given_a_trim_then_the_rest_stays_and_the_tail_is_still_known(reader: LogReader, log_redis: Redis) -> None:
    offsets = [add(log_redis, "log:0", str(n).encode()) for n in range(5)]

    assert reader.trim(0, offsets[2]) == 3
    assert bodies(reader.range(0, 0, offsets[4], count=10)) == [b"3", b"4"]
    assert reader.trim(0, offsets[2]) == 0

    assert reader.trim(0, offsets[4]) == 2
    assert reader.read({0: offsets[4]}, count=10, block_ms=0) == []
    assert reader.tail(0) == offsets[4]
    assert add(log_redis, "log:0") > offsets[4]


@pytest.mark.parametrize("trimmed", [3, 4, 6], ids=["a part", "one beyond", "all"])
@pytest.mark.parametrize("block_ms", [0, 60])
def test_given_entries_trimmed_before_they_were_read_when_read_then_it_ends_and_names_both_offsets(
    reader: LogReader, log_redis: Redis, trimmed: int, block_ms: int
) -> None:
    offsets = [add(log_redis, "log:1", str(n).encode()) for n in range(7)]
    [(_, entries)] = reader.read({}, count=3, block_ms=0)
    assert entries[-1].offset == offsets[2]

    LogReader(log_redis, [1]).trim(1, offsets[trimmed])

    with pytest.raises(LogGapError) as gap:
        reader.read({0: 0, 1: offsets[2]}, count=3, block_ms=block_ms)
    assert f"from {stream_id_of(offsets[trimmed] + 1)} on" in str(gap.value)
    assert f"the entries after {stream_id_of(offsets[2])} were asked for" in str(gap.value)
    assert "shard 1" in str(gap.value)


def test_given_entries_trimmed_that_were_read_or_of_a_shard_of_others_when_read_then_it_goes_on(
    reader: LogReader, log_redis: Redis
) -> None:
    offsets = [add(log_redis, "log:1", str(n).encode()) for n in range(4)]
    other = add(log_redis, "log:7")
    for shard, upto in ((1, offsets[1]), (7, other)):
        reader.trim(shard, upto)

    found = dict(reader.read({1: offsets[1]}, count=10, block_ms=0))

    assert {shard: bodies(entries) for shard, entries in found.items()} == {1: [b"2", b"3"]}


def test_given_an_untouched_shard_then_its_tail_is_zero_and_a_trim_does_nothing(reader: LogReader) -> None:
    assert reader.tail(0) == 0
    assert reader.trim(0, 1 << 40) == 0


def test_given_several_tenants_then_control_goes_through_all_of_them_in_order_across_pages(
    reader: LogReader, log_redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "_CONTROL_PAGE", 2)
    log_redis.sadd("log:tenants", "ten_b", "ten_a")
    expected = [("ten_a", add(log_redis, "log:tenant:ten_a", b"%d" % n, kind="tenant"), b"%d" % n) for n in range(5)]
    expected += [("ten_b", add(log_redis, "log:tenant:ten_b", b"%d" % n, kind="program"), b"%d" % n) for n in range(4)]

    found = list(reader.control())

    assert [(tenant_id, offset, body) for tenant_id, offset, _, _, body in found] == expected
    assert {(kind, appended_at) for _, _, kind, appended_at, _ in found} == {("tenant", T0), ("program", T0)}


def test_given_redis_is_gone_when_read_then_it_is_a_connection_error_and_reading_goes_on_later(
    own_server: EmbeddedRedis,
) -> None:
    with closing(connect_sync(own_server.socket_path)) as client:
        reader = LogReader(client, [0])
        offset = add(client, "log:0")
        own_server.stop()

        with pytest.raises(ConnectionError):
            reader.read({}, count=10, block_ms=0)
        with pytest.raises(ConnectionError):
            reader.tail(0)
        with pytest.raises(ConnectionError):
            list(reader.control())

        own_server.start()
        assert reader.tail(0) == offset


def test_given_a_redis_whose_clock_was_ahead_then_the_newest_entry_is_that_of_the_services_clock_while_there_is_one(
    reader: LogReader, log_redis: Redis
) -> None:
    assert reader.newest_at() == 0
    ahead = (T0 // 1_000 + 365 * 86_400_000) << 20
    log_redis.xadd("log:0", {"k": "tick", "p": "", "t": T0, "b": b""}, id=stream_id_of(ahead))
    assert reader.newest_at() == T0
    reader.trim(0, ahead)
    assert reader.newest_at() == T0 + 365 * 86_400_000_000

    add(log_redis, "log:2")
    assert reader.newest_at() == T0
