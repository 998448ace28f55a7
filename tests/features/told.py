"""A way to tell the oracle and the state a short story of transfers, one call each; they must agree on every one."""

from typing import Any, Final

from features.catalogue.vector import FeatureVector
from features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.oracle import Oracle
from tests.support.oracle_agreement import differences, rows_of

Data = bank.Data

NOBODY: Final = {"beneficiary_name": None, "beneficiary_account_number": None, "creditor_agent_routing_number": None}
STRANGER: Final = {"originator_name": None, "originator_account_number": None}


class Told:
    """Tells of transfers at times from T0 on, and answers with the vector that each led to."""

    def __init__(self) -> None:
        self.oracle = Oracle()
        self.state = ShardState(0)
        self.made = 0

    def say(self, kind: str, data: Data, at: int) -> FeatureVector | None:
        self.made += 1
        entry = bank.a_bank_entry(kind, data, offset=self.made, created_at=T0 + at)
        expected = self.oracle.apply(entry)
        found = differences(entry, rows_of(self.state, [entry]), expected)
        assert not found, found
        return None if expected is None else expected.vector

    def transfer(self, kind: str, data: Data, at: int) -> FeatureVector:
        """Its id and times are set unless the object has been told of before."""
        if data["created_at"] == bank.rfc3339(T0):
            data |= {"id": f"trf_{self.made}", "created_at": bank.rfc3339(T0 + at), "updated_at": None}
        vector = self.say(kind, data, at)
        assert vector is not None
        return vector

    def wire(self, source: str, target: str, cents: int, at: int, **over: Any) -> FeatureVector:
        """A wire that its sender tells of, or its receiver when the sender is a counterparty."""
        if source.startswith("cpty"):
            sides: Data = {"entity_id": target, "counterparty_id": source, "is_incoming": True}
        else:
            sides = {"entity_id": source, "counterparty_id": target}
        way = "incoming" if "is_incoming" in sides else "outgoing"
        return self.transfer(
            f"wire.{way}_transfer.completed",
            bank.a_wire(**{**NOBODY, **STRANGER, "bank_account_id": None, "amount": cents} | sides | over),
            at,
        )

    def ach(self, actor: str, cents: int, at: int, **over: Any) -> FeatureVector:
        data = bank.an_ach_transfer(
            **{"entity_id": actor, "amount": cents, "type": "DEBIT", "receiver_name": None, "company_name": None} | over
        )
        return self.transfer(f"ach.{'incoming' if data['is_incoming'] else 'outgoing'}_transfer.settled", data, at)

    def card(
        self, account: str, cents: int, at: int, status: str = "PENDING", reason: str = "APPROVED"
    ) -> FeatureVector:
        data = bank.a_card_authorization(
            bank_account_id=account, entity_id=None, amount=cents, status=status, decision_reason=reason
        )
        return self.transfer("card.authorization.approved", data, at)


def told_of(*entities: str) -> Told:
    told = Told()
    for entity in entities:
        told.say("identity.created", bank.an_entity(id=entity, created_at=None), 0)
    return told
