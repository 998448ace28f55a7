"""An engine whose log another service may own: it commits, trims and signs nothing until a renewal says otherwise."""

from pathlib import Path

import pytest
import redis

from clearhold.features.core.log_entry import shard_of
from clearhold.store.lake.log_segments import Segmenter
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.reader import TRIMMED, LogReader
from tests.flows.engine_room import SHARDS, EngineRoom, append
from tests.support.alerting import outgoing
from tests.support.waiting import eventually

PROGRAM = "3f0c8a52-0000-4000-8000-000000000001"


def owned(server: EmbeddedRedis) -> LogOwnership:
    return taken(connect_sync(server.socket_path), LogNode("node_here", "boot"), "here", take_over=True)


def test_given_no_renewal_when_events_come_then_nothing_is_committed_or_maintained_until_there_is_one(
    tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.flows.engine._MAINTENANCE_EVERY_S", 0.01)
    rounds: list[int] = []
    monkeypatch.setattr(Segmenter, "run_once", lambda _self, shard, *_: rounds.append(shard))
    owner, shard = owned(redis_server), shard_of(PROGRAM, SHARDS)
    owner.start(lambda _: None)
    room = EngineRoom(tmp_path, lambda: connect_sync(redis_server.socket_path))
    with room.running(owner) as engine:
        eventually(lambda: rounds)
        with monkeypatch.context() as paused:
            paused.setattr(owner, "is_current", lambda: False)
            append(log_redis, PROGRAM, [outgoing("acht_1")])
            eventually(lambda: engine.failure is not None and "NotOwnerError" in engine.failure)
            done = len(rounds)
            tried = engine._committer.counts.commit_failures
            eventually(lambda: engine._committer.counts.commit_failures > tried + 1)  # a second each
            assert engine.progress.committed_offset(shard) == 0
            assert len(rounds) <= done + SHARDS  # of the round that was under way
        eventually(lambda: engine.progress.committed_offset(shard) > 0)
        eventually(lambda: len(rounds) > done + SHARDS)
    owner.release()


def test_given_another_owner_when_a_former_one_trims_then_nothing_is_dropped_and_it_ends(
    redis_server: EmbeddedRedis, log_redis: redis.Redis
) -> None:
    sentences: list[str] = []
    former = owned(redis_server)
    former.start(sentences.append)
    newest = owned(redis_server)
    append(log_redis, PROGRAM, [outgoing("acht_1")])
    shard = shard_of(PROGRAM, SHARDS)
    reader = LogReader(connect_sync(redis_server.socket_path), range(SHARDS), trims=former)
    with pytest.raises(redis.ResponseError, match="FENCED"):
        reader.trim(shard, reader.tail(shard))

    assert len(reader.range(shard, 0, reader.tail(shard), count=10)) == 1
    assert not log_redis.exists(TRIMMED)
    assert len(sentences) == 1
    assert not former.is_current()
    assert newest.is_current()
    newest.release()
