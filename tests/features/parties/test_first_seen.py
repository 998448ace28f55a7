"""A counterparty is first seen with its first transfer, and before that with the bank's first event on it."""

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.parties import CounterpartyRow
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory


def told(story: ShardStory, at: int, **over: object) -> None:
    data = bank.a_counterparty(id="cpty_1", updated_at=bank.rfc3339(T0 + at), **over)
    story.deliver("counterparty.updated", data, at=T0 + at)


def first_seen(story: ShardStory, party: str = "cpty_1") -> int:
    newest = {row.id: row for row in story.all(CounterpartyRow)}
    return newest[party].first_seen_at - T0


def test_given_events_on_a_counterparty_alone_then_it_was_first_seen_with_the_first_of_them() -> None:
    story = ShardStory()

    told(story, DAY)
    assert first_seen(story) == DAY
    told(story, 3 * DAY, name="Another Name")

    assert first_seen(story) == DAY


def test_given_a_transfer_after_the_event_then_it_was_first_seen_with_the_transfer() -> None:
    story = ShardStory()
    told(story, DAY)

    story.wire("enti_1", "cpty_1", 100_00, 2 * DAY)
    assert first_seen(story) == 2 * DAY
    told(story, 3 * DAY, name="Another Name")
    story.wire("enti_1", "cpty_1", 100_00, 4 * DAY)

    assert first_seen(story) == 2 * DAY


def test_given_a_transfer_before_the_event_then_the_event_changes_nothing() -> None:
    story = ShardStory()
    story.wire("enti_1", "cpty_1", 100_00, DAY)

    told(story, 2 * DAY)

    assert first_seen(story) == DAY


def test_given_a_newer_snapshot_that_names_another_counterparty_then_that_one_was_first_seen_with_the_transfer() -> (
    None
):
    story = ShardStory()
    data = bank.a_wire(counterparty_id="cpty_1", created_at=bank.rfc3339(T0), updated_at=bank.rfc3339(T0))
    story.deliver("wire.outgoing_transfer.initiated", data)

    newer = data | {"counterparty_id": "cpty_2", "updated_at": bank.rfc3339(T0 + HOUR)}
    story.deliver("wire.outgoing_transfer.completed", newer, at=T0 + HOUR)

    assert first_seen(story, "cpty_2") == 0


def test_given_a_state_that_was_dumped_and_loaded_then_the_first_event_is_still_known() -> None:
    story = ShardStory()
    told(story, DAY)

    story.state = ShardState.loaded(story.state.dump())
    told(story, 2 * DAY, name="Another Name")

    assert first_seen(story) == DAY
