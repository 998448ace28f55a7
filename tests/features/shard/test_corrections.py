"""An id is used up by an effect: corrections under it, repetitions, and what a snapshot of the state keeps of them."""

from typing import Any, Final

import pytest

from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import EventRow, QuarantineRow, TransferRow
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, EntityRow
from clearhold.features.shard import pipeline, stated_subjects
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

WIRE: Final = "wire.outgoing_transfer.initiated"
YEARS: Final = 10 * 365 * 24 * 3_600 * 1_000_000


def entry(story: ShardStory, kind: str, data: object, *, event_id: str = "evnt_1", at: int = T0) -> LogEntry:
    return bank.a_bank_entry(kind, data, offset=len(story.entries) + 1, event_id=event_id, created_at=at)


def results(story: ShardStory, *deliveries: tuple[str, object]) -> list[tuple[str, bool]]:
    rows = [story.apply(entry(story, kind, data)).one(EventRow) for kind, data in deliveries]
    return [(row.result, row.is_correction) for row in rows]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (WIRE, None),
        (WIRE, bank.a_wire(amount="98.50")),
        (WIRE, bank.a_wire(id=7)),
        ("WIRE.outgoing_transfer.initiated", bank.a_wire()),
        ("sepa.outgoing_transfer.initiated", bank.a_wire()),
        ("wire.outgoing_tranfer.initiated", bank.a_wire(id="w")),
        ("loan.updated", {}),
    ],
)
def test_given_an_event_without_effect_when_it_comes_again_and_corrected_then_only_the_correction_is_new(
    kind: str, data: object
) -> None:
    story = ShardStory()
    wrong, right = (kind, data), (WIRE, bank.a_wire())

    again, corrected, repeated, conflicting = results(story, wrong, wrong, right, right, (WIRE, bank.a_wire(amount=7)))[
        1:
    ]

    assert again == ("duplicate", False)
    assert corrected == ("applied", True)
    assert repeated == ("duplicate", False)
    assert conflicting == ("conflicting", False)
    assert [row.amount_cents for row in story.all(TransferRow)] == [42_000_00]


def test_given_several_wrong_corrections_when_the_right_one_comes_then_it_takes_effect() -> None:
    story = ShardStory()
    wrong = [(WIRE, bank.a_wire(amount=amount)) for amount in (1.5, "x", -1, None)]

    assert results(story, *wrong, (WIRE, bank.a_wire())) == [
        ("unusable", False),
        *[("unusable", True)] * 3,
        ("applied", True),
    ]


def test_given_a_state_that_was_dumped_when_events_come_again_then_their_ids_are_as_they_were() -> None:
    story = ShardStory()
    story.apply(entry(story, WIRE, bank.a_wire(amount=1.5), event_id="evnt_wrong"))
    story.apply(entry(story, WIRE, bank.a_wire(id="wire_2"), event_id="evnt_right"))
    loaded = ShardState.loaded(iter(list(story.state.dump())))
    rows: list[Any] = []

    for event_id, amount in (("evnt_wrong", 1.5), ("evnt_wrong", 7), ("evnt_right", 9)):
        loaded.apply(entry(story, WIRE, bank.a_wire(amount=amount), event_id=event_id), rows.append)

    assert [row.result for row in rows if isinstance(row, EventRow)] == ["duplicate", "applied", "conflicting"]


def test_given_an_event_that_cannot_be_applied_when_it_comes_then_it_failed_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = ShardStory()
    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "land", lambda *_: 1 / 0)
        story.apply(entry(story, WIRE, bank.a_wire()))
    failed, quarantined = story.one(EventRow), story.one(QuarantineRow)
    other = bank.a_wire(description="again")

    assert (failed.result, quarantined.error) == ("failed", "ZeroDivisionError: division by zero")
    assert results(story, (WIRE, other)) == [("applied", True)]


def test_given_another_event_under_a_used_id_that_cannot_be_read_when_it_comes_then_it_failed_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = ShardStory()
    story.apply(entry(story, WIRE, bank.a_wire()))
    with monkeypatch.context() as broken:
        broken.setattr(stated_subjects, "read_transfer", lambda *_, **__: 1 / 0)
        unread = story.apply(entry(story, WIRE, bank.a_wire(amount=7)))

    assert (unread.one(EventRow).result, unread.one(EventRow).is_correction) == ("failed", False)
    assert unread.one(QuarantineRow).error == "ZeroDivisionError: division by zero"
    assert results(story, (WIRE, bank.a_wire(amount=7))) == [("conflicting", False)]


PARTIES: Final[dict[str, tuple[str, bank.Data, dict[str, Any], Any]]] = {
    "entity": ("identity.created", bank.an_entity(), {"is_high_risk": True}, EntityRow),
    "counterparty": ("counterparty.updated", bank.a_counterparty(), {"name": "Another"}, CounterpartyRow),
    "account": ("account.frozen", bank.an_account(), {"status": "CLOSED"}, AccountRow),
    "transfer": (WIRE, bank.a_wire(), {"amount": 7}, TransferRow),
}


@pytest.mark.parametrize("name", PARTIES)
def test_given_an_update_time_in_the_future_when_a_later_snapshot_comes_then_it_counts(name: str) -> None:
    kind, data, change, row_type = PARTIES[name]
    story = ShardStory().deliver(kind, bank.changed(data, bank.rfc3339(T0 + YEARS)))
    first = story.one(EventRow)

    story.deliver(kind, bank.changed(data, bank.rfc3339(T0 + 1), **change), at=T0 + 2)

    assert (first.result, first.path) == ("applied", "data.updated_at")
    assert story.one(EventRow).result == "applied"
    assert story.last(row_type)
