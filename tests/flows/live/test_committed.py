"""The events of a commit are made once, whichever of its readers is first; and which rows have none."""

from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from threading import Event

from clearhold.features.core.rows.events import TransferRow
from clearhold.flows.live.committed import LiveCommit, LiveCommits, events_of
from clearhold.store.tables import row_tables
from tests.support.duck_rows import PROGRAM, a_transfer, an_event


def test_given_two_readers_at_a_time_then_the_events_are_made_once_and_both_get_the_same() -> None:
    rows = row_tables({type(row): [row] for row in [a_transfer(offset=5, scored_offset=5)]})
    asked, may_go_on = list[str](), Event()

    def is_simulated(program_id: str) -> bool:
        asked.append(program_id)
        return not may_go_on.wait(10)

    commits = list[LiveCommit]()
    LiveCommits(is_simulated, after=(commits.append, commits.append)).on_commit(rows)
    with ThreadPoolExecutor(2) as threads:
        first, second = (threads.submit(attrgetter("events"), commit) for commit in commits)
        may_go_on.set()
        assert first.result() is second.result()
    assert asked == [PROGRAM]
    assert first.result() == events_of(rows, lambda _: False)


def test_given_a_version_of_a_transfer_without_a_scoring_of_its_own_then_there_is_no_event() -> None:
    scored, changed = a_transfer(offset=5, scored_offset=5), a_transfer(offset=6, scored_offset=5, status="RETURNED")
    unscored = a_transfer(offset=7, scored_offset=None, score=None, score_band=None)
    events = events_of(row_tables({TransferRow: [scored, changed, unscored]}), lambda _: False)
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
    assert [each.offset for each in after[-1].events] == [5]
