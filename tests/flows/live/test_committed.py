"""The events of a commit are made once, whichever of its readers is first; and which rows have none."""

from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from threading import Event

import msgspec
import pyarrow as pa
import pytest
from structlog.testing import capture_logs

from clearhold.features.core.rows.events import TransferRow
from clearhold.features.live.entries import LiveEntryRow
from clearhold.flows.live.committed import LiveCommit, LiveCommits, entries_of
from clearhold.flows.stream import live_entries
from clearhold.flows.stream.dataflow import ShardResults, batch_of
from clearhold.store.tables import joined_by_type, row_tables
from tests.support.duck_rows import PROGRAM, a_score, a_transfer, an_event
from tests.support.live_room import SIMULATED


def test_given_two_readers_at_a_time_then_the_events_are_made_once_and_both_get_the_same() -> None:
    rows = row_tables({type(row): [row] for row in [a_transfer(offset=5, scored_offset=5)]})
    asked, may_go_on = list[str](), Event()

    def is_simulated(program_id: str) -> bool:
        asked.append(program_id)
        return not may_go_on.wait(10)

    commits = list[LiveCommit]()
    LiveCommits(is_simulated, after=(commits.append, commits.append)).on_commit(rows)
    with ThreadPoolExecutor(2) as threads:
        first, second = (threads.submit(attrgetter("entries"), commit) for commit in commits)
        may_go_on.set()
        assert first.result() is second.result()
    assert asked == [PROGRAM]
    assert first.result() == entries_of(rows, lambda _: False)


def test_given_a_version_of_a_transfer_without_a_scoring_of_its_own_then_there_is_no_event() -> None:
    scored, changed = a_transfer(offset=5, scored_offset=5), a_transfer(offset=6, scored_offset=5, status="RETURNED")
    unscored = a_transfer(offset=7, scored_offset=None, score=None, score_band=None)
    events = entries_of(row_tables({TransferRow: [scored, changed, unscored]}), lambda _: False)
    assert [each.offset for each in events] == [5]


def test_given_a_commit_without_live_rows_then_its_readers_are_not_called() -> None:
    commits = list[LiveCommit]()
    rows = row_tables({type(row): [row] for row in [an_event()]})
    readers = LiveCommits(lambda _: False, before=(commits.append,), after=(commits.append,))
    readers.before_commit(rows)
    readers.on_commit(rows)
    assert commits == []


def test_given_a_commit_then_the_events_that_were_made_before_it_are_those_that_its_readers_get_after_it() -> None:
    first, second = (row_tables({TransferRow: [a_transfer(offset=at, scored_offset=at)]}) for at in (5, 6))
    before, after = list[LiveCommit](), list[LiveCommit]()
    readers = LiveCommits(lambda _: False, before=(before.append,), after=(after.append,))
    readers.before_commit(first)
    readers.on_commit(first)
    readers.before_commit(second)
    assert after == before[:1]
    readers.on_commit(second)
    assert after == before
    readers.on_commit(first)  # without its beginning
    assert [each.offset for each in after[-1].entries] == [5]


def batch_tables(*rows: msgspec.Struct) -> dict[str, pa.Table]:
    """As a scorer sends them."""
    results = ShardResults(3)
    for row in rows:
        results.emit(row)
    return batch_of([results], {}, with_live=True).tables


def test_given_entries_that_a_scorer_made_then_they_are_those_of_the_rows_and_marked_for_simulated_programs() -> None:
    rows = [a_transfer(offset=5, scored_offset=5), a_score(offset=5), a_score(offset=5, program_id=SIMULATED)]
    tables = batch_tables(*rows, a_transfer(offset=6, scored_offset=5, status="RETURNED"))
    assert tables[LiveEntryRow.__name__].num_rows == 3
    is_simulated = {SIMULATED}.__contains__
    entries = LiveCommit(tables, is_simulated).entries
    assert list(entries) == entries_of(tables, is_simulated)
    marks = {each.program_id: msgspec.json.decode(each.body).get("simulated") for each in entries}
    assert marks == {PROGRAM: None, SIMULATED: True}


def test_given_a_row_that_has_no_columns_then_the_entries_are_those_of_the_rows_in_the_tables() -> None:
    good, bad = a_transfer(offset=5, scored_offset=5), a_transfer(id="trf_2", offset=6, scored_offset=6, rail=None)
    tables = batch_tables(good, bad)
    assert LiveEntryRow.__name__ not in tables
    assert [each.offset for each in LiveCommit(tables, lambda _: False).entries] == [5]


def test_given_batches_of_which_one_has_no_entries_then_none_of_the_commit_is_missing() -> None:
    first = batch_tables(a_transfer(offset=5, scored_offset=5))
    second = batch_tables(a_transfer(id="trf_2", offset=6, scored_offset=6))
    del second[LiveEntryRow.__name__]
    entries = LiveCommit(joined_by_type([first, second]), lambda _: False).entries
    assert [each.offset for each in entries] == [5, 6]


def test_given_entries_that_cannot_be_made_then_the_rows_are_sent_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OverflowError("No such instant.")

    monkeypatch.setattr(live_entries, "live_events", fails)
    with capture_logs() as logs:
        tables = batch_tables(a_transfer(offset=5, scored_offset=5))
    assert [*tables] == [TransferRow.__name__]
    assert [line["event"] for line in logs] == ["live_entries_failed"]
    monkeypatch.undo()
    assert [each.offset for each in LiveCommit(tables, lambda _: False).entries] == [5]
