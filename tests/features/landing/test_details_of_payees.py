"""A payee's name, account and country are those of the newest statement, in any order of delivery."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import msgspec
import pytest

from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.rows.parties import CounterpartyRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

FIRST = {"beneficiary_name": "Supp", "creditor_agent_routing_number": "021000021", "beneficiary_account_number": "4444"}
MOVED = {
    "beneficiary_name": "Supp Ltd",
    "creditor_agent_routing_number": "026009593",
    "beneficiary_account_number": "9999",
    "beneficiary_address": {"country_code": "DE"},
}
RENAMED = {
    "beneficiary_name": "Supply House",
    "beneficiary_account_number": None,
    "creditor_agent_routing_number": None,
}
NO_ROUTING = FIRST | {"creditor_agent_routing_number": None}
OF_ANOTHER_BANK = FIRST | {"creditor_agent_routing_number": "121145307", "beneficiary_account_number": None}
BACK = {"beneficiary_address": {"country_code": "FR"}} | FIRST
Statement = tuple[str, int, dict[str, Any]]  # the event's type, its day, and the details that it states


def wire(day: int, details: dict[str, Any]) -> Statement:
    return "wire.outgoing_transfer.completed", day, details


def changed(day: int, **details: object) -> Statement:
    return "counterparty.updated", day, details


def deliver(story: ShardStory, statements: Sequence[Statement], *, appended_at: int = T0 + 9 * DAY) -> ShardStory:
    for kind, day, details in statements:
        at = bank.rfc3339(T0 + day * DAY)
        data: dict[str, Any] = {"id": "cpty_1", "updated_at": at} | details
        if not kind.startswith("counterparty"):
            data = bank.a_wire(**details, id=f"wire_{day}", counterparty_id="cpty_1", created_at=at, updated_at=at)
        story.deliver(kind, data, at=T0 + day * DAY, appended_at=appended_at)
    return story


def on_file(story: ShardStory) -> tuple[str | None, ...]:
    row = story.all(CounterpartyRow)[-1]
    party = story.program.counterparties.get("cpty_1")
    assert party is not None
    assert (row.name, row.account_last4, row.country_code) == (party.name, party.last4, party.country)
    return row.name, row.routing_number, row.account_last4, row.country_code


def earlier(story: ShardStory) -> set[str]:
    accounts = msgspec.json.decode(story.all(CounterpartyRow)[-1].earlier_accounts or "[]")
    return {each["accountLast4"] for each in accounts}


@pytest.mark.parametrize(
    ("statements", "expected", "accounts"),
    [
        ([wire(1, FIRST), wire(2, MOVED)], ("Supp Ltd", "026009593", "9999", "DE"), {"4444"}),
        ([wire(1, MOVED), wire(2, FIRST)], ("Supp", "021000021", "4444", "DE"), {"9999"}),
        ([wire(1, FIRST), wire(2, MOVED), wire(3, RENAMED)], ("Supply House", "026009593", "9999", "DE"), {"4444"}),
        ([wire(1, FIRST), wire(2, MOVED), wire(3, BACK)], ("Supp", "021000021", "4444", "FR"), {"9999"}),
        ([wire(1, FIRST), wire(2, BACK), wire(3, MOVED)], ("Supp Ltd", "026009593", "9999", "DE"), {"4444"}),
        (
            [wire(1, FIRST), changed(2, name="Supply", account_number="7777"), wire(3, RENAMED)],
            ("Supply House", None, "7777", None),
            {"4444"},
        ),
        (
            [wire(1, MOVED), changed(2, address={"country_code": "FR"}), wire(3, FIRST)],
            ("Supp", "021000021", "4444", "FR"),
            {"9999"},
        ),
        (
            [changed(1, name="Old", address={"country_code": "FR"}), changed(2, name="New"), wire(3, RENAMED)],
            ("Supply House", None, None, "FR"),
            set(),
        ),
    ],
)
def test_given_statements_on_a_payee_when_they_come_in_any_order_then_the_newest_of_each_detail_is_on_file(
    statements: list[Statement], expected: tuple[str | None, ...], accounts: set[str]
) -> None:
    for order in permutations(statements):
        story = deliver(ShardStory(), order)
        assert (on_file(story), earlier(story)) == (expected, accounts), order


@pytest.mark.parametrize("order", [*permutations((wire(1, FIRST), wire(3, BACK), wire(2, MOVED)))])
def test_given_a_state_that_was_stored_between_then_the_times_of_the_details_are_known(
    order: tuple[Statement, ...],
) -> None:
    story = deliver(ShardStory(), order[:2])

    story.state = ShardState.loaded(iter(list(story.state.dump())))
    deliver(story, order[2:])

    party = story.program.counterparties.get("cpty_1")
    assert party is not None
    assert (party.name, party.last4, party.country) == ("Supp", "4444", "FR")


def test_given_two_transfers_of_one_instant_then_the_details_that_came_last_are_on_file() -> None:
    for first, last in ((FIRST, MOVED), (MOVED, FIRST)):
        story = deliver(ShardStory(), [wire(1, first)])
        at = bank.rfc3339(T0 + DAY)
        data = bank.a_wire(**last, id="wire_same", counterparty_id="cpty_1", created_at=at, updated_at=at)
        story.deliver("wire.outgoing_transfer.completed", data, at=T0 + DAY)

        assert on_file(story)[2] == last["beneficiary_account_number"]


def test_given_an_object_of_the_same_instant_when_it_is_the_earlier_state_then_it_replaces_nothing() -> None:
    story = deliver(ShardStory(), [changed(2, name="New", address={"country_code": "FR"})])

    deliver(story, [("counterparty.created", 2, {"name": "Old", "account_number": "4444"})])

    assert on_file(story) == ("New", None, "4444", "FR")


def test_given_an_older_payment_that_comes_late_then_its_account_is_on_file_and_not_a_change() -> None:
    story = deliver(ShardStory(), [wire(1, FIRST), wire(4, FIRST)])

    deliver(story, [wire(0, MOVED)])

    assert story.vector.counterparty_account_changed is False
    assert (on_file(story)[2], earlier(story)) == ("4444", {"9999"})
    deliver(story, [wire(5, MOVED)])
    assert story.vector.counterparty_account_changed is False  # it was paid on day 0
    assert on_file(story)[2] == "9999"


def test_given_an_older_object_in_a_payment_that_comes_late_then_the_newer_one_stays() -> None:
    for stated in ({}, {"updated_at": bank.rfc3339(T0 + DAY)}):
        story = ShardStory()
        for day, last4, details in ((3, "4444", {}), (2, "9999", stated)):
            embedded = {"id": "cpty_1", "name": f"Supp {day}", "account_number": last4} | details
            deliver(story, [wire(day, {"counterparty": embedded})])

        assert (on_file(story)[0], on_file(story)[2], earlier(story)) == ("Supp 3", "4444", {"9999"})


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize(
    ("newer", "older"),  # milliseconds: of the event, and of its object
    [
        ((10_000, 10_700), (10_000, 10_200)),
        ((10_000, 10_700), (9_000, 10_200)),
        ((10_000, 9_000), (20_000, 7_000)),
    ],
)
def test_given_objects_whose_times_are_not_in_the_order_of_their_events_then_the_newest_object_counts(
    newer: tuple[int, int], older: tuple[int, int], *, is_embedded: bool
) -> None:
    for order in permutations(((newer, "New", "9999"), (older, "Old", "4444"))):
        story = ShardStory()
        for (event_ms, object_ms), name, last4 in order:
            at, updated_at = T0 + event_ms * 1_000, bank.rfc3339(T0 + object_ms * 1_000)
            data: dict[str, Any] = {"id": "cpty_1", "name": name, "account_number": last4, "updated_at": updated_at}
            if is_embedded and last4 == "4444":
                times = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
                data = bank.a_wire(id="wire_1", counterparty_id="cpty_1", counterparty=data, **times)
                story.deliver("wire.outgoing_transfer.completed", data, at=at, appended_at=T0 + DAY)
            else:
                story.deliver("counterparty.updated", data, at=at, appended_at=T0 + DAY)

        assert (on_file(story)[0], on_file(story)[2], earlier(story)) == ("New", "9999", {"4444"}), order


def test_given_an_object_in_a_payment_between_an_older_one_and_its_event_then_the_newer_object_counts() -> None:
    own = {"id": "cpty_1", "name": "Old", "account_number": "4444", "updated_at": bank.rfc3339(T0 + 200)}
    embedded = own | {"name": "New", "account_number": "9999", "updated_at": bank.rfc3339(T0 + 500)}
    times = {"created_at": bank.rfc3339(T0 + 400), "updated_at": bank.rfc3339(T0 + 400)}
    payment = bank.a_wire(id="wire_1", counterparty_id="cpty_1", counterparty=embedded, **times)
    told = (("counterparty.updated", own, 1_000), ("wire.outgoing_transfer.initiated", payment, 600))
    for order in permutations(told):
        story = ShardStory()
        for kind, data, after in order:
            story.deliver(kind, data, at=T0 + after, appended_at=T0 + DAY)

        assert (on_file(story)[0], on_file(story)[2], earlier(story)) == ("New", "9999", {"4444"}), order


def test_given_a_later_state_of_a_payment_then_it_does_not_put_its_account_before_a_newer_one_that_comes_late() -> None:
    at = {"created_at": bank.rfc3339(T0 + DAY)}
    told = [
        (f"wire.outgoing_transfer.{word}", bank.a_wire(**FIRST | at, id="wire_1", counterparty_id="cpty_1"), day)
        for word, day in (("initiated", 1), ("completed", 7))
    ]
    told.append(("counterparty.updated", {"id": "cpty_1", "account_number": "7777"}, 5))
    for order in permutations(told):
        story = ShardStory()
        for kind, data, day in order:
            stated = data | {"updated_at": bank.rfc3339(T0 + day * DAY)}
            story.deliver(kind, stated, at=T0 + day * DAY, appended_at=T0 + 9 * DAY)

        assert (on_file(story)[2], earlier(story)) == ("7777", {"4444"}), order


def test_given_a_payee_without_an_id_then_its_newest_spelling_is_on_file() -> None:
    names = {}
    for days in permutations((1, 2, 3)):
        story = ShardStory()
        for day in days:
            details = FIRST | {"beneficiary_name": ("SUPP", "Supp.", "supp")[day - 1]}
            kind, _, data = wire(day, details)
            at = bank.rfc3339(T0 + day * DAY)
            data = bank.a_wire(**data, id=f"wire_{day}", counterparty_id=None, created_at=at, updated_at=at)
            story.deliver(kind, data, at=T0 + day * DAY, appended_at=T0 + 9 * DAY)
        names[days] = [party.name for party in story.program.counterparties.all]

    assert set(map(tuple, names.values())) == {("supp",)}


def test_given_late_details_when_a_payment_is_asked_for_then_asking_changes_nothing() -> None:
    story = deliver(ShardStory(), [wire(3, MOVED), wire(1, FIRST)])
    before = list(story.state.dump())
    proposed = ProposedTransfer(
        rail=Rail.WIRE,
        direction=Direction.OUTGOING,
        amount_cents="985000",
        counterparty_id="cpty_1",
        counterparty=ProposedCounterparty(name="Supp", routing_number="021000021", account_last4="4444"),
    )

    asked = assess_proposed(story.program, proposed, at=T0 + 4 * DAY)

    assert asked.assessment.vector.counterparty_account_changed is False
    assert asked.assessment.vector.counterparty_country == "DE"
    assert list(story.state.dump()) == before


def test_given_history_that_is_loaded_backwards_then_the_payee_was_first_seen_with_its_first_transfer() -> None:
    story = deliver(ShardStory(), [wire(day, FIRST) for day in (5, 3, 4, 1)])

    assert story.all(CounterpartyRow)[-1].first_seen_at == T0 + DAY


@pytest.mark.parametrize("late", [{"beneficiary_name": "Party 6"}, {"beneficiary_name": None}, MOVED])
@pytest.mark.parametrize("newest", ["completed", "rejected"])
def test_given_a_late_wire_to_another_account_when_a_namesake_of_the_payee_was_paid_then_the_account_is_no_change(
    late: dict[str, Any], newest: str
) -> None:
    shared = FIRST | {"beneficiary_name": "Party 1"}
    story = deliver(ShardStory(), [wire(5, shared | {"status": newest.upper()})])
    namesake = bank.a_wire(**shared, id="wire_n", counterparty_id="cpty_2", created_at=bank.rfc3339(T0))
    story.deliver("wire.outgoing_transfer.completed", namesake, at=T0, appended_at=T0 + 9 * DAY)

    deliver(story, [wire(1, {"beneficiary_account_number": "6666"} | late)])

    assert story.vector.counterparty_account_changed is False


@pytest.mark.parametrize(
    "order",
    [
        [wire(1, NO_ROUTING), wire(2, MOVED), wire(4, FIRST), wire(3, OF_ANOTHER_BANK)],
        [wire(1, NO_ROUTING), wire(2, MOVED), wire(4, NO_ROUTING), wire(3, FIRST), wire(0, OF_ANOTHER_BANK)],
        [wire(2, MOVED), wire(4, NO_ROUTING), wire(1, FIRST), wire(3, OF_ANOTHER_BANK)],
    ],
)
def test_given_an_account_that_was_stated_in_parts_then_another_bank_is_another_account(order: list[Statement]) -> None:
    story = deliver(ShardStory(), order)

    deliver(story, [wire(5, FIRST)])

    assert story.vector.counterparty_account_changed is False
    assert on_file(story)[1:3] == ("021000021", "4444")
