"""Transfers as the bank sends them: an account on our side, never an entity, and a counterparty's id or nobody."""

from typing import Any, Final

from clearhold.features.catalogue.vector import FeatureVector
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

UNNAMED: Final = (
    *("beneficiary_name", "beneficiary_account_number", "creditor_agent_routing_number", "originator_name"),
    *("originator_account_number", "receiver_name", "company_name"),
)


def ach(story: ShardStory, account: str, way: str, cents: int, at: int, **over: Any) -> FeatureVector:
    """``way`` is ``outgoing DEBIT`` and the like."""
    direction, ach_type = way.split()
    data = bank.an_ach_transfer(status="SETTLED", type=ach_type, is_incoming=direction == "incoming")
    return _transfer(story, f"ach.{direction}_transfer.settled", data, account, cents, at, over)


def wire(story: ShardStory, account: str, direction: str, cents: int, at: int, **over: Any) -> FeatureVector:
    data = bank.a_wire(is_incoming=direction == "incoming")
    return _transfer(story, f"wire.{direction}_transfer.completed", data, account, cents, at, over)


def card(story: ShardStory, account: str, cents: int, at: int, **over: Any) -> FeatureVector:
    data = bank.a_card_authorization(entity_id=None)
    return _transfer(story, "card.authorization.declined", data, account, cents, at, over)


def told_again(story: ShardStory, transfer_id: str, kind: str, data: bank.Data, at: int) -> None:
    """A newer snapshot of a transfer, such as its return."""
    newer = data | {"id": transfer_id, "updated_at": bank.rfc3339(T0 + at)}
    story.deliver(kind, newer, at=T0 + at)


def returned_ach(story: ShardStory, account: str, way: str, code: str, at: int, **over: Any) -> None:
    """An ACH entry of 100.00 that came back a day later."""
    transfer_id = over.get("id", f"acht_{len(story.entries)}")
    ach(story, account, way, 100_00, at, **over | {"id": transfer_id})
    direction, ach_type = way.split()
    day = 24 * 60 * 60 * 1_000_000
    data = bank.an_ach_transfer(
        type=ach_type,
        is_incoming=direction == "incoming",
        amount=100_00,
        bank_account_id=account,
        created_at=bank.rfc3339(T0 + at),
        status="RETURNED",
        return_details=[bank.a_return(code, T0 + at + day)],
    )
    silent = {name: None for name in UNNAMED if name in data}
    told_again(story, transfer_id, f"ach.{direction}_transfer.returned", data | silent | over, at + day)


def _transfer(
    story: ShardStory, kind: str, usual: bank.Data, account: str, cents: int, at: int, over: bank.Data
) -> FeatureVector:
    silent = {name: None for name in UNNAMED if name in usual}
    own = {
        "id": f"trf_{len(story.entries)}",
        "bank_account_id": account,
        "amount": cents,
        "created_at": bank.rfc3339(T0 + at),
        "updated_at": bank.rfc3339(T0 + at),
    }
    story.deliver(kind, usual | silent | own | over, at=T0 + at)
    return story.vector
