"""Events of committed rows in a real Redis: each once, in order, within the bounds, and never in the log's way."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import HOUR_US, SECOND_US
from clearhold.flows.live.publishing import QUEUED_COMMITS
from clearhold.store.duck.database import open_database
from clearhold.store.live import streams
from clearhold.store.live.entries import latest_key, stream_key
from clearhold.store.live.streams import (
    CURSOR,
    LATEST,
    LiveBounds,
    LiveStreams,
    LiveWrite,
    channel_of,
)
from clearhold.store.redis_log.owner import NotOwnerError
from tests.support.duck_rows import PROGRAM, a_score, a_transfer
from tests.support.live_room import SIMULATED, LiveRoom
from tests.support.redis_process import redis_of_its_own
from tests.support.waiting import eventually


@pytest.fixture
def room(tmp_path: Path) -> Iterator[LiveRoom]:
    with redis_of_its_own(tmp_path / "redis"), closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        opened = LiveRoom(tmp_path / "redis" / "redis.sock", database)
        yield opened
        opened.stop()


def test_given_commits_then_each_event_is_in_the_stream_of_its_program_once_and_in_order(room: LiveRoom) -> None:
    room.start()
    mine, others = room.transfers(30), room.transfers(5, program_id=SIMULATED, shard=1)
    room.settle()

    assert room.offsets() == mine
    assert room.offsets(SIMULATED) == others
    bodies = [msgspec.json.decode(fields[b"event"]) for _, fields in room.entries(SIMULATED)]
    assert [body["simulated"] for body in bodies] == [True] * 5
    assert "simulated" not in msgspec.json.decode(room.entries()[0][1][b"event"])


def test_given_a_commit_then_subscribers_of_its_program_get_the_id_of_the_newest_entry(room: LiveRoom) -> None:
    with room.client.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(channel_of(PROGRAM))
        eventually(lambda: room.client.pubsub_numsub(channel_of(PROGRAM))[0][1] == 1)
        room.start()
        room.transfers(1)
        message = None
        while message is None:
            message = heard.get_message(timeout=5)
    ((newest, _),) = room.entries()
    assert message["data"] == newest


def test_given_scores_then_the_hash_of_an_actor_has_its_newest_row_and_null_is_an_empty_text(room: LiveRoom) -> None:
    room.start()
    for number, score in enumerate((12, 40, None)):
        offset = room.next_offset()
        band = "unscored" if score is None else "watch"
        room.commit(a_score(id=f"scr_{number}", offset=offset, score=score, band=band, n=number, confidence=None))
    program = a_score(offset=room.next_offset(), subject_type="program", subject_id=PROGRAM, score=61, band="hold")
    room.commit(program)
    room.settle()

    stored = room.client.hgetall(latest_key("entity", PROGRAM, "ent_1"))
    assert stored == {
        b"score": b"",
        b"band": b"unscored",
        b"n": b"2",
        b"confidence": b"",
        b"version": b"ers-v1",
        b"at": b"2026-03-01T21:20:00.000Z",
    }
    assert room.client.hget(f"latest:program:{PROGRAM}", "score") == b"61"
    assert room.client.ttl(f"latest:program:{PROGRAM}") > 0


def test_given_a_full_queue_then_its_commits_are_read_from_the_tables_and_none_is_missing_or_twice(
    room: LiveRoom,
) -> None:
    ready = Event()
    room.start(ready=ready.is_set)
    committed = room.transfers(QUEUED_COMMITS + 5)
    assert room.live.counts.commits_dropped == QUEUED_COMMITS
    ready.set()
    committed += room.transfers(20)
    room.settle()

    assert room.offsets() == committed


def test_given_rows_that_are_packed_when_they_are_committed_then_only_then_are_they_in_the_stream(
    room: LiveRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, was_packed = LiveStreams.packed, Event()

    def notes(streams: LiveStreams, *given: Any) -> LiveWrite:
        was_packed.set()
        return packed(streams, *given)

    monkeypatch.setattr(LiveStreams, "packed", notes)
    room.start()
    before = room.transfers(1)
    room.settle()
    was_packed.clear()
    offset = room.next_offset()
    commit = room.prepare(a_transfer(offset=offset, scored_offset=offset))
    assert was_packed.wait(30)
    assert room.offsets() == before
    assert room.live.counts.behind_since is None

    commit()
    after = room.transfers(2)
    room.settle()
    assert room.offsets() == [*before, offset, *after]


def test_given_rows_that_are_never_committed_then_no_run_writes_them(room: LiveRoom) -> None:
    room.start()
    before, lost = room.transfers(2), room.next_offset()
    room.prepare(a_transfer(offset=lost, scored_offset=lost))
    room.settle()
    room.restart()
    after = room.transfers(2)
    room.settle()

    assert room.offsets() == [*before, *after]


@pytest.mark.parametrize("failures", [0, 1], ids=["at the start", "after a failure"])
def test_given_rows_under_way_while_the_tables_are_read_then_they_follow_once_they_are_committed(
    room: LiveRoom, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    read, was_read, reads = LiveStreams.cursors, Event(), count()

    def fails_first(streams: LiveStreams) -> dict[int, int]:
        if next(reads) < failures:
            raise ConnectionError("Redis is gone.")
        was_read.set()
        return read(streams)

    monkeypatch.setattr(LiveStreams, "cursors", fails_first)
    before, under_way = room.transfers(2), room.next_offset()
    commit = room.prepare(a_transfer(offset=under_way, scored_offset=under_way))
    room.start()
    assert was_read.wait(30)
    commit()
    after = room.transfers(2)
    room.settle()

    assert room.offsets() == [*before, under_way, *after]
    assert room.live.counts.failures == failures


def test_given_commits_without_the_thread_when_it_starts_then_they_are_read_from_the_tables(room: LiveRoom) -> None:
    committed = room.transfers(3)
    entry = room.next_offset()
    rows = [a_score(id=f"scr_{number:05}", offset=entry) for number in range(2_500)]  # one entry over several pages
    room.commit(*rows, a_transfer(offset=entry, scored_offset=entry))
    committed += [entry] * 2_501 + room.transfers(3)
    room.start()
    room.settle()

    assert room.offsets() == committed
    assert int(room.client.hget(CURSOR, "3") or 0) == committed[-1]


@pytest.mark.parametrize("source", ["queue", "tables"])
def test_given_one_entry_that_changes_the_scores_of_thousands_of_actors_then_all_of_them_are_written(
    room: LiveRoom, source: str
) -> None:
    if source == "queue":
        room.start()
    entry = room.next_offset()
    actors = [f"ent_{number:05}" for number in range(9_000)]
    room.commit(*(a_score(id=f"scr_{each}", subject_id=each, offset=entry) for each in actors))
    after = room.transfers(2)
    if source == "tables":
        room.start()
    room.settle()

    assert room.offsets() == [entry] * len(actors) + after
    assert all(room.client.exists(latest_key("entity", PROGRAM, each)) for each in (actors[0], actors[-1]))
    assert room.live.counts.failures == 0


def test_given_a_failure_within_a_large_entry_then_it_is_written_again_without_a_repeat_or_a_hole(
    room: LiveRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, entry = room.transfers(2), room.next_offset()
    room.commit(*(a_score(id=f"scr_{number:05}", subject_id=f"ent_{number}", offset=entry) for number in range(1_000)))
    write, writes = LiveStreams.write, count()

    def fails_once(streams: LiveStreams, *written: Any) -> int:
        if next(writes) == 1:
            raise ConnectionError("Redis is gone.")
        return write(streams, *written)

    monkeypatch.setattr(LiveStreams, "write", fails_once)
    room.start()
    eventually(lambda: room.live.counts.failures == 1)
    assert int(room.client.hget(CURSOR, "3") or 0) == before[-1]
    after = room.transfers(2)
    room.settle()

    assert room.offsets() == [*before, *[entry] * 1_000, *after]
    assert int(room.client.hget(CURSOR, "3") or 0) == after[-1]


def test_given_a_stream_that_redis_cannot_write_then_its_events_follow_once_it_can(room: LiveRoom) -> None:
    room.client.set(stream_key(PROGRAM), "of others")
    room.start()
    mine, others = room.transfers(3), room.transfers(3, program_id=SIMULATED)
    eventually(lambda: room.live.counts.failures >= 1)
    room.client.delete(stream_key(PROGRAM))
    mine += room.transfers(2)
    room.settle()

    assert room.offsets() == mine
    assert room.offsets(SIMULATED) == others


def test_given_more_hashes_than_there_may_be_then_the_ones_that_were_written_first_end(
    room: LiveRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_LATEST", 3)
    room.start()
    for number in range(5):
        room.commit(a_score(id=f"scr_{number}", subject_id=f"ent_{number}", offset=room.next_offset()))
        room.clock.advance(SECOND_US)
    room.settle()

    left = [latest_key("entity", PROGRAM, f"ent_{number}").encode() for number in (2, 3, 4)]
    assert room.client.zrange(LATEST, 0, -1) == left
    assert sorted(room.client.keys("latest:*")) == left


def test_given_an_emptied_redis_then_a_start_writes_again_what_is_within_the_bounds(room: LiveRoom) -> None:
    room.bounds = LiveBounds(most_entries=200, kept_us=2 * HOUR_US)
    room.transfers(5)
    room.clock.advance(3 * HOUR_US)
    quiet = room.transfers(7, program_id=SIMULATED)  # of the same shard
    busy = room.transfers(450)
    room.restart()
    room.settle()
    assert room.offsets() == busy[-200:]
    before = room.entries()

    room.stop()
    room.client.delete(CURSOR, stream_key(PROGRAM), stream_key(SIMULATED))
    room.restart()
    room.settle()

    assert room.entries() == before
    assert room.offsets(SIMULATED) == quiet


def test_given_a_lost_cursor_then_entries_that_are_there_are_refused_by_their_ids(room: LiveRoom) -> None:
    room.start()
    committed = room.transfers(10)
    room.settle()
    room.stop()
    room.client.delete(CURSOR)
    committed += room.transfers(2)
    room.restart()
    room.settle()

    assert room.offsets() == committed


def test_given_entries_beyond_the_bounds_then_they_end(room: LiveRoom) -> None:
    room.bounds = LiveBounds(most_entries=100, kept_us=2 * HOUR_US)
    room.restart()
    committed = room.transfers(450)
    room.settle()
    assert 100 <= len(room.offsets()) <= 200  # whole nodes of the stream go at a time
    assert room.offsets() == committed[-len(room.offsets()) :]
    assert 0 < room.client.ttl(stream_key(PROGRAM)) <= 2 * 3_600

    room.clock.advance(3 * HOUR_US)
    room.restart()  # trims at once, and again each minute
    eventually(lambda: room.offsets() == [])


def test_given_a_redis_near_its_limit_then_the_streams_go_first_and_later_the_hole_is_filled(room: LiveRoom) -> None:
    room.start()
    room.transfers(300)
    room.settle()
    used = int(room.client.info("memory")["used_memory"])
    room.client.config_set("maxmemory", int(used / 0.5))
    eventually(lambda: room.live.counts.is_suspended and room.offsets() == [])
    eventually(lambda: room.live.counts.trimmed >= 300)
    assert room.live.is_degraded

    held_back = room.transfers(100)
    room.client.xadd("log:3", {"k": "bank"})  # the log takes entries all the while
    assert room.live.counts.behind_since is not None
    assert room.offsets() == []

    room.client.config_set("maxmemory", 0)
    eventually(lambda: not room.live.counts.is_suspended)
    held_back += room.transfers(10)
    room.settle()
    eventually(lambda: not room.live.is_degraded)
    assert room.offsets() == held_back


def test_given_a_log_that_another_service_may_own_then_nothing_is_written_until_it_is_ours_again(
    room: LiveRoom,
) -> None:
    owns = Event()

    def require_owner() -> None:
        if not owns.is_set():
            raise NotOwnerError

    room.live.start(lambda: True, require_owner)
    mine = room.transfers(3)
    eventually(lambda: room.live.counts.failures)
    assert room.entries() == []

    owns.set()
    room.settle()
    assert room.offsets() == mine
