"""Names, numbers and countries in the bank's events: known payees are found, and an unknown country is a reason."""

import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.core.rows.parties import CounterpartyRow
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

KNOWN = {"beneficiary_account_number": "000123454321", "creditor_agent_routing_number": "021000021"}
CHANGED = {"beneficiary_account_number": "5550009999", "creditor_agent_routing_number": "111000025"}

LAST_FOUR = {"beneficiary_account_number": "000123454321"}
NO_ACCOUNT: dict[str, str] = {}


def pay(story: ShardStory, number: int, name: str, account: dict[str, str]) -> None:
    at = bank.rfc3339(T0 + number * DAY_US)
    sides = dict.fromkeys(KNOWN) | account
    data = bank.a_wire(id=f"wire_{number}", beneficiary_name=name, counterparty_id=None, created_at=at, **sides)
    story.deliver("wire.outgoing_transfer.completed", data, at=T0 + number * DAY_US)


@pytest.mark.parametrize(
    "name", ["Cedar Freight LLC", "Cedar Freight, LLC.", "CEDAR FREIGHT\u200b LLC", "C\u0435dar \u2060Freight LLC"]
)
def test_given_a_known_payee_when_it_comes_disguised_with_another_account_then_the_account_has_changed(
    name: str,
) -> None:
    story = ShardStory()
    for number in range(3):
        pay(story, number, "Cedar Freight LLC", KNOWN)

    pay(story, 3, name, CHANGED)

    assert story.vector.counterparty_account_changed is True


@pytest.mark.parametrize("name", ["C\u0435dar Freight LLC", "CEDAR FR\u0395IGHT LLC", "\u0421edar Freight, LLC"])
@pytest.mark.parametrize("known", [KNOWN, NO_ACCOUNT, LAST_FOUR])
@pytest.mark.parametrize("stated", [NO_ACCOUNT, LAST_FOUR])
def test_given_a_name_that_looks_like_a_known_one_when_no_account_differs_then_it_is_a_stranger_and_nothing_changed(
    name: str, known: dict[str, str], stated: dict[str, str]
) -> None:
    story = ShardStory()
    pay(story, 0, "Cedar Freight LLC", known)

    pay(story, 1, name, stated)
    assert (story.vector.counterparty_first_time, story.vector.counterparty_account_changed) == (True, False)

    pay(story, 2, f" {name.swapcase()}.", stated)
    assert (story.vector.counterparty_first_time, story.vector.counterparty_account_changed) == (False, False)


def test_given_a_disguised_payee_when_the_plain_one_comes_with_another_account_then_the_account_has_changed() -> None:
    story = ShardStory()
    pay(story, 0, "C\u0435dar Freight LLC", KNOWN)

    pay(story, 1, "Cedar Fr\u0435ight LLC", CHANGED)
    assert story.vector.counterparty_account_changed is True

    pay(story, 2, "Cedar Freight LLC", {"beneficiary_account_number": "7770001111"})
    assert story.vector.counterparty_account_changed is True


def test_given_a_payee_that_takes_another_name_then_its_former_name_and_look_are_no_longer_its_own() -> None:
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty(name="C\u0435dar LLC"))
    data = bank.a_wire(id="wire_0", created_at=bank.rfc3339(T0), **KNOWN)
    story.deliver("wire.outgoing_transfer.completed", data)
    renamed = bank.a_counterparty(name="Birch LLC", updated_at=bank.rfc3339(T0 + DAY_US))
    story.deliver("counterparty.updated", renamed, at=T0 + DAY_US)

    pay(story, 2, "Cedar LLC", CHANGED)
    assert story.vector.counterparty_account_changed is False

    pay(story, 3, "B\u0456rch LLC", CHANGED | {"beneficiary_account_number": "7770001111"})
    assert story.vector.counterparty_account_changed is True


@pytest.mark.parametrize(
    ("known", "name"),
    [
        ("Mary Ann Li", "Maryann Li"),
        ("Birch + Sons", "Birch Sons"),
        ("A$AP", "AAP"),
        ("Smith-Jones", "Smith Jones"),
        ("Cedar Freight", "CedarFreight"),
    ],
)
def test_given_a_name_of_other_words_or_symbols_then_it_is_a_stranger_and_no_account_changed(
    known: str, name: str
) -> None:
    story = ShardStory()
    pay(story, 0, known, NO_ACCOUNT)
    pay(story, 1, name, NO_ACCOUNT)
    assert story.vector.counterparty_first_time is True

    pay(story, 2, known, KNOWN)
    pay(story, 3, name, CHANGED)
    assert story.vector.counterparty_account_changed is False


@pytest.mark.parametrize(
    "name", ["  Cedar Fre\u200bight,  LLC", "Cedar\tFreight LLC ", "\uff23edar Freight LLC\n", "\u202acedar\u202c"]
)
def test_given_a_name_then_it_is_shown_as_delivered(name: str) -> None:
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty(name=name))
    assert story.one(CounterpartyRow).name == name

    wire = bank.a_wire(counterparty_id="cpty_2", beneficiary_name=name)
    story.deliver("wire.outgoing_transfer.completed", wire)
    assert story.one(CounterpartyRow).name == name


def test_given_a_name_above_the_limit_then_what_can_be_seen_of_it_is_shown() -> None:
    hidden = "\u200b" * 300 + " Cedar   Freight" + " LLC" * 100
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty(name=hidden))

    assert story.one(CounterpartyRow).name == ("Cedar Freight" + " LLC" * 100)[:255]


@pytest.mark.parametrize("name", ["", " ", "\t\u3000\n"])
def test_given_blanks_for_a_name_then_there_is_none(name: str) -> None:
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty(name=name))

    assert story.one(CounterpartyRow).name is None


@pytest.mark.parametrize(
    ("account", "routing"),
    [
        ("000-123-45-4321", "021-000-021"),
        ("0001 2345 4321", "021000021 "),
        ("000.123.454.321", "0 2 1 0 0 0 0 2 1"),
        ("\u200b000123454321", "021\u2011000\u2011021"),
    ],
)
def test_given_a_known_account_in_another_form_then_it_is_the_known_payee(account: str, routing: str) -> None:
    story = ShardStory()
    pay(story, 0, "Cedar Freight LLC", KNOWN)

    other_form = {"beneficiary_account_number": account, "creditor_agent_routing_number": routing}
    pay(story, 1, "Cedar Freight LLC", other_form)

    assert (story.vector.counterparty_account_changed, story.vector.counterparty_first_time) == (False, False)


@pytest.mark.parametrize("routing", ["21000021", "0210000210", "unknown"])
def test_given_a_routing_number_that_cannot_be_read_then_it_is_named_and_is_no_other_bank(routing: str) -> None:
    story = ShardStory()
    pay(story, 0, "Cedar Freight LLC", KNOWN)

    pay(story, 1, "Cedar Freight LLC", KNOWN | {"creditor_agent_routing_number": routing})

    event = story.all(EventRow)[-1]
    assert (event.result, event.path) == (EventResult.APPLIED, "data.creditor_agent_routing_number")
    assert story.vector.counterparty_account_changed is False


@pytest.mark.parametrize("code", ["ZZ", "Persia", 364])
@pytest.mark.parametrize(
    ("unreadable", "readable"),
    [
        ("counterparty.address", "beneficiary_address"),
        ("counterparty.wire.beneficiary_address", "beneficiary_address"),
        ("counterparty.address", "wire.beneficiary_address"),
        ("counterparty.address", "counterparty.wire.beneficiary_address"),
        ("beneficiary_address", "counterparty.address"),
        ("beneficiary_address", "wire.beneficiary_address"),
    ],
)
def test_given_one_place_with_a_country_and_one_without_then_that_country_counts_and_the_other_place_is_named(
    unreadable: str, readable: str, code: object
) -> None:
    story, data = ShardStory(), bank.an_international_wire(beneficiary_address={})
    for place, stated in ((unreadable, code), (readable, "IR")):
        inner = data
        for name in place.split("."):
            inner = inner.setdefault(name, {})
        inner["country_code"] = stated

    story.deliver("swift.outgoing_transfer.submitted", data)

    event = story.all(EventRow)[-1]
    assert (event.result, event.path) == (EventResult.APPLIED, f"data.{unreadable}.country_code")
    assert story.one(TransferRow).counterparty_country == "IR"


@pytest.mark.parametrize("code", ["ZZ", "XX", "AN", "Persia", 364])
def test_given_the_code_of_no_country_when_an_international_wire_lands_then_it_is_named_and_a_reason(
    code: object,
) -> None:
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty(address={"country_code": "US"}))

    story.deliver(
        "swift.outgoing_transfer.submitted", bank.an_international_wire(beneficiary_address={"country_code": code})
    )

    event = story.all(EventRow)[-1]
    assert (event.result, event.path) == (EventResult.APPLIED, "data.beneficiary_address.country_code")
    assert story.one(TransferRow).counterparty_country is None  # the country on file does not stand in for it
    assert story.alert("country_unknown").subject_id == "swft_1"  # although the entity has no score yet
