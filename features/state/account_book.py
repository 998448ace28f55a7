"""A program's accounts: their numbers, their owners, and the order of the newest statement on each."""

from typing import Any

from clearhold.features.state.snapshot_order import SnapshotOrder


class AccountBook:
    """Accounts by the order in which a transfer first named them; ``introduced`` are those named since its last use."""

    __slots__ = ("_numbers", "_orders", "_owner_orders", "_owners", "_untransacted", "ids", "introduced")

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.introduced: list[str] = []
        self._numbers: dict[str, int] = {}
        self._owners: dict[str, str] = {}
        self._untransacted = 0  # accounts that no transfer has named
        self._orders: dict[str, SnapshotOrder] = {}  # of the newest snapshot of each account
        self._owner_orders: dict[str, SnapshotOrder] = {}  # of the newest statement on its owner

    def __contains__(self, account_id: str) -> bool:
        return account_id in self._numbers or account_id in self._orders

    @property
    def count(self) -> int:
        """The accounts that a transfer or the bank has named."""
        return len(self._numbers) + self._untransacted

    def number(self, account_id: str | None) -> int:
        """The account's index in ``ids``, -1 for None; a new account gets the next one."""
        if account_id is None:
            return -1
        number = self._numbers.get(account_id)
        if number is None:
            number = self._numbers[account_id] = len(self.ids)
            self.ids.append(account_id)
            if account_id in self._orders:
                self._untransacted -= 1
            else:
                self.introduced.append(account_id)
        return number

    def known_number(self, account_id: str | None) -> int:
        """The index of an account that a transfer named, -1 for any other id."""
        return -1 if account_id is None else self._numbers.get(account_id, -1)

    def note(self, account_id: str, order: SnapshotOrder) -> bool:
        """Remember that the bank stated an account; False for an older snapshot of it."""
        if account_id not in self:
            self._untransacted += 1
        stored = self._orders.get(account_id, order)
        is_newest = not order.is_before(stored)
        if is_newest:
            self._orders[account_id] = max(order, stored)
        return is_newest

    def owner_of(self, account_id: str) -> str | None:
        return self._owners.get(account_id)

    def set_owner(self, account_id: str, entity_id: str, order: SnapshotOrder) -> bool:
        """Store the owner for later transfers; False for an older statement than the stored one."""
        if order.is_before(self._owner_orders.get(account_id, order)):
            return False
        self._owner_orders[account_id] = order
        self._owners[account_id] = entity_id
        return True

    def newest_owner_order(self, account_id: str, order: SnapshotOrder) -> SnapshotOrder:
        """The order of the newest statement on an account's owner, or the given one if newer."""
        return max(order, self._owner_orders.get(account_id, order))

    def dump(self) -> tuple[Any, ...]:
        return (self.ids, self._owners, self._orders, self._owner_orders)

    def load(self, dumped: Any) -> None:
        self.ids, self._owners, orders, owner_orders = dumped
        self._orders = {account_id: SnapshotOrder(*order) for account_id, order in orders.items()}
        self._owner_orders = {account_id: SnapshotOrder(*order) for account_id, order in owner_orders.items()}
        self._numbers = {account_id: number for number, account_id in enumerate(self.ids)}
        self._untransacted = sum(account_id not in self._numbers for account_id in orders)
