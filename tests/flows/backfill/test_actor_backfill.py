"""Backfills of actors beside a running engine: counted, repeatable, resumed, right after transfers were rescored."""

import asyncio
from pathlib import Path

import msgspec
import pytest
import redis

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.entries.commands import ActorsRescored
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Program
from clearhold.features.core.scorecards import points_from
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.state.alert_book import AlertBook
from clearhold.features.state.program import ProgramState
from clearhold.features.state.score_memory import Strong
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.engine import Engine
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.flows.backfill.backfill_room import PROGRAM, TENANT, BackfillRoom, until
from tests.flows.backfill.conftest import UNTIL
from tests.flows.engine_room import SHARDS, EngineRoom, append, shards_of
from tests.support.bank_events import an_ach_transfer, an_event, rfc3339

SCORES = (
    "SELECT COLUMNS(c -> c NOT IN ('id', 'offset', 'former_band', 'scored_at')) FROM scores "
    "WHERE subject_type <> 'program' "
    'QUALIFY row_number() OVER (PARTITION BY subject_type, subject_id ORDER BY "offset" DESC) = 1 '
    "ORDER BY subject_type, subject_id"
)
COUNTS = (
    "SELECT subject_type, count(DISTINCT subject_id) FROM scores WHERE subject_type <> 'program' "
    "GROUP BY ALL ORDER BY ALL"
)
RECORDS = "SELECT count(*) FROM scores"
OPENED = (
    "SELECT detector, subject_type, transfer_id FROM alerts "
    "WHERE opened_at > (SELECT min(updated_at) FROM backfills) ORDER BY ALL"
)
STAGES = 'SELECT stage, done, total FROM backfills ORDER BY "offset"'


def rescored_actors(room: BackfillRoom, engine: Engine) -> ActorsRescored:
    return room.run(engine, lambda backfills: backfills.rescore_actors(TENANT, PROGRAM, None))


def program_of(engine: Engine) -> ProgramState:
    return shards_of(engine).state(shard_of(PROGRAM, SHARDS)).programs[PROGRAM]


def strongest_of(engine: Engine) -> list[Strong]:
    """The transfer behind the score of each actor."""
    program = program_of(engine)
    return [program.scores.transfers.best(actor.index) for actor in program.actors]


def test_given_a_program_when_its_actors_are_rescored_then_each_has_a_record_and_a_repeat_says_the_same(
    room: BackfillRoom,
) -> None:
    with room.room.running() as engine:
        first = rescored_actors(room, engine)
        program = program_of(engine)
        entities = [actor.id for actor in program.actors if not actor.is_account]
        parties = [party.id for party in program.counterparties.all if not party.unlisted]
    once, ((records,),) = room.room.rows(SCORES), room.room.rows(RECORDS)
    with room.room.running() as engine:
        second = rescored_actors(room, engine)

    assert first == second == ActorsRescored(entities=len(entities), counterparties=len(parties), agents=0)
    assert len(entities) > 100
    assert room.room.rows(COUNTS) == [("counterparty", len(parties)), ("entity", len(entities))]
    assert room.room.rows(SCORES) == once
    assert room.room.rows(RECORDS) == [(records + len(entities) + len(parties),)]
    assert room.room.rows(STAGES)[-1][0] == "done"


def test_given_alerts_that_were_missed_when_actors_are_rescored_then_their_detectors_open_them_once(
    room: BackfillRoom, log_redis: redis.Redis
) -> None:
    append(log_redis, PROGRAM, just_below_a_line(4))
    with room.room.running() as engine:
        program_of(engine).alerts = AlertBook()  # as if the detectors were asked for the first time
        rescored_actors(room, engine)
        rescored_actors(room, engine)
    missed = room.room.rows(OPENED)
    with room.room.running() as engine:
        rescored_actors(room, engine)

    assert len(set(missed)) == len(missed)  # the history has a few of its own
    assert {("structuring_pattern", "entity", "acht_3"), ("velocity_spike", "entity", "acht_3")} <= set(missed)
    assert room.room.rows(OPENED) == missed


def just_below_a_line(count: int) -> list[bytes]:
    """So many transfers of one entity to one counterparty."""
    made = []
    for number in range(count):
        at = rfc3339(UNTIL + number)
        data = an_ach_transfer(id=f"acht_{number}", entity_id="enti_x", amount=290_000, created_at=at, updated_at=at)
        made.append(an_event("ach.outgoing_transfer.initiated", data, event_id=f"evnt_x{number}", created_at=UNTIL))
    return made


def another_card() -> CompiledCard[FeatureVector]:
    """A card under which other transfers are the strongest of their entity."""
    names = [signal.id for signal in trs_v1.DEFAULT_CARD.signals]
    signals = tuple(points_from(name, (0, number * 37 % 50)) for number, name in enumerate(names))
    return compile_card(msgspec.structs.replace(trs_v1.DEFAULT_CARD, signals=signals))


def test_given_transfers_that_another_card_scored_higher_when_all_is_rescored_then_entities_stand_as_if_it_never_had(
    room: BackfillRoom,
    tmp_path: Path,
    redis_server: EmbeddedRedis,
    log_redis: redis.Redis,
    log_bodies: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with room.room.running() as engine:
        rescored_actors(room, engine)
        right_transfers = strongest_of(engine)
    right = room.room.rows(SCORES)
    log_redis.flushall()
    (tmp_path / "loud").mkdir()
    loud = BackfillRoom(
        EngineRoom(tmp_path / "loud", lambda: connect_sync(redis_server.socket_path)), redis_server.socket_path
    )
    append(log_redis, PROGRAM, log_bodies[:1], EntryKind.PROGRAM)
    append(log_redis, PROGRAM, log_bodies[1:])
    monkeypatch.setattr(trs_v1, "DEFAULT", another_card())
    with loud.room.running() as engine:
        rescored_actors(loud, engine)
        assert strongest_of(engine) != right_transfers
    monkeypatch.undo()

    with loud.room.running() as engine:
        loud.transfers(engine, PROGRAM)
        rescored_actors(loud, engine)
        assert strongest_of(engine) == right_transfers

    assert loud.room.rows(SCORES) == right


def test_given_a_backfill_cut_off_when_the_next_process_starts_then_it_goes_on_where_it_was(
    room: BackfillRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.flows.backfill.rescoring.STEP_SUBJECTS", 5)

    async def cut_off(backfills: BackfillService) -> None:
        asking = asyncio.create_task(backfills.rescore_actors(TENANT, PROGRAM, None))
        await until(lambda: backfills.counts.actors >= 30)
        backfills.cancel()
        with pytest.raises(UnavailableError):
            await asking

    async def resumed(backfills: BackfillService) -> int:
        await backfills.resume()
        await backfills.rescore_actors(TENANT, PROGRAM, None)
        return backfills.counts.actors

    with room.room.running() as engine:
        room.run(engine, cut_off)
    with room.room.running() as engine:
        done_by_the_second = room.run(engine, resumed)

    ((stage, done, total),) = room.room.rows(STAGES)[-1:]
    assert (stage, done) == ("done", total)
    assert 0 < done_by_the_second <= total - 30
    assert [row[0] for row in room.room.rows(STAGES)].count("started") == 1


def test_given_the_program_of_agents_when_its_actors_are_rescored_then_they_are_counted_as_both(
    room: BackfillRoom, log_redis: redis.Redis
) -> None:
    renamed = msgspec.json.encode(Program(id=PROGRAM, tenant_id=TENANT, slug="agents", name="Agents"))
    append(log_redis, PROGRAM, [renamed], EntryKind.PROGRAM)

    with room.room.running() as engine:
        counted = rescored_actors(room, engine)

    assert counted.agents == counted.entities > 100
    of_agents = room.room.rows("SELECT count(DISTINCT subject_id) FROM scores WHERE version = 'ars-v1'")
    assert of_agents == [(counted.agents,)]
