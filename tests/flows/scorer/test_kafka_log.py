"""A log in Kafka gives the rows that the same log in Redis gives, in one process and in scorers of their own."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest
import redis

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.event_results import EventResult
from clearhold.features.core.log_entry import EntryKind, LogEntry, shard_of
from clearhold.features.core.program import Program
from clearhold.features.shard.questions import SeenEvents
from clearhold.flows.engine import Engine
from clearhold.flows.scorer.supervisor import ScorerProcesses
from clearhold.store.kafka_log.reader import KafkaLogReader
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.keys import shard_key
from clearhold.store.redis_log.server import EmbeddedRedis
from tests.flows.engine_room import APPENDED_AT, SHARDS, EngineRoom
from tests.flows.scorer.process_room import ProcessRoom
from tests.flows.scorer.test_scorer_processes import PROGRAMS, kill, rows_of
from tests.support.kafka import REAL, KafkaTopic, kafka_topic
from tests.support.waiting import eventually

WITHIN_S = 60.0

needs_a_cluster_to_harm = pytest.mark.skipif(bool(REAL), reason="A real broker is not harmed.")


@pytest.fixture(scope="module")
def history() -> list[LogEntry]:
    """Declarations and events of all programs, each with the offset that it gets in its shard."""
    events = [event for event in SimulatedBank(3).history(1_780_000_000_000_000) if event.program == "lending"][:500]
    declared = [
        (
            id_,
            EntryKind.PROGRAM,
            msgspec.json.encode(Program(id=id_, tenant_id="t1", slug="p", name="P", declared_rails=("ach",))),
        )
        for id_ in PROGRAMS
    ]
    sent = [(id_, EntryKind.BANK, event.body) for event in events for id_ in PROGRAMS]
    offsets: Counter[int] = Counter()
    entries = []
    for number, (program_id, kind, body) in enumerate([*declared, *sent]):
        shard = shard_of(program_id, SHARDS)
        offsets[shard] += 1
        entries.append(LogEntry(shard, offsets[shard], kind.value, program_id, APPENDED_AT + number, body))
    return entries


@pytest.fixture
def topic() -> Iterator[KafkaTopic]:
    with kafka_topic(SHARDS, brokers=2) as opened:
        yield opened


@pytest.fixture
def expected(
    tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, history: list[LogEntry]
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the log in Redis, which is emptied then: only epochs are counted there from here on."""
    pipeline = log_redis.pipeline(transaction=False)
    for entry in history:
        fields: Any = {"k": entry.kind, "p": entry.program_id, "t": entry.appended_at, "b": entry.body}
        pipeline.xadd(shard_key(entry.shard), fields, id=f"0-{entry.offset}")
    pipeline.execute()
    (tmp_path / "redis").mkdir()
    room = EngineRoom(tmp_path / "redis", lambda: connect_sync(redis_server.socket_path))
    with room.running():
        pass
    log_redis.flushall()
    rows = rows_of(room)
    assert len(rows["transfers"]) > len(PROGRAMS) * 50
    return rows


def in_one_process(folder: Path, redis_server: EmbeddedRedis, topic: KafkaTopic) -> EngineRoom:
    folder.mkdir()
    return EngineRoom(
        folder,
        lambda: connect_sync(redis_server.socket_path),
        lambda shards: KafkaLogReader(topic.address, shards),
    )


def in_processes(folder: Path, redis_server: EmbeddedRedis, topic: KafkaTopic) -> ProcessRoom:
    address = f"kafka://{topic.address.servers}/{topic.address.topic}"
    return ProcessRoom(folder, redis_server.socket_path, log=address)


def wait_until_committed(engine: Engine, entries: Sequence[LogEntry]) -> None:
    newest = {entry.shard: entry.offset for entry in entries}
    eventually(
        lambda: all(engine.progress.committed_offset(shard) >= offset for shard, offset in newest.items()),
        within_s=WITHIN_S,
    )


def assert_same(found: dict[str, list[tuple[Any, ...]]], expected: dict[str, list[tuple[Any, ...]]]) -> None:
    for table, rows in expected.items():
        assert found[table] == rows, table


def middles(entries: Sequence[LogEntry]) -> dict[int, int]:
    """For each shard of the first half its last offset there."""
    return {entry.shard: entry.offset for entry in entries[: len(entries) // 2]}


def test_given_the_same_entries_in_kafka_when_scored_across_a_restart_then_every_row_is_that_of_redis(
    tmp_path: Path,
    redis_server: EmbeddedRedis,
    topic: KafkaTopic,
    history: list[LogEntry],
    expected: dict[str, list[tuple[Any, ...]]],
) -> None:
    room = in_one_process(tmp_path / "kafka", redis_server, topic)
    half = len(history) // 2
    topic.append(history[:half])
    with room.running() as engine:
        wait_until_committed(engine, history[:half])
    assert room.snapshots()

    topic.append(history[half:])
    if not REAL:  # What the snapshots hold is not read again.
        for shard, middle in middles(history).items():
            topic.cluster.drop_before(topic.address.topic, shard, middle)
    with room.running() as engine:
        wait_until_committed(engine, history)

    assert_same(rows_of(room), expected)


@pytest.mark.parametrize("scorers", [1, 2])
def test_given_the_same_entries_in_kafka_when_scored_in_processes_that_are_killed_then_every_row_is_that_of_redis(
    tmp_path: Path,
    redis_server: EmbeddedRedis,
    topic: KafkaTopic,
    history: list[LogEntry],
    expected: dict[str, list[tuple[Any, ...]]],
    scorers: int,
) -> None:
    room = in_processes(tmp_path / "processes", redis_server, topic)
    half = len(history) // 2
    topic.append(history[:half])
    with room.running(scorers) as (engine, processes):
        wait_until_committed(engine, history[: half // 2])
        kill(processes.processes[0].pid)
        topic.append(history[half:])
        wait_until_committed(engine, history)

    assert_same(rows_of(room), expected)


@needs_a_cluster_to_harm
def test_given_brokers_that_go_away_when_they_are_back_then_every_row_is_that_of_redis_and_questions_were_answered(
    tmp_path: Path,
    redis_server: EmbeddedRedis,
    topic: KafkaTopic,
    history: list[LogEntry],
    expected: dict[str, list[tuple[Any, ...]]],
) -> None:
    room = in_processes(tmp_path / "processes", redis_server, topic)
    half = len(history) // 2
    topic.append(history[:half])
    body = history[len(PROGRAMS)].body
    known = (msgspec.json.decode(body)["id"], crc32(body))
    with room.running(1) as (engine, processes):
        wait_until_committed(engine, history[:half])
        topic.cluster.stop()
        assert asyncio.run(answers(processes, known, count=30)) == [True] * 30
        assert engine.failure is None
        topic.cluster.start()
        topic.append(history[half:])
        wait_until_committed(engine, history)
        assert [each.restarts for each in processes.processes] == [0]

    assert_same(rows_of(room), expected)


@needs_a_cluster_to_harm
@pytest.mark.usefixtures("log_redis")
def test_given_a_log_that_dropped_what_is_not_scored_yet_then_scoring_ends_with_a_sentence_and_skips_nothing(
    tmp_path: Path, redis_server: EmbeddedRedis, topic: KafkaTopic, history: list[LogEntry]
) -> None:
    room = in_one_process(tmp_path / "kafka", redis_server, topic)
    half = len(history) // 2
    topic.append(history[:half])
    with room.running() as engine:
        wait_until_committed(engine, history[:half])
    topic.append(history[half:])
    dropped = history[half].shard
    topic.cluster.drop_before(topic.address.topic, dropped, middles(history)[dropped] + 1)

    sentence = f"no longer has what follows offset {middles(history)[dropped]} of shard {dropped}"
    with pytest.raises(EndedError, match=sentence):
        run_until_it_ends(room)

    assert (
        dict(room.rows('SELECT shard, max("offset") FROM log_offsets GROUP BY shard'))[dropped]
        == middles(history)[dropped]
    )


class EndedError(Exception):
    """What an engine says that has ended by itself."""


def run_until_it_ends(room: EngineRoom) -> None:
    with room.running() as engine:
        eventually(lambda: engine.ended, within_s=WITHIN_S)
        raise EndedError(engine.failure)


async def answers(processes: ScorerProcesses, event: tuple[str, int], *, count: int) -> list[bool]:
    """One answer after another, over some time in which the scorer finds no log."""
    values = []
    for _ in range(count):
        answer = await processes.owner.query(PROGRAMS[0], SeenEvents((event,)))
        values.append(answer.value == (EventResult.DUPLICATE,))
        await asyncio.sleep(0.05)
    await processes.disconnect()
    return values
