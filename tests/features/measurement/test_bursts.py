"""Many transfers of one instant: more than the features look at."""

from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.measurement.activity import NEWEST
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

WIRE = "wire.outgoing_transfer.completed"


def test_given_more_transfers_of_an_instant_than_are_looked_at_when_the_smallest_is_scored_again_then_it_is() -> None:
    story = ShardStory()
    for number in range(NEWEST + 10):
        story.deliver(WIRE, bank.a_wire(id=f"wire_{number}", amount=100 + number))
    story.deliver(WIRE, bank.a_wire(id="wire_in_euros", currency_code="EUR"))

    returned = bank.a_wire(id="wire_0", amount=100, beneficiary_address={"country_code": "DE"})
    story.deliver(WIRE, bank.changed(returned, bank.rfc3339(T0 + 1)), at=T0 + 1)

    assert story.one(EventRow).result == "applied"
    assert story.one(TransferRow).counterparty_country == "DE"
