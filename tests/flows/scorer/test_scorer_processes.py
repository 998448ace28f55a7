"""Scorer processes: the same rows as in one process, also when they are killed or hang."""

import asyncio
import os
import signal
import subprocess
import threading
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest
import redis

from clearhold.demo.bank import SimulatedBank
from clearhold.features.bank.envelope import EnvelopeError, read_envelope
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Program
from clearhold.features.shard.questions import CountParties, SeenEvents
from clearhold.flows.engine import STATE_VERSION, Engine
from clearhold.flows.scorer import supervisor
from clearhold.flows.scorer.scorers import ScorerProcesses
from clearhold.flows.scorer.supervisor import ScorerPaths, ScorerProcess
from clearhold.store.duck.database import TABLES
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import owner_key
from clearhold.store.scheduling import GIVING_WAY
from tests.flows.engine_room import SHARDS, EngineRoom, append
from tests.flows.scorer.process_room import ProcessRoom
from tests.support.mutated_events import cases
from tests.support.waiting import eventually

PROGRAMS = tuple(f"3f0c8a52-0000-4000-8000-00000000000{number}" for number in range(1, 4))
SHARDS_USED = {shard_of(program, SHARDS) for program in PROGRAMS}
# Commits, and with them the order of shards in a tenant's chain, fall as they fall; all else is the log's alone.
EVERY_ROW = {
    name: f"SELECT * FROM {name} ORDER BY ALL"  # noqa: S608 - names of the schema
    for name, _ in TABLES
    if name not in {"log_offsets", "record_chain", "record_checkpoints"}
}
EPOCH = "SELECT max(epoch) FROM log_offsets WHERE shard = {shard}"
FACTS = 'SELECT id, program_id, shard, "offset", body FROM record_chain ORDER BY ALL'


@pytest.fixture(scope="module")
def history() -> list[bytes]:
    """Of a simulated bank; then events with mistakes, and the same ones corrected under their ids."""
    events = SimulatedBank(3).history(1_780_000_000_000_000)
    mistaken = [*cases(60, seed=5)]
    corrected = [msgspec.json.encode(case.right) for case in mistaken]
    usable = [case.wrong for case in mistaken if is_taken_in(case.wrong)]
    return [*[event.body for event in events if event.program == "lending"][:500], *usable, *corrected]


def is_taken_in(body: bytes) -> bool:
    try:
        read_envelope(body)
    except EnvelopeError:
        return False
    return True


def fill(client: redis.Redis, bodies: list[bytes], *, declares: bool = True) -> None:
    for program in PROGRAMS:
        if declares:
            body = msgspec.json.encode(Program(id=program, tenant_id="t1", slug="p", name="P", declared_rails=("ach",)))
            append(client, program, [body], EntryKind.PROGRAM)
        append(client, program, bodies)


STACKS = "SELECT stack_id, count(DISTINCT id) FROM alerts WHERE stack_id IS NOT NULL GROUP BY stack_id"


def rows_of(room: ProcessRoom | EngineRoom) -> dict[str, list[tuple[Any, ...]]]:
    return {name: room.rows(query) for name, query in EVERY_ROW.items()} | {"facts": room.rows(FACTS)}


def is_committed(engine: Engine, client: redis.Redis) -> bool:
    tails = {shard: client.xinfo_stream(f"log:{shard}")["last-generated-id"] for shard in SHARDS_USED}
    return all(
        engine.progress.committed_offset(shard) >> 20 >= int(tail.decode().split("-")[0])
        for shard, tail in tails.items()
    )


def in_one_process(folder: Path, redis_server: EmbeddedRedis) -> dict[str, list[tuple[Any, ...]]]:
    folder.mkdir()
    room = EngineRoom(folder, lambda: connect_sync(redis_server.socket_path))
    with room.running():
        pass
    return rows_of(room)


@pytest.mark.parametrize("scorers", [1, 2])
def test_given_the_same_log_when_scored_here_or_in_processes_then_every_row_is_the_same(
    tmp_path: Path,
    redis_server: EmbeddedRedis,
    log_redis: redis.Redis,
    history: list[bytes],
    scorers: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEARHOLD_ADMIN_TOKEN", "adm_that_no_scorer_needs")
    fill(log_redis, history)
    room = ProcessRoom(tmp_path / "processes", redis_server.socket_path)
    with room.running(scorers) as (_, processes):
        assert [each.owned for each in processes.processes] == [
            tuple(range(number, SHARDS, scorers)) for number in range(scorers)
        ]
        folders = [Path(f"/proc/{each.pid}") for each in processes.processes]
        loaded = [(folder / "maps").read_text() for folder in folders]
        variables = [(folder / "environ").read_bytes() for folder in folders]
        sessions = {os.getsid(each.pid or 0) for each in processes.processes}
        groups = [os.getpgid(each.pid or 0) == each.pid for each in processes.processes]
        answering = {niceness(each.pid) for each in processes.processes}
        behind = {
            niceness(each.native_id) for each in threading.enumerate() if each.name in {"committer", "maintenance"}
        }

    expected = in_one_process(tmp_path / "here", redis_server)
    found = rows_of(room)
    for table, rows in expected.items():
        assert found[table] == rows, table
    assert len(expected["transfers"]) > len(PROGRAMS) * 100
    sizes = [alerts for _, alerts in room.rows(STACKS)]
    assert len(sizes) > 1, "several stacks, which are columns of the alerts"
    assert max(sizes) > 1
    assert len(loaded) == scorers
    assert not any("duckdb" in maps for maps in loaded)
    assert not any(b"adm_that_no_scorer_needs" in each for each in variables)
    assert (sessions, groups) == ({os.getsid(0)}, [True] * scorers), "niceness counts within a session alone"
    assert answering == {niceness(threading.get_native_id())}, "a scorer answers, and events wait for it"
    assert behind == {min(19, niceness(threading.get_native_id()) + GIVING_WAY)}, (
        "they would compete with those that answer"
    )


def test_given_scorers_that_are_killed_and_started_again_when_all_is_scored_then_every_row_is_there_once(
    tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, history: list[bytes]
) -> None:
    room = ProcessRoom(tmp_path / "processes", redis_server.socket_path)
    fill(log_redis, history[:100])
    with room.running(2) as (engine, processes):
        killed: set[int | None] = {None}

        def is_replaced(each: ScorerProcess) -> bool:
            return each.pid not in killed and each.failure is None

        for part in range(1, 5):
            fill(log_redis, history[100 * part : 100 * part + 100], declares=False)
            victim = processes.processes[part % 2]
            eventually(partial(is_replaced, victim))
            killed.add(victim.pid)
            kill(victim.pid)
        eventually(lambda: all(map(is_replaced, processes.processes)))
        eventually(lambda: engine.failure is None and is_committed(engine, log_redis))
        assert [each.restarts for each in processes.processes] == [2, 2]

    expected = in_one_process(tmp_path / "here", redis_server)
    found = rows_of(room)
    for table, rows in expected.items():
        assert found[table] == rows, table


def test_given_a_scorer_that_hangs_when_its_shards_are_given_away_then_its_rows_are_not_written(
    tmp_path: Path,
    redis_server: EmbeddedRedis,
    log_redis: redis.Redis,
    history: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "HUNG_AFTER_S", 3.0)
    room = ProcessRoom(tmp_path / "processes", redis_server.socket_path)
    fill(log_redis, history[:200])
    with room.running(1) as (engine, processes):
        hung = processes.processes[0].pid
        assert hung is not None
        os.kill(hung, signal.SIGSTOP)
        fill(log_redis, history[200:400], declares=False)
        eventually(lambda: processes.processes[0].pid != hung)
        eventually(lambda: engine.failure is None and is_committed(engine, log_redis))
        assert not Path(f"/proc/{hung}").exists()

    expected = in_one_process(tmp_path / "here", redis_server)
    found = rows_of(room)
    for table, rows in expected.items():
        assert found[table] == rows, table


@pytest.mark.parametrize("counted", [None, 1, 40])
def test_given_an_epoch_in_redis_that_is_lost_or_not_the_tables_when_started_then_the_new_one_is_larger_than_both(
    tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, history: list[bytes], counted: int | None
) -> None:
    shard = shard_of(PROGRAMS[0], SHARDS)
    room = ProcessRoom(tmp_path / "processes", redis_server.socket_path)
    log_redis.hset(owner_key(shard), "epoch", 8)
    fill(log_redis, history[:20])
    with room.running(1):
        pass
    assert room.rows(EPOCH.format(shard=shard)) == [(9,)]
    if counted is None:
        log_redis.delete(owner_key(shard))
    else:
        log_redis.hset(owner_key(shard), "epoch", counted)
    fill(log_redis, history[20:40], declares=False)
    with room.running(1):
        pass

    newest = max(9, counted or 0) + 1
    assert room.rows(EPOCH.format(shard=shard)) == [(newest,)]
    assert log_redis.hget(owner_key(shard), "epoch") == str(newest).encode()
    expected = in_one_process(tmp_path / "here", redis_server)
    assert rows_of(room)["transfers"] == expected["transfers"]


@pytest.mark.timed
def test_given_a_scorer_that_is_down_when_its_programs_are_asked_about_then_it_is_unavailable_and_answers_when_back(
    tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, history: list[bytes]
) -> None:
    known = (msgspec.json.decode(history[0])["id"], crc32(history[0]))
    fill(log_redis, history[:50])
    room = ProcessRoom(tmp_path / "processes", redis_server.socket_path)
    with room.running(1) as (engine, processes):
        assert asyncio.run(answers(processes, known)) == (True, False, True)
        kill(processes.processes[0].pid)
        eventually(lambda: engine.failure is not None)
        with pytest.raises(UnavailableError):
            asyncio.run(answers(processes, known))
        eventually(lambda: engine.failure is None)
        assert asyncio.run(answers(processes, known)) == (True, False, True)


def test_given_scorers_that_were_begun_when_the_start_does_not_come_then_they_end_and_are_waited_for(
    tmp_path: Path, redis_server: EmbeddedRedis
) -> None:
    places = ScorerPaths(
        log=str(redis_server.socket_path),
        seal_key=None,
        snapshots=tmp_path,
        lake=tmp_path,
        state_version=STATE_VERSION,
    )
    processes = ScorerProcesses(2, SHARDS, places, open_redis=lambda: connect_sync(redis_server.socket_path))
    processes.begin()
    begun = [process_of(each) for each in processes.processes]
    assert [process.poll() for process in begun] == [None, None]

    processes.abandon()

    assert [process.returncode for process in begun] == [-signal.SIGKILL] * 2
    processes.abandon()


def test_given_a_service_that_is_gone_before_the_start_when_its_scorer_has_loaded_then_it_ends(
    tmp_path: Path, redis_server: EmbeddedRedis
) -> None:
    places = ScorerPaths(
        log=str(redis_server.socket_path),
        seal_key=None,
        snapshots=tmp_path,
        lake=tmp_path,
        state_version=STATE_VERSION,
    )
    processes = ScorerProcesses(1, SHARDS, places, open_redis=lambda: connect_sync(redis_server.socket_path))
    processes.begin()
    process = process_of(processes.processes[0])

    assert process.stdin is not None
    process.stdin.close()  # as the kernel closes it

    eventually(lambda: process.poll() == 0)
    processes.abandon()


def process_of(scorer: ScorerProcess) -> "subprocess.Popen[bytes]":
    """That which was begun."""
    assert scorer._begun is not None
    return scorer._begun.process


async def answers(processes: ScorerProcesses, seen: tuple[str, int]) -> tuple[bool, bool, bool]:
    owner = processes.owner
    known, unknown, counts = await asyncio.gather(
        owner.query(PROGRAMS[0], SeenEvents((seen,))),
        owner.query(PROGRAMS[0], SeenEvents((("evnt_never", 1),))),
        owner.query(PROGRAMS[0], CountParties()),
    )
    await processes.disconnect()
    return known.value != (None,), unknown.value != (None,), counts.value.actors > 0


def niceness(thread: int | None) -> int:
    assert thread is not None
    return os.getpriority(os.PRIO_PROCESS, thread)


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
