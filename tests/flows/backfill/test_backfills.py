"""Backfills beside a running engine: from stored vectors, by replay, twice, over restarts, with other versions."""

import asyncio
from typing import Any

import pytest
import redis

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import shard_of
from clearhold.flows.backfill.rescoring import TransferBackfill
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.engine import Engine
from clearhold.store.duck.scorings.backfills import BackfillRows
from clearhold.store.lake.log_segments import LogSegments, Segmenter
from clearhold.store.redis_log.reader import LogReader
from tests.flows.backfill.backfill_room import PROGRAM, TENANT, BackfillRoom, until
from tests.flows.engine_room import SHARDS, shards_of
from tests.support.scorecards import a_card

NEWEST = (
    "SELECT COLUMNS(c -> c NOT IN ('offset', 'scored_at', 'paths', 'rescored')) FROM transfer_features "
    'QUALIFY row_number() OVER (PARTITION BY transfer_id ORDER BY "offset" DESC) = 1 ORDER BY transfer_id'
)
TRANSFERS = (
    "SELECT COLUMNS(c -> c NOT IN ('offset', 'scored_at', 'scored_offset', 'updated_at')) FROM transfers_latest "
    "ORDER BY id"
)
VERSIONS = "SELECT count(*) FROM transfers UNION ALL SELECT count(*) FROM transfer_features"
STAGES = 'SELECT id, stage, total, done, changed FROM backfills ORDER BY "offset"'
DANGLING = (
    "SELECT t.id FROM transfers_latest t LEFT JOIN transfer_features f "
    'ON f.transfer_id = t.id AND f."offset" = t.scored_offset WHERE f.score IS DISTINCT FROM t.score '
    "OR f.transfer_id IS NULL"
)
WRONG = "UPDATE transfer_features SET score = 1, confidence = 0.01, reasons = '[]', band = 'clear'"
OLD = "UPDATE transfer_features SET feature_version = 'features-v0', score = NULL, band = 'unscored'"


def transfers_of(engine: Engine) -> int:
    return len(shards_of(engine).state(shard_of(PROGRAM, SHARDS)).programs[PROGRAM].transfers)


def scores_in_memory(engine: Engine) -> list[tuple[int, int, int]]:
    table = shards_of(engine).state(shard_of(PROGRAM, SHARDS)).programs[PROGRAM].transfers
    records = [table.read(row) for row in range(len(table))]
    return [(record.score, record.score_n, record.confidence_permille) for record in records]


async def cancelled(backfills: BackfillService, asking: asyncio.Task[int]) -> None:
    """End it, as a stop of the service does; who asked hears of it."""
    backfills.cancel()
    with pytest.raises(UnavailableError):
        await asking


def backfills_of(room: BackfillRoom) -> list[tuple[Any, ...]]:
    return room.room.rows(STAGES)


def test_given_scores_of_the_present_scorer_when_given_again_then_all_are_counted_and_none_is_written(
    room: BackfillRoom,
) -> None:
    before = room.room.rows(VERSIONS)

    with room.room.running() as engine:
        scored = [room.transfers(engine, PROGRAM) for _ in range(2)]
        assert scored == [transfers_of(engine)] * 2

    assert room.room.rows(VERSIONS) == before
    assert backfills_of(room)[-1] == ("backfill_2", "done", scored[0], scored[0], 0)


@pytest.mark.parametrize("processes_from", [0, 1_000_000])
def test_given_stored_scores_of_another_scorer_when_given_again_then_record_and_memory_have_the_present_ones(
    room: BackfillRoom, monkeypatch: pytest.MonkeyPatch, processes_from: int
) -> None:
    monkeypatch.setattr("clearhold.flows.backfill.rescoring.PROCESSES_FROM_TRANSFERS", processes_from)
    right = [room.room.rows(query) for query in (NEWEST, TRANSFERS)]
    with room.room.running() as engine:
        in_memory = scores_in_memory(engine)
    room.room.change(WRONG)

    with room.room.running() as engine:
        scored = room.transfers(engine, PROGRAM)
        assert scores_in_memory(engine) == in_memory

    assert [room.room.rows(query) for query in (NEWEST, TRANSFERS)] == right
    assert room.room.rows(DANGLING) == []
    assert backfills_of(room)[-1][2:] == (scored, scored, scored)


def test_given_vectors_of_an_older_version_when_scored_again_then_the_log_is_replayed_and_the_stored_rest_is_not(
    room: BackfillRoom,
) -> None:
    right = [room.room.rows(query) for query in (NEWEST, TRANSFERS)]
    room.room.change(f"{OLD} WHERE hash(transfer_id) % 3 = 0")
    room.room.change(f"{WRONG} WHERE hash(transfer_id) % 3 = 1")

    with room.room.running() as engine:
        scored = room.transfers(engine, PROGRAM)
        assert scored == transfers_of(engine)

    assert [room.room.rows(query) for query in (NEWEST, TRANSFERS)] == right
    assert room.room.rows(DANGLING) == []
    assert 0 < backfills_of(room)[-1][4] < scored


def test_given_a_log_of_which_redis_has_only_the_tail_when_replayed_then_segments_and_tail_are_read(
    room: BackfillRoom, log_redis: redis.Redis, log_bodies: list[bytes]
) -> None:
    right = room.room.rows(NEWEST)
    room.room.change(OLD)
    shard = shard_of(PROGRAM, SHARDS)
    reader = LogReader(log_redis, range(SHARDS))
    middle = reader.range(shard, 0, reader.tail(shard), count=600)[-1].offset
    segmenter = Segmenter(reader, LogSegments(room.room.folder / "lake"), page_entries=250, linger_ms=0)
    segmenter.run_once(shard, middle, middle)
    assert log_redis.xlen(f"log:{shard}") == len(log_bodies) - 600

    with room.room.running() as engine:
        assert room.transfers(engine, PROGRAM) == len(right)

    assert room.room.rows(NEWEST) == right


def test_given_a_backfill_cut_off_when_the_next_process_starts_then_it_goes_on_and_nothing_is_written_twice(
    room: BackfillRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = room.room.rows(NEWEST)
    ((versions,),) = room.room.rows("SELECT count(*) FROM transfer_features")
    room.room.change(f"{OLD} WHERE hash(transfer_id) % 2 = 0")
    room.room.change(f"{WRONG} WHERE hash(transfer_id) % 2 = 1")
    monkeypatch.setattr("clearhold.flows.backfill.rescoring.PAGE_TRANSFERS", 40)
    monkeypatch.setattr("clearhold.flows.backfill.rescoring.STEP_TRANSFERS", 15)

    async def cut_off(backfills: BackfillService) -> None:
        await backfills.resume()
        asking = asyncio.create_task(backfills.rescore_transfers(TENANT, PROGRAM, None))
        await until(lambda: backfills.counts.transfers >= 60)
        await cancelled(backfills, asking)

    async def resumed(backfills: BackfillService) -> int:
        await backfills.resume()
        return await backfills.rescore_transfers(TENANT, PROGRAM, None)

    for _ in range(3):
        with room.room.running() as engine:
            room.run(engine, cut_off)
    with room.room.running() as engine:
        scored = room.run(engine, resumed)

    assert room.room.rows(NEWEST) == right
    assert room.room.rows("SELECT count(*) FROM transfer_features") == [(versions + scored,)]
    assert len({row[0] for row in backfills_of(room)}) == 1
    assert [row[1] for row in backfills_of(room)].count("started") == 1
    assert backfills_of(room)[-1][1:4] == ("done", scored, scored)


def test_given_a_resumed_backfill_that_fails_when_resumed_again_then_the_failure_is_raised_and_the_rest_is_done(
    room: BackfillRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(backfills: BackfillService, rows: BackfillRows) -> None:
        asking = asyncio.create_task(backfills.rescore_transfers(TENANT, PROGRAM, None))
        await until(rows.unfinished)
        await cancelled(backfills, asking)

    async def resumed(backfills: BackfillService) -> int:
        with monkeypatch.context() as broken:
            broken.setattr("clearhold.flows.backfill.rescoring.NewestScorings.find", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await backfills.resume_all()
        await backfills.resume_all()
        return backfills.counts.failures

    async def stopped(backfills: BackfillService) -> None:
        """A stop ends what is resumed without an error."""
        await backfills.resume()
        resuming = asyncio.create_task(backfills.resume_all())
        await asyncio.sleep(0)
        backfills.cancel()
        await resuming

    with room.room.running() as engine:
        rows = BackfillRows(engine._database)
        room.run(engine, lambda backfills: cut_off(backfills, rows))
    with room.room.running() as engine:
        room.run(engine, stopped)
    with room.room.running() as engine:
        assert room.run(engine, resumed) == 1

    assert {row[0] for row in backfills_of(room)} == {"backfill_1"}
    assert backfills_of(room)[-1][1] == "done"


def test_given_two_that_ask_at_once_then_one_backfill_answers_both(room: BackfillRoom) -> None:
    async def twice(backfills: BackfillService) -> list[int]:
        return await asyncio.gather(*(backfills.rescore_transfers(TENANT, PROGRAM, None) for _ in range(2)))

    with room.room.running() as engine:
        first, second = room.run(engine, twice)

    assert first == second > 200
    assert len({row[0] for row in backfills_of(room)}) == 1


def test_given_backfills_that_were_stopped_when_asked_then_it_is_refused(room: BackfillRoom) -> None:
    async def asked(backfills: BackfillService) -> None:
        await backfills.stop()
        for ask in (backfills.rescore_transfers, backfills.rescore_actors):
            with pytest.raises(UnavailableError, match="next start"):
                await ask(TENANT, PROGRAM, None)

    with room.room.running() as engine:
        room.run(engine, asked)

    assert backfills_of(room) == []


def test_given_one_that_failed_when_asked_again_then_it_goes_on_and_who_asked_first_hears_of_the_failure(
    room: BackfillRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(backfills: BackfillService) -> int:
        with monkeypatch.context() as broken:
            broken.setattr("clearhold.flows.backfill.rescoring.NewestScorings.find", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await backfills.rescore_transfers(TENANT, PROGRAM, None)
        assert backfills.counts.failures == 1
        return await backfills.rescore_transfers(TENANT, PROGRAM, None)

    with room.room.running() as engine:
        scored = room.run(engine, failing)

    assert scored > 200
    assert {row[0] for row in backfills_of(room)} == {"backfill_1"}
    assert [row[1] for row in backfills_of(room)].count("started") == 1


def test_given_an_id_that_came_before_when_asked_for_again_then_its_result_is_there_already(
    room: BackfillRoom,
) -> None:
    async def repeated(backfills: BackfillService) -> list[int]:
        return [await backfills.rescore_transfers(TENANT, PROGRAM, "effect_1") for _ in range(2)]

    with room.room.running() as engine:
        first, second = room.run(engine, repeated)

    assert first == second > 200
    assert [row[:2] for row in backfills_of(room)].count(("effect_1", "started")) == 1


def test_given_a_backfill_begun_by_another_scorer_when_resumed_then_it_begins_anew(room: BackfillRoom) -> None:
    async def cut_off(backfills: BackfillService, rows: BackfillRows) -> None:
        asking = asyncio.create_task(backfills.rescore_transfers(TENANT, PROGRAM, None))
        await until(rows.unfinished)
        await cancelled(backfills, asking)

    async def resumed(backfills: BackfillService) -> int:
        await backfills.resume()
        return await backfills.rescore_transfers(TENANT, PROGRAM, None)

    with room.room.running() as engine:
        rows = BackfillRows(engine._database)
        room.run(engine, lambda backfills: cut_off(backfills, rows))
    room.room.change("UPDATE backfills SET score_version = 'trs-v0'")
    with room.room.running() as engine:
        room.run(engine, resumed)

    assert [row[1] for row in backfills_of(room)].count("started") == 2
    assert {row[0] for row in backfills_of(room)} == {"backfill_1"}
    assert room.room.rows('SELECT score_version FROM backfills ORDER BY "offset" DESC LIMIT 1') == [("trs-v1",)]


NEWEST_VERSIONS = (
    "SELECT DISTINCT score_version FROM transfer_features "
    'QUALIFY row_number() OVER (PARTITION BY transfer_id ORDER BY "offset" DESC) = 1'
)


def test_given_a_card_in_force_when_scored_again_then_vectors_and_replay_are_scored_with_it_and_back_with_the_default(
    room: BackfillRoom,
) -> None:
    right = [room.room.rows(query) for query in (NEWEST, TRANSFERS)]
    room.room.change(f"{OLD} WHERE hash(transfer_id) % 3 = 0")

    with room.room.running() as engine:
        asyncio.run(room.card_in_force(engine, a_card(), "scorecard-v1"))
        first = room.transfers(engine, PROGRAM)
        own = engine._database.cursor().execute(NEWEST_VERSIONS).fetchall()
        asyncio.run(room.card_in_force(engine, None, "scorecard-v2"))
        second = room.transfers(engine, PROGRAM)

    assert first == second == len(right[0])
    assert own == [("trs-v1+scorecard-v1",)]
    assert [room.room.rows(query) for query in (NEWEST, TRANSFERS)] == right
    assert room.room.rows(DANGLING) == []


def test_given_a_card_that_comes_into_force_meanwhile_then_the_backfill_begins_again_with_it(
    room: BackfillRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room.room.running() as engine:
        run, seen = TransferBackfill.run, list[str]()

        async def interrupted(backfill: TransferBackfill) -> None:
            await run(backfill)
            seen.append(backfill._steps.progress.score_version)
            if len(seen) == 1:
                await room.card_in_force(engine, a_card(points=25), "scorecard-v2")

        monkeypatch.setattr(TransferBackfill, "run", interrupted)
        asyncio.run(room.card_in_force(engine, a_card(), "scorecard-v1"))
        room.transfers(engine, PROGRAM)

    assert seen == ["trs-v1+scorecard-v1", "trs-v1+scorecard-v2"]
    assert room.room.rows(NEWEST_VERSIONS) == [("trs-v1+scorecard-v2",)]
