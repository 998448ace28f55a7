"""A program's accounts and cards: their numbers, the owners of accounts, and the cards and accounts of each actor.

Attempts are counted per card; where the bank names no card per account, else per actor. A key is one number for all
three, so that the series of a card need one table: 3 x card, 3 x account + 1, 3 x actor + 2.
"""

from typing import Any, Final

from clearhold.features.state.party_details import SnapshotOrder
from clearhold.features.windows.edges import NOBODY

_KINDS: Final = 3
_CARD, _ACCOUNT, _ACTOR = range(_KINDS)
Counts = dict[int, int]


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


def card_key(card: int, account: int, actor: int) -> int:
    """The key that attempts are counted under; ``NOBODY`` when neither card nor account nor actor is known.

    >>> card_key(4, 7, 9), card_key(-1, 7, 9), card_key(-1, -1, 9), card_key(-1, -1, -1)
    (12, 22, 29, -1)
    """
    for kind, number in ((_CARD, card), (_ACCOUNT, account), (_ACTOR, actor)):
        if number >= 0:
            return _KINDS * number + kind
    return NOBODY


class CardTable:
    """Card ids by number, and the cards and accounts under which each actor's attempts are counted.

    >>> cards = CardTable()
    >>> first, second = (card_key(cards.number(card_id), 7, 0) for card_id in ("card_1", "card_2"))
    >>> cards.enter(0, first)
    >>> cards.only_key(0, account=-1) == first
    True
    >>> cards.enter(0, second)
    >>> cards.only_key(0, account=-1)
    -1
    >>> cards.leave(0, first)
    >>> cards.only_key(0, account=-1) == second
    True
    """

    __slots__ = ("_ids", "_joined", "_numbers", "_seen")

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._joined: dict[int, int] = {}
        self._seen: tuple[dict[int, Counts], dict[int, Counts]] = ({}, {})  # by actor: attempts by card; by account

    def number(self, card_id: str | None) -> int:
        """The card's number, -1 for none."""
        if card_id is None:
            return -1
        number = self._numbers.get(card_id)
        if number is None:
            number = self._numbers[card_id] = len(self._ids)
            self._ids.append(card_id)
        return number

    def id_of(self, number: int) -> str | None:
        """The id of a card by its number; None for -1."""
        return self._ids[number] if number >= 0 else None

    def enter(self, actor: int, key: int) -> None:
        """Count an attempt under the key as one of the actor's."""
        kind = key % _KINDS
        if kind == _ACTOR or actor < 0:
            return
        counts = self._seen[kind].setdefault(self._joined.get(actor, actor), {})
        counts[key] = counts.get(key, 0) + 1

    def leave(self, actor: int, key: int) -> None:
        """Undo one ``enter``."""
        kind = key % _KINDS
        if kind == _ACTOR or actor < 0:
            return
        counts = self._seen[kind][self._joined.get(actor, actor)]
        counts[key] -= 1
        if not counts[key]:
            del counts[key]

    def only_key(self, actor: int, *, account: int) -> int:
        """The key of an attempt that names no card: the actor's only card; ``NOBODY`` when it has several.

        Without a known card of the actor it is ``account`` (-1 for none), else its only account, else the actor.
        """
        actor = self._joined.get(actor, actor)
        cards, accounts = self._seen[_CARD].get(actor, {}), self._seen[_ACCOUNT].get(actor, {})
        if cards:
            return next(iter(cards)) if len(cards) == 1 else NOBODY
        if account < 0 and len(accounts) == 1:
            return next(iter(accounts))
        return card_key(-1, account, actor)

    def join(self, former: int, actor: int) -> None:
        """Give one actor the cards and accounts of another that is the same party, from now on.

        >>> cards = CardTable()
        >>> cards.enter(1, card_key(0, -1, -1))
        >>> cards.join(1, 2)
        >>> cards.only_key(2, account=-1), cards.only_key(1, account=-1)
        (0, 0)
        """
        self._joined[former] = actor
        for seen in self._seen:
            own = seen.setdefault(actor, {})
            for key, count in seen.pop(former, {}).items():
                own[key] = own.get(key, 0) + count

    def dump(self) -> tuple[Any, ...]:
        return (self._ids, self._joined, [list(seen.items()) for seen in self._seen])

    def load(self, dumped: Any) -> None:
        self._ids, self._joined, seen = dumped
        self._numbers = {card_id: number for number, card_id in enumerate(self._ids)}
        self._seen = (dict(seen[_CARD]), dict(seen[_ACCOUNT]))
