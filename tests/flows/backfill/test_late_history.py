"""Backfills of a program whose history was loaded in two files: while the engine runs, and over restarts."""

import asyncio
import json
from typing import Any

import pytest
import redis

from clearhold.features.core.log_entry import EntryKind
from clearhold.flows.backfill.rescoring import TransferBackfill
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.engine import Engine
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.flows.backfill.backfill_room import PROGRAM, TENANT, BackfillRoom, until
from tests.flows.backfill.test_backfills import DANGLING, NEWEST, backfills_of, cancelled, transfers_of
from tests.flows.engine_room import EngineRoom, append

SCORES = "SELECT id, score, score_band, score_n, score_confidence FROM transfers_latest ORDER BY id"
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def files(log_bodies: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The events in two files: the second has all of a third of the transfers."""
    first, second = list[bytes](), list[bytes]()
    for body in log_bodies[1:]:
        event = json.loads(body)
        is_later = not event["type"].startswith("account") and event["data"].get("id", " ")[-1] in "0369"
        (second if is_later else first).append(body)
    assert len(first) > len(second) > 100
    return first, second


@pytest.fixture
def ordered(room: BackfillRoom) -> tuple[Rows, Rows]:
    """Vectors and scores of the history in order."""
    return room.room.rows(NEWEST), room.room.rows(SCORES)


@pytest.fixture
def late(
    ordered: tuple[Rows, Rows],
    tmp_path_factory: pytest.TempPathFactory,
    redis_server: EmbeddedRedis,
    log_redis: redis.Redis,
    log_bodies: list[bytes],
    files: tuple[list[bytes], list[bytes]],
) -> BackfillRoom:
    """The same program, loaded from two files into another log and other tables."""
    log_redis.flushall()
    room = EngineRoom(tmp_path_factory.mktemp("late"), lambda: connect_sync(redis_server.socket_path))
    append(log_redis, PROGRAM, log_bodies[:1], EntryKind.PROGRAM)
    for file in files:
        append(log_redis, PROGRAM, file)
    with room.running():
        pass
    assert room.rows(NEWEST) != ordered[0]
    return BackfillRoom(room, redis_server.socket_path)


def test_given_history_in_two_files_when_rescored_then_the_tables_are_those_of_history_in_order(
    ordered: tuple[Rows, Rows], late: BackfillRoom
) -> None:
    with late.room.running() as engine:
        scored = late.transfers(engine, PROGRAM)
        assert scored == transfers_of(engine) == late.transfers(engine, PROGRAM)

    assert (late.room.rows(NEWEST), late.room.rows(SCORES)) == ordered
    assert late.room.rows(DANGLING) == []
    first, second = (row for row in backfills_of(late) if row[1] == "done")
    assert first[2:4] == second[2:4] == (scored, scored)
    assert 0 == second[4] < first[4] < scored


def test_given_a_backfill_cut_off_several_times_when_resumed_then_the_tables_are_those_of_history_in_order(
    ordered: tuple[Rows, Rows], late: BackfillRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((before,),) = late.room.rows("SELECT count(*) FROM transfer_features")
    monkeypatch.setattr("clearhold.flows.backfill.rescoring.STEP_TRANSFERS", 10)

    async def cut_off(backfills: BackfillService) -> None:
        await backfills.resume()
        asking = asyncio.create_task(backfills.rescore_transfers(TENANT, PROGRAM, None))
        await until(lambda: backfills.counts.changed >= 40)
        await cancelled(backfills, asking)

    async def resumed(backfills: BackfillService) -> int:
        await backfills.resume()
        return await backfills.rescore_transfers(TENANT, PROGRAM, None)

    for _ in range(3):
        with late.room.running() as engine:
            late.run(engine, cut_off)
    with late.room.running() as engine:
        scored = late.run(engine, resumed)

    last = backfills_of(late)[-1]
    assert (late.room.rows(NEWEST), late.room.rows(SCORES)) == ordered
    assert last[1:4] == ("done", scored, scored)
    assert late.room.rows("SELECT count(*) FROM transfer_features") == [(before + last[4],)]
    assert [row[1] for row in backfills_of(late)].count("started") == 1


def test_given_a_file_that_is_loaded_while_a_backfill_runs_when_asked_for_again_then_a_second_one_takes_it_in(
    ordered: tuple[Rows, Rows],
    tmp_path_factory: pytest.TempPathFactory,
    redis_server: EmbeddedRedis,
    log_redis: redis.Redis,
    log_bodies: list[bytes],
    files: tuple[list[bytes], list[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log_redis.flushall()
    room = EngineRoom(tmp_path_factory.mktemp("meanwhile"), lambda: connect_sync(redis_server.socket_path))
    append(log_redis, PROGRAM, log_bodies[:1], EntryKind.PROGRAM)
    append(log_redis, PROGRAM, files[0])
    asked, run, answers = asyncio.Event(), TransferBackfill.run, list[int]()

    async def waiting(backfill: TransferBackfill) -> None:
        await asked.wait()
        await run(backfill)

    async def both(backfills: BackfillService, engine: Engine) -> None:
        monkeypatch.setattr(TransferBackfill, "run", waiting)
        first = asyncio.create_task(backfills.rescore_transfers(TENANT, PROGRAM, None))
        await until(lambda: backfills.counts.running["transfers"])
        await until(lambda: engine._database.cursor().execute("SELECT count(*) FROM backfills").fetchall() == [(1,)])
        append(log_redis, PROGRAM, files[1])
        await until(lambda: transfers_of(engine) == len(ordered[0]))
        same = [asyncio.create_task(backfills.rescore_transfers(TENANT, PROGRAM, None)) for _ in range(2)]
        await asyncio.sleep(0.2)
        asked.set()
        answers.extend(await asyncio.gather(first, *same))

    with room.running() as engine:
        BackfillRoom(room, redis_server.socket_path).run(engine, lambda backfills: both(backfills, engine))

    assert room.rows(NEWEST) == ordered[0]
    assert answers[0] < answers[1] == answers[2] == len(ordered[0])
    assert room.rows("SELECT count(DISTINCT id) FROM backfills") == [(2,)]
