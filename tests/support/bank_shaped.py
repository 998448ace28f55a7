"""Stories told again as the bank sends them: no entity on any transfer, accounts and their owners instead.

A transfer between two entities of the program is a book transfer between their accounts, as at the bank.
"""

from typing import Any, Final

from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory

_PAYMENT_FAMILIES: Final = frozenset({"ach", "wire", "realtime"})
_OF_ENTITIES: Final = "enti"
_KEPT: Final = ("id", "amount", "currency_code", "created_at", "updated_at")


def account_of(entity: str) -> str:
    return entity.replace(_OF_ENTITIES, "bacc", 1)


class BankShapedStory(ShardStory):
    """Takes the deliveries of any story. Owners are told from the payment of that number on, before it; else never."""

    def __init__(self, *, owners_from: int | None, **declared: Any) -> None:
        super().__init__(a_program(**{"id": PROGRAM} | declared))
        self.payments = 0
        self._owners_from = owners_from
        self._met: dict[str, str] = {}
        self._told: set[str] = set()

    def deliver(self, kind: str, data: Any, *, at: int = T0, appended_at: int | None = None) -> "BankShapedStory":
        family = kind.partition(".")[0]
        if family in _PAYMENT_FAMILIES and data.get("entity_id") is not None:
            data = dict(data)
            entity, other = data.pop("entity_id"), data.get("counterparty_id") or ""
            parties = [entity, other] if other.startswith(_OF_ENTITIES) else [entity]
            accounts = self._accounts(parties, at)
            data["bank_account_id"] = accounts[0]
            if len(accounts) > 1:
                kind, data = "book.transfer.completed", self._between(data, accounts[1])
            self.payments += 1
        super().deliver(kind, data, at=at, appended_at=appended_at)
        return self

    def _accounts(self, entities: list[str], at: int) -> list[str]:
        accounts = [account_of(entity) for entity in entities]
        self._met.update(zip(accounts, entities, strict=True))
        if self._owners_from is not None and self.payments >= self._owners_from:
            for account in sorted(self._met.keys() - self._told):
                self._told.add(account)
                super().deliver("account.unfrozen", bank.an_account(id=account, owners=[self._met[account]]), at=at)
        return accounts

    @staticmethod
    def _between(data: bank.Data, receiver: str) -> bank.Data:
        kept = {name: data[name] for name in _KEPT}
        return bank.a_book_transfer(
            sender_bank_account_id=data["bank_account_id"], receiver_bank_account_id=receiver, **kept
        )
