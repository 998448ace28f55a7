"""The step of a shard hands over an alert once a page of entries, however many of them join it."""

from collections import Counter

from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import Shards
from clearhold.flows.stream.dataflow import ShardChunk, ShardResults, ShardStep, StepContext
from tests.features.shard.test_pages import busy_story, newest_of


def results_of(chunks: list[ShardChunk], *, committed: int = 0) -> list[ShardResults]:
    context = StepContext(Shards(1), committed={0: committed}, offer_snapshot=lambda _shard, _entries: None)
    return list(ShardStep(context).on_batch(chunks)[0])


def test_given_a_busy_party_when_its_transfers_are_one_batch_then_each_alert_is_written_as_opened_and_at_the_end() -> (
    None
):
    story = busy_story(40)

    (results,) = results_of([ShardChunk(0, story.entries)])

    versions = Counter(row.id for row in results.rows[AlertRow] if isinstance(row, AlertRow))
    assert set(versions.values()) == {2}
    assert newest_of(results.rows[AlertRow]) == newest_of(story.rows)
    assert QuarantineRow not in results.rows


def test_given_two_batches_when_transfers_of_both_join_an_alert_then_each_batch_has_its_newest_version() -> None:
    story = busy_story(40)
    middle = story.entries[30].offset

    first, second = results_of([ShardChunk(0, story.entries[:31]), ShardChunk(0, story.entries[31:])])

    so_far = [row for row in story.rows if isinstance(row, AlertRow) and row.offset <= middle]
    assert newest_of(first.rows[AlertRow]) == newest_of(list(so_far))
    assert newest_of(second.rows[AlertRow]) == newest_of(story.rows)
    assert len(second.rows[AlertRow]) == len(newest_of(story.rows))


def test_given_a_batch_that_was_committed_in_part_then_only_later_findings_are_written() -> None:
    story = busy_story(40)
    middle = story.entries[30].offset

    (results,) = results_of([ShardChunk(0, story.entries)], committed=middle)

    assert newest_of(results.rows[AlertRow]) == newest_of(story.rows)
    assert {row.offset for row in results.rows[AlertRow] if isinstance(row, AlertRow)} == {story.entries[-1].offset}
