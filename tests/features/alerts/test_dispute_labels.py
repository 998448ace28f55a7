"""Disputes label their transfers once they are decided: bad when the holder won, ok when it lost."""

from typing import Any

import pytest

from clearhold.features.core.entries.commands import LabelEntry
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.vocabulary import LabelSource, LabelValue
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

CARD = bank.a_card_authorization()
CHECK = bank.a_check()


def paid_by_card() -> ShardStory:
    return detector_story().deliver("card.authorization.approved", CARD)


def decided(story: ShardStory, day: int, **over: Any) -> ShardStory:
    data = {"id": "disp_1", "transaction_id": CARD["id"], "amount": 5} | over
    return story.deliver("card.dispute.closed", data, at=T0 + day * DAY)


def labels(story: ShardStory) -> list[tuple[str, str, str]]:
    return [(row.label, row.source, row.recorded_by) for row in story.all(LabelRow)]


def check_becomes(story: ShardStory, suffix: str, day: int) -> ShardStory:
    at = bank.rfc3339(T0 + day * DAY)
    data = CHECK | {"status": suffix, "updated_at": at}
    return story.deliver(f"check.incoming_debit.{suffix}", data, at=T0 + day * DAY)


@pytest.mark.parametrize("word", ["won", "CASE_WON", "Won_By_Cardholder"])
@pytest.mark.parametrize("field", ["outcome", "resolution", "status"])
def test_given_a_card_dispute_that_the_holder_won_then_its_transfer_is_bad(field: str, word: str) -> None:
    story = decided(paid_by_card(), 3, **{field: word})

    (label,) = story.all(LabelRow)
    assert (label.transfer_id, label.label, label.source) == (CARD["id"], "bad", "dispute")
    assert (label.reason, label.recorded_by) == ("The holder won the dispute of it.", "bank")
    assert label.created_at == T0 + 3 * DAY
    assert story.all(EventRow)[-1].result == "applied"


def test_given_a_card_dispute_that_the_holder_lost_then_its_transfer_is_ok() -> None:
    assert labels(decided(paid_by_card(), 3, outcome="lost")) == [("ok", "dispute", "bank")]


@pytest.mark.parametrize("outcomes", [("won",), ("lost", "won")])
def test_given_a_dispute_that_is_decided_before_its_transfer_is_known_then_it_labels_it_as_it_lands(
    outcomes: tuple[str, ...],
) -> None:
    story = detector_story()
    for day, outcome in enumerate(outcomes):
        decided(story, day, outcome=outcome)
    assert [row.result for row in story.all(EventRow)] == ["waiting"] * len(outcomes)
    assert labels(story) == []
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    story.deliver("card.authorization.approved", CARD, at=T0 + 3 * DAY)
    story.deliver("card.transaction.settled", CARD | {"updated_at": bank.rfc3339(T0 + 4 * DAY)}, at=T0 + 4 * DAY)

    (label,) = story.all(LabelRow)
    assert (label.transfer_id, label.label, label.source) == (CARD["id"], "bad", "dispute")
    assert label.created_at == T0 + 3 * DAY
    assert not story.program.alerts.disputes_waiting


@pytest.mark.parametrize(
    ("decided_on", "tick_us", "expected"),
    [
        ([0], 60 * DAY - 1, ["bad"]),
        ([0], 60 * DAY, []),
        ([0, 5], 60 * DAY, ["bad"]),  # a newer decision waits from its own time on
        ([0, 5], 65 * DAY, []),
    ],
)
def test_given_a_dispute_of_a_transfer_that_does_not_come_then_it_is_forgotten_after_60_days(
    decided_on: list[int], tick_us: int, expected: list[str]
) -> None:
    story = detector_story()
    for day in decided_on:
        decided(story, day, outcome="won")
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    story.tick(tick_us)
    story.deliver("card.authorization.approved", CARD, at=T0 + 70 * DAY)

    assert [label for label, *_ in labels(story)] == expected
    assert not story.program.alerts.disputes_waiting


def test_given_disputes_of_an_old_history_then_each_waits_by_the_logs_time_and_none_for_good() -> None:
    story = detector_story()
    for number in range(300):
        data = {"id": f"disp_{number}", "transaction_id": f"card_{number}", "outcome": "won"}
        story.deliver("card.dispute.closed", data, at=T0 - 400 * DAY, appended_at=T0 + number * DAY)
        story.tick(number * DAY)

    assert list(story.program.alerts.disputes_waiting) == [f"card_{number}" for number in range(240, 300)]


@pytest.mark.parametrize("over", [{}, {"outcome": "withdrawn"}, {"outcome": 5}])
def test_given_a_dispute_without_an_outcome_then_nothing_is_labelled(over: dict[str, Any]) -> None:
    story = decided(paid_by_card(), 3, **{"status": "closed"} | over)

    assert labels(story) == []
    assert story.all(EventRow)[-1].result == "stored"


def test_given_an_open_dispute_then_its_event_is_on_record_and_nothing_is_labelled() -> None:
    data = {"id": "disp_1", "transaction_id": CARD["id"], "outcome": "won"}
    story = paid_by_card().deliver("card.dispute.opened", data, at=T0 + DAY)

    event = story.all(EventRow)[-1]
    assert (event.type, event.result) == ("card.dispute.opened", "stored")
    assert labels(story) == []


def test_given_a_dispute_that_turns_when_it_is_delivered_again_then_each_turn_is_labelled_once() -> None:
    story = paid_by_card()
    for day, outcome in enumerate(("won", "won", "lost", "lost", "won"), 3):
        decided(story, day, outcome=outcome)
        story.state = ShardState.loaded(iter(list(story.state.dump())))

    assert [label for label, _, _ in labels(story)] == ["bad", "ok", "bad"]
    assert len({row.id for row in story.all(LabelRow)}) == 3


@pytest.mark.parametrize(("outcome", "after"), [("lost", ["bad"]), ("won", ["bad", "bad"])])
def test_given_a_person_who_has_labelled_when_a_dispute_is_decided_then_a_lost_one_does_not_unsay_that(
    outcome: str, after: list[str]
) -> None:
    story = paid_by_card()
    by_person = LabelEntry(
        id="lbl_1",
        transfer_id=CARD["id"],
        label=LabelValue.BAD,
        reason="The police said so.",
        source=LabelSource.LAW_ENFORCEMENT,
        recorded_by="operator:j.lee",
        at=T0 + DAY,
    )
    story.submit(by_person)

    decided(story, 3, outcome=outcome)

    assert [label for label, _, _ in labels(story)] == after
    assert story.all(LabelRow)[0].source == "law_enforcement"


@pytest.mark.parametrize(("value", "after"), [("ok", ["ok", "bad", "ok"]), ("bad", ["bad", "bad"])])
def test_given_a_label_of_a_person_when_a_dispute_was_won_and_is_lost_then_it_counts_again(
    value: str, after: list[str]
) -> None:
    story = paid_by_card()
    story.submit(
        LabelEntry(
            id="lbl_1",
            transfer_id=CARD["id"],
            label=LabelValue(value),
            reason="Looked at.",
            source=LabelSource.PERSON,
            recorded_by="operator:j.lee",
            at=T0 + DAY,
        )
    )

    for day, outcome in ((3, "won"), (4, "lost")):
        decided(story, day, outcome=outcome)

    assert [label for label, _, _ in labels(story)] == after


def test_given_a_check_that_its_payer_disputes_then_the_outcome_labels_it() -> None:
    story = detector_story().deliver("check.incoming_debit.settled", CHECK)
    check_becomes(story, "user_initiated_return_submitted", 1)
    assert labels(story) == []

    check_becomes(story, "user_initiated_returned", 2)
    check_becomes(story, "user_initiated_returned", 3)
    assert labels(story) == [("bad", "dispute", "bank")]

    check_becomes(story, "user_initiated_return_dishonored", 4)
    assert labels(story) == [("bad", "dispute", "bank"), ("ok", "dispute", "bank")]


def test_given_a_check_that_is_first_heard_of_as_disputed_then_it_is_labelled_as_it_lands() -> None:
    assert labels(check_becomes(detector_story(), "user_initiated_returned", 2)) == [("bad", "dispute", "bank")]


def test_given_a_check_with_a_dispute_that_waits_when_its_own_status_decides_too_then_the_status_alone_labels_it() -> (
    None
):
    story = decided(detector_story(), 1, transaction_id=CHECK["id"], outcome="lost")

    assert labels(check_becomes(story, "user_initiated_returned", 2)) == [("bad", "dispute", "bank")]
    assert not story.program.alerts.disputes_waiting


def test_given_an_older_state_of_a_check_when_it_comes_late_then_it_labels_nothing() -> None:
    story = detector_story().deliver("check.incoming_debit.settled", CHECK)
    check_becomes(story, "user_initiated_return_dishonored", 4)
    check_becomes(story, "user_initiated_returned", 2)

    assert labels(story) == [("ok", "dispute", "bank")]


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("newer", "older", "label"), [("won", "lost", "bad"), ("lost", "won", "ok")])
def test_given_decisions_that_come_in_the_wrong_order_then_the_newest_one_labels_the_payment(
    newer: str, older: str, label: str, *, is_known: bool
) -> None:
    story = paid_by_card() if is_known else detector_story()

    decided(story, 5, outcome=newer)
    decided(story, 3, outcome=older)
    assert story.all(EventRow)[-1].result == "stale"
    story.state = ShardState.loaded(iter(list(story.state.dump())))
    decided(story, 4, outcome=older)
    story.deliver("card.authorization.approved", CARD | {"updated_at": None}, at=T0 + 6 * DAY)

    assert labels(story) == [(label, "dispute", "bank")]
