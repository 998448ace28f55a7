"""The engine: from log to tables, over restarts, damaged state snapshots, a trimmed log and unreadable entries."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
import redis

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.log_entry import EntryKind, LogEntry, shard_of
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.events import EventRow
from clearhold.flows.commit.committer import Committer
from clearhold.flows.stream.dataflow import LogSource, ShardResults, batch_of
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.lake.log_segments import LogSegments, Segmenter
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader, stream_id_of
from tests.flows.engine_room import SHARDS, EngineRoom, append, shards_of
from tests.support.duck_rows import an_event
from tests.support.waiting import eventually

PROGRAM = "3f0c8a52-0000-4000-8000-000000000001"
OTHER = "3f0c8a52-0000-4000-8000-000000000002"
SCORES = "SELECT id, score, score_band, score_n, score_confidence FROM transfers_latest ORDER BY program_id, id"
VERSIONS = "SELECT program_id, id, status, score, bank_created_at FROM transfers ORDER BY ALL"
VECTORS = (
    "SELECT COLUMNS(c -> c NOT IN ('offset', 'scored_at', 'program_id', 'shard')) FROM transfer_features "
    "WHERE program_id = '{}' ORDER BY transfer_id, taken_at, status, score"
)


@pytest.fixture
def room(tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis) -> EngineRoom:  # noqa: ARG001 - flushed
    return EngineRoom(tmp_path, open_redis(redis_server))


@pytest.fixture(scope="module")
def history() -> list[bytes]:
    return [event.body for event in SimulatedBank(3).history(1_780_000_000_000_000) if event.program == "lending"][:900]


def open_redis(server: EmbeddedRedis) -> Callable[[], redis.Redis]:
    return lambda: connect_sync(server.socket_path)


def declared(program_id: str) -> bytes:
    return msgspec.json.encode(Program(id=program_id, tenant_id="t1", slug="p", name="P", declared_rails=("ach",)))


def test_given_the_same_history_in_two_programs_when_applied_then_the_scores_are_the_same(
    room: EngineRoom, log_redis: redis.Redis, history: list[bytes]
) -> None:
    for program_id in (PROGRAM, OTHER):
        append(log_redis, program_id, [declared(program_id)], EntryKind.PROGRAM)
        append(log_redis, program_id, history)

    with room.running():
        pass

    scores = room.rows(SCORES)
    assert len(scores) > 200
    assert scores[: len(scores) // 2] == scores[len(scores) // 2 :]
    assert room.rows(VECTORS.format(PROGRAM)) == room.rows(VECTORS.format(OTHER))


def test_given_restarts_between_the_events_then_the_record_is_that_of_one_run(
    tmp_path: Path, room: EngineRoom, log_redis: redis.Redis, history: list[bytes]
) -> None:
    append(log_redis, PROGRAM, history)
    with room.running():
        pass
    at_once, vectors = room.rows(VERSIONS), room.rows(VECTORS.format(PROGRAM))
    log_redis.flushall()
    in_parts = EngineRoom(tmp_path / "parts", room.open_redis)
    in_parts.folder.mkdir()

    for start in range(0, len(history), 200):
        append(log_redis, PROGRAM, history[start : start + 200])
        with in_parts.running():
            pass

    assert in_parts.rows(VERSIONS) == at_once
    assert in_parts.rows(VECTORS.format(PROGRAM)) == vectors


@pytest.mark.parametrize("page_s", [0.0, 0.004], ids=["an entry a page", "a few entries a page"])
def test_given_pages_that_end_elsewhere_then_the_record_is_the_same(
    page_s: float,
    tmp_path: Path,
    room: EngineRoom,
    log_redis: redis.Redis,
    history: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for program_id in (PROGRAM, OTHER):
        append(log_redis, program_id, history[:200])
    with room.running():
        pass
    monkeypatch.setattr("clearhold.flows.stream.dataflow.PAGE_S", page_s)
    in_small_pages = EngineRoom(tmp_path / "small", room.open_redis)
    in_small_pages.folder.mkdir()

    with in_small_pages.running():
        pass

    assert in_small_pages.rows(VERSIONS) == room.rows(VERSIONS)
    for program_id in (PROGRAM, OTHER):
        assert in_small_pages.rows(VECTORS.format(program_id)) == room.rows(VECTORS.format(program_id))


def test_given_a_damaged_snapshot_when_started_then_the_log_is_replayed_and_nothing_is_doubled(
    room: EngineRoom, log_redis: redis.Redis, history: list[bytes]
) -> None:
    append(log_redis, PROGRAM, history[:400])
    with room.running():
        pass
    before = room.rows(VERSIONS)
    for snapshot in room.snapshots():
        snapshot.write_bytes(snapshot.read_bytes()[:-50])

    append(log_redis, PROGRAM, history[400:])
    with room.running():
        pass

    after = room.rows(VERSIONS)
    assert len(after) == len(set(room.rows('SELECT shard, "offset" FROM transfers')))
    assert set(before) < set(after)


def test_given_a_log_trimmed_behind_its_segments_when_no_snapshot_is_left_then_the_segments_are_replayed(
    room: EngineRoom, log_redis: redis.Redis, history: list[bytes]
) -> None:
    append(log_redis, PROGRAM, history[:500])
    with room.running() as engine:
        shard = shard_of(PROGRAM, SHARDS)
        committed = engine.progress.committed_offset(shard)
    segmenter = Segmenter(LogReader(log_redis, range(SHARDS)), LogSegments(room.folder / "lake"), linger_ms=0)
    assert segmenter.run_once(shard, committed, committed) == 500
    for snapshot in room.snapshots():
        snapshot.unlink()

    append(log_redis, PROGRAM, history[500:])
    with room.running() as engine:
        events = shards_of(engine).state(shard).programs[PROGRAM].events
        assert len(events) == len({msgspec.json.decode(body)["id"] for body in history})

    assert room.rows("SELECT count(*) FROM bank_events") == [(len(history),)]


class StallingReader(LogReader):
    """Reads nothing from ``stall`` on until ``proceed``, like a process that was stopped."""

    def __init__(self, client: redis.Redis, shards: Sequence[int]) -> None:
        super().__init__(client, shards)
        self._free, self._waits = Event(), Event()
        self._free.set()

    def read(self, after: Mapping[int, int], *, count: int, block_ms: int) -> list[tuple[int, list[LogEntry]]]:
        self._waits.set()
        self._free.wait(60)
        return super().read(after, count=count, block_ms=block_ms)

    def stall(self) -> None:
        self._free.clear()
        self._waits.clear()
        assert self._waits.wait(60)

    def proceed(self) -> None:
        self._free.set()


@pytest.mark.parametrize("kept", [40, 0])
def test_given_entries_that_another_service_trimmed_when_scoring_goes_on_then_it_ends_with_both_offsets(
    tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, history: list[bytes], kept: int
) -> None:
    readers: list[StallingReader] = []

    def open_reader(shards: Sequence[int]) -> LogReader:
        readers.append(StallingReader(connect_sync(redis_server.socket_path), shards))
        return readers[-1]

    room, shard = EngineRoom(tmp_path, open_redis(redis_server), open_reader), shard_of(PROGRAM, SHARDS)
    append(log_redis, PROGRAM, history[:100])
    other = LogReader(log_redis, range(SHARDS))
    read_upto, trimmed, failure = other.tail(shard), 0, ""
    with suppress(AssertionError), room.running() as engine:  # the room wants a flow that has not failed
        readers[-1].stall()
        append(log_redis, PROGRAM, history[100:200])
        trimmed = other.tail(shard)
        other.trim(shard, trimmed)
        append(log_redis, PROGRAM, history[200 : 200 + kept])
        readers[-1].proceed()
        eventually(lambda: engine.ended)
        failure = engine.failure or ""

    assert f"LogGapError: Redis has the log of shard {shard} from {stream_id_of(trimmed + 1)} on" in failure
    assert f"the entries after {stream_id_of(read_upto)} were asked for" in failure
    assert room.rows("SELECT count(*) FROM bank_events") == [(100,)]


def test_given_snapshots_ahead_of_the_tables_when_started_then_the_log_fills_the_tables_again(
    room: EngineRoom, log_redis: redis.Redis, history: list[bytes]
) -> None:
    append(log_redis, PROGRAM, history[:300])
    with room.running():
        pass
    scores = room.rows(SCORES)
    (room.folder / "clearhold.duckdb").unlink()
    assert room.snapshots()

    with room.running():
        pass

    assert room.rows(SCORES) == scores
    assert room.rows("SELECT count(*) FROM bank_events") == [(300,)]


def test_given_a_round_of_maintenance_that_redis_refuses_then_the_next_round_comes(
    room: EngineRoom, log_redis: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.flows.engine._MAINTENANCE_EVERY_S", 0.01)
    log_redis.set("log:tenants", "not a set")
    seen: list[int] = []
    monkeypatch.setattr(Segmenter, "run_once", lambda _self, shard, *_: seen.append(shard))

    with room.running():
        eventually(lambda: seen)


def test_given_a_log_that_is_replayed_when_maintenance_begins_then_all_that_the_start_found_is_committed(
    room: EngineRoom, log_redis: redis.Redis, history: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log_redis, PROGRAM, history)
    shard = shard_of(PROGRAM, SHARDS)
    tail = LogReader(log_redis, range(SHARDS)).tail(shard)
    seen: list[int] = []
    monkeypatch.setattr(Segmenter, "run_once", lambda _self, of, committed, _: seen.append(committed * (of == shard)))

    with room.running():
        eventually(lambda: len(seen) >= SHARDS)

    assert max(seen[:SHARDS]) == tail


def test_given_a_replay_that_takes_long_when_its_time_is_over_then_maintenance_begins(
    room: EngineRoom, log_redis: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not log_redis.exists("log:tenants")
    monkeypatch.setattr("clearhold.flows.engine.MAINTENANCE_FROM_S", 0.0)
    monkeypatch.setattr(Segmenter, "run_once", lambda _self, shard, *_: seen.append(shard))
    seen: list[int] = []
    with room.running() as engine:
        monkeypatch.setattr(engine, "caught_up", lambda: False)
        eventually(lambda: seen)


def test_given_entries_that_cannot_be_read_then_they_are_set_aside_and_the_others_go_on(
    room: EngineRoom, log_redis: redis.Redis, history: list[bytes]
) -> None:
    append(log_redis, PROGRAM, [b"no json", *history[:100], b'{"id":"e","type":"t","created_at":"never"}'])
    append(log_redis, PROGRAM, [b"{}"], EntryKind.PREFLIGHT)

    with room.running():
        pass

    assert [kind for (kind,) in room.rows('SELECT kind FROM quarantine ORDER BY "offset"')] == [
        "bank",
        "bank",
        "preflight",
    ]
    assert room.rows("SELECT count(*) FROM bank_events") == [(100,)]


class _GoneThenBack:
    """A log that is out of reach for a moment."""

    def __init__(self, entries: list[LogEntry]) -> None:
        self._answers: list[Any] = [ConnectionError("gone"), [(0, entries)], []]

    def read(self, *_: object, **__: object) -> list[tuple[int, list[LogEntry]]]:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        found: list[tuple[int, list[LogEntry]]] = answer
        return found


def test_given_a_log_out_of_reach_when_it_is_back_then_reading_goes_on_and_draining_ends_the_flow() -> None:
    entry = LogEntry(shard=0, offset=7, kind="tick", program_id="", appended_at=1, body=b"")
    stopping, draining = Event(), Event()
    reader: Any = _GoneThenBack([entry])
    applied = {0: 0}
    source = LogSource(
        lambda _: reader,
        shards=[0],
        applied=applied.__getitem__,
        pause=lambda _: None,
        draining=draining,
        stopping=stopping,
    )
    partition = source.build("", 0, 1)

    assert list(partition.next_batch()) == []
    assert [(chunk.shard, chunk.entries) for chunk in partition.next_batch()] == [(0, [entry])]
    applied[0] = entry.offset
    draining.set()
    with pytest.raises(StopIteration):
        partition.next_batch()


def test_given_a_row_that_no_table_takes_when_its_batch_is_committed_then_it_is_set_aside_and_the_others_are_there(
    room: EngineRoom,
) -> None:
    good, odd = ShardResults(0), ShardResults(1)
    good.emit(_an_event_row(offset=5, created_at=7))
    odd.emit(_an_event_row(offset=6, created_at=2**70))
    good.offset, odd.offset = 5, 6
    progress = LogProgress(SHARDS)
    with closing(open_database(room.folder / "clearhold.duckdb")) as database:
        committer = Committer(BatchWriter(database), progress, clock=SystemClock(), epochs={})
        committer.put(batch_of([good, odd], {}))
        committer.start()
        assert committer.close(5.0)

    assert committer.failure is None
    assert room.rows('SELECT "offset" FROM bank_events') == [(5,)]
    assert room.rows('SELECT "offset", kind FROM quarantine') == [(6, "EventRow")]
    assert [progress.committed_offset(shard) for shard in (0, 1)] == [5, 6]


def _an_event_row(*, offset: int, created_at: int) -> EventRow:
    return an_event(program_id=PROGRAM, shard=0, offset=offset, event_id=f"evnt_{offset}", created_at=created_at)
