"""Entries of the live streams as scorer processes make them, of a simulated bank's events."""

from pathlib import Path

import pytest
import redis

from clearhold.demo.bank import SimulatedBank
from clearhold.features.live.entries import LiveEntryRow
from clearhold.flows.live.committed import LiveCommit, entries_of
from clearhold.store.live.entries import count_of_events
from clearhold.store.redis_log.connect import EmbeddedRedis
from clearhold.store.tables import RowTables
from tests.flows.scorer.process_room import ProcessRoom
from tests.flows.scorer.test_scorer_processes import PROGRAMS, fill

EVENTS = 1_000


def is_simulated(program_id: str) -> bool:
    return program_id == PROGRAMS[0]


@pytest.mark.parametrize("with_live", [True, False], ids=["with the streams", "without"])
def test_given_events_then_scorers_make_the_entries_that_the_rows_of_each_commit_have(
    redis_server: EmbeddedRedis, log_redis: redis.Redis, tmp_path: Path, *, with_live: bool
) -> None:
    events = SimulatedBank(3).history(1_780_000_000_000_000)
    commits = list[RowTables]()
    fill(log_redis, [event.body for event in events if event.program == "lending"][:EVENTS])
    room = ProcessRoom(tmp_path / "room", redis_server.socket_path)
    with room.running(2, with_live=with_live, before_commit=commits.append):
        pass

    kinds = set[str]()
    for rows in commits:
        assert (LiveEntryRow.__name__ in rows) == (with_live and count_of_events(rows) > 0)
        entries = [*LiveCommit(rows, is_simulated).entries]
        made_here = entries_of(rows, is_simulated)
        kinds |= {each.kind for each in entries}
        for shard in {each.shard for each in made_here}:
            of_shard = ([each for each in some if each.shard == shard] for some in (entries, made_here))
            assert next(of_shard) == next(of_shard)
        assert len(entries) == len(made_here)
    assert {"transfer.scored", "actor.scored", "alert.opened", "kri.snapshot"} <= kinds
