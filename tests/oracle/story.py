"""A short story told to the oracle as the bank would tell it, one call an event; times are counted from T0.

No transfer names its entity: its account acts, or whom the bank said to own it. T0 is a Monday, 15:00 UTC.
"""

from typing import Any, Final

from clearhold.features.core.entries.preflight import ProposedTransfer
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from tests.oracle.asking import Asked, ask
from tests.oracle.oracle import Fields, Oracle
from tests.support import bank_events as bank
from tests.support.clock import T0

Data = bank.Data

UNNAMED: Final = {
    "receiver_name": None,
    "company_name": None,
    "odfi_routing_number": None,
    "payee_name": None,
    "beneficiary_name": None,
    "beneficiary_account_number": None,
    "creditor_agent_routing_number": None,
    "originator_name": None,
    "originator_account_number": None,
}


class Story:
    """Tells the oracle of events, and answers with the features that each transfer was scored with."""

    def __init__(self) -> None:
        self.oracle = Oracle()
        self.made = 0
        self.told: dict[str, tuple[str, Data]] = {}

    def say(self, kind: str, data: Data, at: int, *, told_at: int | None = None) -> Fields | None:
        """``at`` is the event's own time; it is appended then unless it is told of later."""
        self.made += 1
        appended_at = T0 + (at if told_at is None else told_at)
        entry = bank.a_bank_entry(kind, data, offset=self.made, created_at=T0 + at, appended_at=appended_at)
        expected = self.oracle.apply(entry)
        return None if expected is None else expected.features

    def transfer(self, kind: str, data: Data, at: int, *, told_at: int | None = None) -> Fields:
        data = data | {"created_at": bank.rfc3339(T0 + at), "updated_at": bank.rfc3339(T0 + at)}
        self.told[data["id"]] = (kind, data)
        features = self.say(kind, data, at, told_at=told_at)
        assert features is not None
        return features

    def _built(self, usual: Data, cents: int, account: str | None, party: str | None, over: Data) -> Data:
        silent = {name: None for name in UNNAMED if name in usual}
        own = {"id": f"trf_{self.made}", "amount": cents, "bank_account_id": account, "counterparty_id": party}
        return usual | silent | own | over

    def ach(
        self, way: str, cents: int, at: int, *, account: str = "bacc_1", party: str | None = "cpty_1", **over: Any
    ) -> Fields:
        """``way`` is ``outgoing DEBIT`` and the like, ``outgoing None`` where the bank does not say."""
        direction, ach_type = way.split()
        data = self._built(bank.an_ach_transfer(status="SETTLED"), cents, account, party, over)
        data |= {"type": None if ach_type == "None" else ach_type, "is_incoming": direction == "incoming"}
        return self.transfer(f"ach.{direction}_transfer.settled", data, at)

    def wire(
        self,
        direction: str,
        cents: int,
        at: int,
        *,
        account: str | None = "bacc_1",
        party: str | None = "cpty_1",
        told_at: int | None = None,
        **over: Any,
    ) -> Fields:
        data = self._built(bank.a_wire(is_incoming=direction == "incoming"), cents, account, party, over)
        return self.transfer(f"wire.{direction}_transfer.completed", data, at, told_at=told_at)

    def realtime(
        self, direction: str, cents: int, at: int, *, account: str = "bacc_1", party: str | None = "cpty_1", **over: Any
    ) -> Fields:
        data = self._built(bank.a_realtime_transfer(is_incoming=direction == "incoming"), cents, account, party, over)
        return self.transfer(f"realtime.{direction}_transfer.completed", data, at)

    def abroad(self, currency: str, cents: int, at: int, *, account: str = "bacc_1", **over: Any) -> Fields:
        """An international wire to a stranger, which says nothing of US dollars by itself."""
        money = {f"{which}_{what}": None for which in ("settled", "instructed") for what in ("amount", "currency_code")}
        usual = bank.an_international_wire(currency_code=currency) | money
        data = self._built(usual, cents, account, "cpty_1", over)
        return self.transfer("swift.outgoing_transfer.completed", data, at)

    def check(self, direction: str, cents: int, at: int, *, account: str = "bacc_1", party: str = "cpty_1") -> Fields:
        """``outgoing`` is one that we issued, ``incoming`` one that we deposited."""
        data = self._built(bank.a_check(status="settled"), cents, account, party, {})
        del data["positive_pay_amount"], data["amount"]
        data["deposited_amount" if direction == "incoming" else "positive_pay_amount"] = cents
        return self.transfer(f"{bank.RESOURCES['check', direction]}.settled", data, at)

    def book(self, sender: str, receiver: str, cents: int, at: int, **over: Any) -> Fields:
        sides = {"sender_bank_account_id": sender, "receiver_bank_account_id": receiver}
        data = bank.a_book_transfer(id=f"trf_{self.made}", amount=cents, **sides | over)
        return self.transfer("book.transfer.completed", data, at)

    def card(self, cents: int, at: int, status: str = "PENDING", reason: str = "APPROVED", **over: Any) -> Fields:
        """An authorization on a card of an account; a refund by its status."""
        usual = bank.a_card_authorization(id=f"trf_{self.made}", amount=cents, status=status, decision_reason=reason)
        kind = {"DECLINED": "authorization.declined", "REFUNDED": "transaction.refunded"}
        return self.transfer(
            f"card.{kind.get(status, 'authorization.approved')}", usual | {"entity_id": None} | over, at
        )

    def again(self, transfer_id: str, at: int, **over: Any) -> Fields | None:
        """A newer snapshot of a transfer."""
        kind, before = self.told[transfer_id]
        data = before | {"updated_at": bank.rfc3339(T0 + at)} | over
        self.told[transfer_id] = (kind, data)
        return self.say(kind, data, at)

    def identity(self, entity_id: str, at: int, **over: Any) -> None:
        self.say("identity.updated", bank.an_entity(id=entity_id, created_at=None, updated_at=None, **over), at)

    def owner(self, account: str, entity_id: str, at: int) -> None:
        """The bank's only documented events that name owners are a freeze and its reverse."""
        self.say("account.frozen", bank.an_account(id=account, owners=[entity_id]), at)

    def ask(self, rail: str, cents: int, at: int, **over: Any) -> Asked:
        proposed: dict[str, Any] = {"direction": Direction.OUTGOING} | over
        if rail == "ach":
            proposed = {"type": AchType.CREDIT} | proposed
        transfer = ProposedTransfer(rail=Rail(rail), amount_cents=str(cents), **proposed)
        return ask(self.oracle.programs["prg_1"], transfer, T0 + at)


def told(features: Fields | None, *names: str) -> tuple[Any, ...]:
    """Some features, in the order in which they are asked for."""
    assert features is not None
    return tuple(features[name] for name in names)


def returned(*codes: str) -> Data:
    """What a snapshot of an ACH transfer says that was returned, and of what became of the return."""
    status = {"R68": "RETURN_DISHONORED", "R73": "RETURN_CONTESTED"}.get(codes[-1], "RETURNED")
    return {"status": status, "return_details": [bank.a_return(code) for code in codes]}
