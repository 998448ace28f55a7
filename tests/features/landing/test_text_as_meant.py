"""Names, numbers and countries of the bank's events, as they count: the payee stays the payee, and a country shows."""

import pytest

from clearhold.features.core.event_results import EventResult
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.rows.transfers import TransferRow
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

KNOWN = {"beneficiary_account_number": "000123454321", "creditor_agent_routing_number": "021000021"}
CHANGED = {"beneficiary_account_number": "5550009999", "creditor_agent_routing_number": "111000025"}


def pay(story: ShardStory, number: int, name: str, account: dict[str, str]) -> None:
    at = bank.rfc3339(T0 + number * DAY_US)
    data = bank.a_wire(id=f"wire_{number}", beneficiary_name=name, counterparty_id=None, created_at=at, **account)
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
