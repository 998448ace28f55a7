"""Stories told again as the bank sends them: no entity on any transfer, accounts and their owners instead.

A transfer between two entities of the program is a book transfer between their accounts, as at the bank.
"""

from typing import Any, Final

from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.stories import PROGRAM, ShardStory

_PAYMENT_FAMILIES: Final = frozenset({"ach", "wire", "realtime"})
_OF_ENTITIES: Final = "enti"
_KEPT: Final = ("id", "amount", "currency_code", "created_at", "updated_at")


def account_of(entity: str) -> str:
    return entity.replace(_OF_ENTITIES, "bacc", 1)


class BankShapedStory(ShardStory):
    """Takes the deliveries of any story; owners are told before an account's first transfer, or never."""

    def __init__(self, *, owners_told: bool, **declared: Any) -> None:
        super().__init__(a_program(**{"id": PROGRAM} | declared))
        self._owners_told = owners_told
        self._told: set[str] = set()

    def deliver(self, kind: str, data: Any, *, at: int = 0, appended_at: int | None = None) -> "BankShapedStory":
        family = kind.partition(".")[0]
        if family in _PAYMENT_FAMILIES and data.get("entity_id") is not None:
            data = dict(data)
            entity, other = data.pop("entity_id"), data.get("counterparty_id") or ""
            data["bank_account_id"] = self._told_account(entity, at)
            if other.startswith(_OF_ENTITIES):
                kind, data = "book.transfer.completed", self._between(data, self._told_account(other, at))
        assert family == "card" or "entity_id" not in data or family not in _PAYMENT_FAMILIES
        super().deliver(kind, data, at=at, appended_at=appended_at)
        return self

    def _told_account(self, entity: str, at: int) -> str:
        account = account_of(entity)
        if self._owners_told and account not in self._told:
            self._told.add(account)
            super().deliver("account.unfrozen", bank.an_account(id=account, owners=[entity]), at=at)
        return account

    @staticmethod
    def _between(data: bank.Data, receiver: str) -> bank.Data:
        kept = {name: data[name] for name in _KEPT}
        return bank.a_book_transfer(
            sender_bank_account_id=data["bank_account_id"], receiver_bank_account_id=receiver, **kept
        )
