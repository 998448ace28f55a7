"""The committer and the epochs of owners: what a former owner sends is never written."""

from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import pytest

from clearhold.flows.commit.committer import Committer
from clearhold.flows.stream.dataflow import RowBatch, ShardResults, batch_of
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import BatchWriter, committed_epochs, committed_offsets, open_database
from clearhold.store.redis_log.progress import LogProgress
from tests.support.duck_rows import an_event

SHARDS = 2


def a_batch(shard: int, offset: int, epoch: int) -> RowBatch:
    results = ShardResults(shard)
    results.emit(an_event(shard=shard, offset=offset, event_id=f"evnt_{shard}_{offset}_{epoch}"))
    results.offset, results.entries, results.oldest_at = offset, 1, 1
    return batch_of([results], {shard: epoch})


def test_given_a_shard_that_was_given_away_when_its_former_owner_sends_rows_then_only_the_new_owners_are_written(
    tmp_path: Path,
) -> None:
    progress = LogProgress(SHARDS)
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        committer = Committer(BatchWriter(database), progress, clock=SystemClock(), epochs={})
        committer.start()
        assert committer.give_away({0: 1, 1: 1}) == {0: 0, 1: 0}
        committer.put(a_batch(0, 5, epoch=1))
        committer.put(a_batch(1, 6, epoch=1))
        assert committer.flush(5.0)
        assert committer.give_away({0: 2}) == {0: 5}

        committer.put(a_batch(0, 9, epoch=1))  # it hung, and does not know
        committer.put(a_batch(0, 7, epoch=2))
        committer.put(a_batch(1, 8, epoch=1))
        assert committer.close(60)

        written = database.execute("SELECT event_id FROM bank_events ORDER BY ALL").fetchall()
        assert written == [("evnt_0_5_1",), ("evnt_0_7_2",), ("evnt_1_6_1",), ("evnt_1_8_1",)]
        assert committed_offsets(database) == {0: 7, 1: 8}
        assert [progress.applied_offset(shard) for shard in range(SHARDS)] == [7, 8]


def test_given_a_batch_that_waits_when_its_shard_is_given_away_then_it_is_dropped(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        committer = Committer(BatchWriter(database), LogProgress(SHARDS), clock=SystemClock(), epochs={})
        committer.give_away({0: 1})
        committer.put(a_batch(0, 5, epoch=1))  # nothing commits it yet
        committer.give_away({0: 2})
        committer.start()
        assert committer.close(60)

        assert database.execute("SELECT count(*) FROM bank_events").fetchone() == (0,)


def test_given_a_commit_under_way_when_a_shard_is_given_away_then_the_new_owner_begins_behind_it(
    tmp_path: Path,
) -> None:
    entered, may_go_on = Event(), Event()

    class Slow(BatchWriter):
        def commit(self, *args: object, **epochs: object) -> None:
            entered.set()
            assert may_go_on.wait(60)
            super().commit(*args, **epochs)  # type: ignore[arg-type]

    offsets: list[dict[int, int]] = []
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        committer = Committer(Slow(database), LogProgress(SHARDS), clock=SystemClock(), epochs={})
        committer.start()
        committer.give_away({0: 1})
        committer.put(a_batch(0, 5, epoch=1))
        assert entered.wait(60)
        giving = Thread(target=lambda: offsets.append(committer.give_away({0: 2})))
        giving.start()
        giving.join(0.1)
        assert not offsets
        may_go_on.set()
        giving.join(60)

        assert offsets == [{0: 5}]
        assert committer.close(60)


def test_given_an_epoch_that_is_not_newer_when_a_shard_is_given_away_then_it_is_refused(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        committer = a_committer(database)
        committer.give_away({0: 3})

        with pytest.raises(ValueError, match="not newer"):
            committer.give_away({0: 3})
        assert [committer.epoch_of(shard) for shard in range(2)] == [3, 0]
        assert committer.close(60)


def test_given_epochs_that_the_tables_hold_when_opened_again_then_an_older_one_neither_gets_the_shard_nor_writes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "clearhold.duckdb"
    with closing(open_database(path)) as database:
        committer = a_committer(database)
        committer.give_away({0: 6, 1: 2})
        committer.put(a_batch(0, 5, epoch=6))
        committer.put(a_batch(1, 6, epoch=2))
        assert committer.close(60)
        assert committed_epochs(database) == {0: 6, 1: 2}

    with closing(open_database(path)) as database:  # which keeps the newest row of each shard
        committer = a_committer(database)
        assert [committer.epoch_of(shard) for shard in range(SHARDS)] == [6, 2]
        with pytest.raises(ValueError, match="not newer"):
            committer.give_away({0: 6})
        committer.put(a_batch(0, 9, epoch=5))
        committer.give_away({0: 7})
        committer.put(a_batch(0, 9, epoch=6))
        committer.put(a_batch(0, 7, epoch=7))
        assert committer.close(60)

        written = database.execute("SELECT event_id FROM bank_events ORDER BY ALL").fetchall()
        assert written == [("evnt_0_5_6",), ("evnt_0_7_7",), ("evnt_1_6_2",)]
        assert (committed_offsets(database)[0], committed_epochs(database)) == (7, {0: 7, 1: 2})


def test_given_a_commit_that_fails_when_it_is_rolled_back_then_its_epoch_is_not_in_the_tables(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        writer, batch = BatchWriter(database), a_batch(0, 5, epoch=4)
        writer.commit(batch.tables, batch.offsets, 1, epochs={0: 3})
        database.execute("ALTER TABLE bank_events RENAME TO elsewhere")

        with pytest.raises(duckdb.Error):
            writer.commit(batch.tables, {0: 6}, 2, epochs={0: 4})
        assert (committed_offsets(database), committed_epochs(database)) == ({0: 5}, {0: 3})


def a_committer(database: duckdb.DuckDBPyConnection) -> Committer:
    """One that has started, as at the start of a service."""
    epochs = committed_epochs(database)
    committer = Committer(BatchWriter(database), LogProgress(SHARDS), clock=SystemClock(), epochs=epochs)
    committer.start()
    return committer


def test_given_a_commit_that_fails_first_then_its_rows_are_announced_once_and_confirmed_once(tmp_path: Path) -> None:
    said = list[str]()

    class FailsFirst(BatchWriter):
        def commit(self, *args: Any, **kwargs: Any) -> None:
            said.append("attempt")
            if said.count("attempt") == 1:
                raise OSError("The disk is full.")
            super().commit(*args, **kwargs)

    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        committer = Committer(
            FailsFirst(database),
            LogProgress(SHARDS),
            clock=SystemClock(),
            epochs={},
            before_commit=lambda _: said.append("before"),
            on_commit=lambda *_: said.append("after"),
        )
        committer.put(a_batch(0, 5, epoch=0))
        committer.start()
        assert committer.flush(60)
        assert committer.close(60)
    assert said == ["before", "attempt", "attempt", "after"]
