"""A counterparty has the newest object that the bank sent of it, in its own event or embedded in a transfer."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.rows.parties import CounterpartyRow
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

MAKERS = {
    "ach.outgoing_transfer.initiated": bank.an_ach_transfer,
    "wire.outgoing_transfer.initiated": bank.a_wire,
    "swift.outgoing_transfer.initiated": bank.an_international_wire,
    "realtime.outgoing_transfer.initiated": bank.a_realtime_transfer,
    "check.outgoing_debit.initiated": bank.a_check,
}


def an_object(**over: Any) -> bank.Data:
    return {"id": "cpty_1", "name": "Muster GmbH", "account_number": "DE89370400440532013000", "email": None} | over


def told_at(day: int, **over: Any) -> bank.Data:
    return an_object(updated_at=bank.rfc3339(T0 + day * DAY), **over)


def pay(story: ShardStory, day: int, embedded: Any, kind: str = "wire.outgoing_transfer.initiated") -> None:
    at = bank.rfc3339(T0 + day * DAY)
    data = MAKERS[kind](id=f"trf_{day}", counterparty_id="cpty_1", created_at=at, updated_at=at)
    story.deliver(kind, data | {"counterparty": embedded}, at=T0 + day * DAY)


def raw(story: ShardStory) -> Any:
    """The newest object of the counterparty."""
    objects = [row.raw for row in story.all(CounterpartyRow) if row.id == "cpty_1" and row.raw not in {None, "{}"}]
    return msgspec.json.decode(objects[-1]) if objects else {}


@pytest.mark.parametrize("kind", MAKERS)
def test_given_a_transfer_that_embeds_the_object_then_the_counterparty_has_it_masked(kind: str) -> None:
    story = ShardStory()

    pay(story, 1, an_object(), kind)

    assert raw(story) == an_object(account_number="3000")


def test_given_an_event_with_an_odd_field_then_numbers_of_the_object_stay_numbers() -> None:
    story, embedded = ShardStory(), an_object(limit=1.5, share=0.25, most=12)
    data = bank.a_wire(counterparty_id="cpty_1", amount=985_000.0)

    story.deliver("wire.outgoing_transfer.initiated", data | {"counterparty": embedded})

    assert raw(story) == embedded | {"account_number": "3000"}


@pytest.mark.parametrize("embedded", [None, {}, "cpty_1", []])
def test_given_no_object_then_there_is_none(embedded: object) -> None:
    story = ShardStory()

    pay(story, 1, embedded)

    assert raw(story) == {}


def test_given_two_transfers_then_the_newer_object_is_kept_whatever_came_first() -> None:
    for days in ((1, 2), (2, 1)):
        story = ShardStory()
        for day in days:
            pay(story, day, told_at(day, email=f"{day}@example.com"))
        assert raw(story)["email"] == "2@example.com"


def test_given_objects_without_a_time_then_that_of_the_newer_event_is_kept() -> None:
    for days in ((1, 2), (2, 1)):
        story = ShardStory()
        for day in days:
            pay(story, day, an_object(email=f"{day}@example.com"))
        assert raw(story)["email"] == "2@example.com"


def test_given_its_own_event_then_an_older_embedded_object_or_one_without_a_time_is_not_taken() -> None:
    for embedded in (an_object(email="none"), told_at(1, email="old")):
        story = ShardStory()
        story.deliver("counterparty.updated", told_at(2, email="own"), at=T0 + 2 * DAY)
        pay(story, 3, embedded)
        assert raw(story)["email"] == "own"

        pay(story, 4, told_at(4, email="new"))
        assert raw(story)["email"] == "new"


def test_given_a_newer_embedded_object_then_an_older_event_on_the_counterparty_is_stale() -> None:
    story = ShardStory()
    pay(story, 3, told_at(3, email="embedded"))

    story.deliver("counterparty.updated", told_at(2, email="own"), at=T0 + 2 * DAY)

    assert raw(story)["email"] == "embedded"


def test_given_the_same_object_in_every_transfer_then_it_is_written_once_also_after_a_restart() -> None:
    for embedded in (an_object(), told_at(1)):
        story = ShardStory()
        for day in range(1, 5):
            pay(story, day, embedded)
        story.state = ShardState.loaded(story.state.dump())
        pay(story, 6, embedded)
        assert len([row for row in story.all(CounterpartyRow) if row.raw]) == 1


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize("kind", MAKERS)
def test_given_an_older_embedded_object_then_name_account_and_country_stay_those_of_the_newest(
    kind: str, *, is_own: bool
) -> None:
    story, german = ShardStory(), {"address": {"country_code": "DE"}}
    pay(story, 1, told_at(1) | german, kind)
    newest = told_at(5, name="Muster AG", account_number="FR7630006000011234567890189") | {
        "address": {"country_code": "FR"}
    }
    if is_own:
        story.deliver("counterparty.updated", newest, at=T0 + 5 * DAY)
    else:
        pay(story, 5, newest, kind)

    pay(story, 6, told_at(1) | german, kind)

    party = story.program.counterparties.get("cpty_1")
    assert party is not None
    assert (party.name, party.last4, party.country) == ("Muster AG", "0189", "FR")
    row = story.all(CounterpartyRow)[-1]
    assert (row.name, row.account_last4, row.country_code) == ("Muster AG", "0189", "FR")


def test_given_an_older_embedded_object_then_it_fills_in_what_no_newer_one_states() -> None:
    story = ShardStory()
    story.deliver("counterparty.updated", told_at(5, name=None, account_number=None), at=T0 + 5 * DAY)

    pay(story, 6, told_at(1) | {"address": {"country_code": "DE"}}, "ach.outgoing_transfer.initiated")

    party = story.program.counterparties.get("cpty_1")
    assert party is not None
    assert (party.name, party.last4, party.country) == ("Muster GmbH", "3000", "DE")
