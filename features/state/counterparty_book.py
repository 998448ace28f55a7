"""The counterparties of one program, found by id, by account or by name.

An account or a name is found by the key of its text, in 20 bytes that are never removed.
"""

from array import array
from collections.abc import Sequence
from typing import Any, Final

from clearhold.features.core.in_memory import shared
from clearhold.features.core.plain_text import look_key, name_key
from clearhold.features.state.parties import UNLISTED, KnownCounterparty
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.id_index import IdIndex, key_of
from clearhold.features.windows.series import ALWAYS

_SEVERAL: Final = -1
_NEVER_STATED: Final = (ALWAYS, ALWAYS, ALWAYS)
_DETAILS: Final = len(_NEVER_STATED)


class PartyLookup:
    """Indexes of counterparties by text, in order of arrival, at most ``LIMIT``. Nearly every text has one.

    >>> lookup = PartyLookup()
    >>> lookup.add("acme supplies", 7)
    >>> lookup.add("harbor goods", 3)
    >>> lookup.add("harbor goods", 9)
    >>> list(lookup.get("acme supplies")), list(lookup.get("harbor goods")), list(lookup.get("unknown"))
    ([7], [3, 9], [])
    >>> lookup.remove("harbor goods", 3)
    >>> list(lookup.get("harbor goods"))
    [9]
    """

    LIMIT: Final = 64

    __slots__ = ("_numbers", "_only", "_several")

    def __init__(self) -> None:
        self._numbers = IdIndex()  # by text: its number in the array
        self._only = array("i")  # ``_SEVERAL`` for a text without exactly one index
        self._several: dict[int, list[int]] = {}

    def get(self, text: str) -> Sequence[int]:
        number = self._numbers.get(key_of(text)) if self._only else None  # there may be no text at all
        return () if number is None else self._indexes(number)

    def add(self, text: str, index: int) -> None:
        key = key_of(text)
        number = self._numbers.get(key)
        if number is None:
            self._numbers.enter(key, len(self._only))
            self._only.append(index)
            return
        indexes = self._indexes(number)
        if index not in indexes and len(indexes) < self.LIMIT:
            self._put(number, [*indexes, index])

    def remove(self, text: str, index: int) -> None:
        number = self._numbers.get(key_of(text))
        if number is not None:
            self._put(number, [each for each in self._indexes(number) if each != index])

    def _indexes(self, number: int) -> Sequence[int]:
        only = self._only[number]
        return self._several[number] if only == _SEVERAL else (only,)

    def _put(self, number: int, indexes: list[int]) -> None:
        if len(indexes) == 1:
            self._only[number] = indexes[0]
            self._several.pop(number, None)
        else:
            self._only[number] = _SEVERAL
            self._several[number] = indexes

    def dump(self) -> tuple[Any, ...]:
        return (self._numbers.dump(), self._only.tobytes(), list(self._several.items()))

    def load(self, dumped: Any) -> None:
        self._numbers.load(dumped[0])
        self._only.frombytes(dumped[1])
        self._several.update((number, list(indexes)) for number, indexes in dumped[2])


class CounterpartyBook:
    """Counterparties of one program, found by id, by routing number and last four, or by name.

    A newer statement of a detail counts, in any order of arrival: the book has the times at which the name, the
    account and the country of each counterparty were stated.
    """

    def __init__(self) -> None:
        self.all: list[KnownCounterparty] = []
        self._by_id: dict[str, KnownCounterparty] = {}
        self._by_account = PartyLookup()
        self._by_name = PartyLookup()
        self._by_look = PartyLookup()  # those whose name looks otherwise than it is written
        self._stated_at = array("q")  # ``_DETAILS`` instants a counterparty: of its name, its account and its country

    def get(self, counterparty_id: str) -> KnownCounterparty | None:
        return self._by_id.get(counterparty_id)

    def get_or_add(self, counterparty_id: str) -> KnownCounterparty:
        party = self._by_id.get(counterparty_id)
        if party is None:
            party = KnownCounterparty(counterparty_id, len(self.all), AmountSeries())
            self.all.append(party)
            self._by_id[counterparty_id] = party
            self._stated_at.extend(_NEVER_STATED)
        return party

    def unlisted(self, name: str, routing: str | None, last4: str | None) -> KnownCounterparty:
        """The counterparty known by this name and account only."""
        return self.get_or_add(_unlisted_id(name, routing, last4))

    def known(self, name: str, routing: str | None, last4: str | None) -> KnownCounterparty | None:
        """The counterparty that a transfer with these details would land with; None for a new one."""
        return self.match(name, routing, last4) or self._by_id.get(_unlisted_id(name, routing, last4))

    def merge(
        self,
        party: KnownCounterparty,
        *,
        name: str | None,
        routing: str | None,
        last4: str | None,
        country: str | None,
        at: int,
        is_older: bool = False,
    ) -> bool:
        """Store the details that were stated at an instant, unless newer ones are known; True when any changed.

        ``is_older`` decides between two statements of one instant. Lookups keep the first holder of an account.
        """
        is_changed, at, stated_at = False, at - is_older, self._stated_at
        of_name = _DETAILS * party.index
        of_account, of_country = of_name + 1, of_name + 2
        if name:
            if stated_at[of_name] <= at:
                stated_at[of_name] = at
            else:
                name = None
        if routing or last4:
            if stated_at[of_account] <= at:
                stated_at[of_account] = at
            else:
                is_changed = self._add_earlier_account(party, routing, last4)
                routing, last4 = party.completed_by(routing, last4)
        if country:
            if stated_at[of_country] <= at:
                stated_at[of_country] = at
            else:
                country = None
        if (
            (not name or name == party.name)
            and (not country or country == party.country)
            and (not routing or routing == party.routing)
            and (not last4 or last4 == party.last4)
        ):
            return is_changed
        merged = (name or party.name, *party.account_after(routing, last4), country or party.country)
        if merged == (party.name, party.routing, party.last4, party.country):
            return is_changed
        former_name = party.name
        party.take_account(merged[1], merged[2])
        party.name, party.country = merged[0], shared(merged[3])
        self._index_account(party, party.routing, party.last4)
        self._index_name(party, former_name=former_name)
        return True

    def stated_at(self, party: KnownCounterparty) -> Sequence[int]:
        """The times of its name, its account and its country; ``ALWAYS`` for one that was not stated."""
        return self._stated_at[_DETAILS * party.index : _DETAILS * (party.index + 1)]

    def _add_earlier_account(self, party: KnownCounterparty, routing: str | None, last4: str | None) -> bool:
        account = party.take_earlier_account(routing, last4)
        if account is None:
            return False
        self._index_account(party, account.routing, account.last4)
        return True

    def match(self, name: str, routing: str | None, last4: str | None) -> KnownCounterparty | None:
        """By routing number and last four; else by name, unless both carry account details that differ.

        A namesake without details, such as a card's merchant, does not match a counterparty with another account.
        """
        holders = self._of_account(routing, last4) if routing and last4 else ()
        if holders and holders[0].has_account(routing, last4):
            return holders[0]
        namesakes = [self.all[index] for index in self._by_name.get(name_key(name))]
        alike = [each for each in namesakes if not each.differs(routing, last4)]
        if not alike or (len(alike) < len(namesakes) and not (alike[0].routing or alike[0].last4)):
            return None
        return alike[0]

    def sharing(
        self, routing: str | None, last4: str | None, also: KnownCounterparty | None = None
    ) -> list[KnownCounterparty]:
        """The counterparties with this account now, and ``also``, which is about to get it."""
        if not routing or not last4:
            return []
        parties = self._of_account(routing, last4)
        sharing = [party for party in parties if (party.routing, party.last4) == (routing, last4)]
        is_new = also is not None and (also.routing, also.last4) != (routing, last4)
        if also is not None and is_new and (also in parties or len(parties) < PartyLookup.LIMIT):
            sharing.append(also)
        return sharing

    def has_other_account(
        self,
        name: str | None,
        routing: str | None,
        last4: str | None,
        *,
        at: int,
        counted: KnownCounterparty | None = None,
    ) -> bool:
        """True when a counterparty whose name looks the same had transfers until ``at`` under other account details."""
        if name is None:
            return False
        return any(
            party.differs(routing, last4) and party.times.count(ALWAYS, at) > (1 if party is counted else 0)
            for party in self._looking_like(name)
        )

    def _of_account(self, routing: str, last4: str) -> list[KnownCounterparty]:
        return [self.all[index] for index in self._by_account.get(_account(routing, last4))]

    def _looking_like(self, name: str) -> list[KnownCounterparty]:
        """The counterparties of that name, and those with a name that differs only by letters that look alike."""
        key, look = _keys(name)
        written_so = () if look == key else self._by_name.get(look)
        return [self.all[index] for index in (*self._by_name.get(key), *written_so, *self._by_look.get(look))]

    def _index_account(self, party: KnownCounterparty, routing: str | None, last4: str | None) -> None:
        if routing and last4:
            self._by_account.add(_account(routing, last4), party.index)

    def _index_name(self, party: KnownCounterparty, *, former_name: str | None) -> None:
        if party.name == former_name:
            return
        lookups = (self._by_name, self._by_look)
        for lookup, former, key in zip(lookups, _name_keys(former_name), _name_keys(party.name), strict=True):
            if former is not None and former != key:
                lookup.remove(former, party.index)
            if key is not None and former != key:
                lookup.add(key, party.index)

    def dump_lookups(self) -> tuple[Any, ...]:
        """The lookups, which depend on the order of the details' arrival, and the times of the details."""
        lookups = (self._by_account.dump(), self._by_name.dump(), self._by_look.dump())
        return (*lookups, self._stated_at.tobytes())

    def load_parties(self, dumped: Any) -> None:
        for each in dumped:
            party = KnownCounterparty.loaded(each, len(self.all))
            self.all.append(party)
            self._by_id[party.id] = party

    def load_lookups(self, dumped: Any) -> None:
        by_account, by_name, by_look, stated_at = dumped
        self._by_account.load(by_account)
        self._by_name.load(by_name)
        self._by_look.load(by_look)
        self._stated_at.frombytes(stated_at)


def _name_keys(name: str | None) -> tuple[str | None, str | None]:
    """The key of the name, and that of its look where it is a different one."""
    if not name:
        return None, None
    key, look = _keys(name)
    return key, None if look == key else look


def _keys(name: str) -> tuple[str, str]:
    """The key of a name, and that of its look."""
    key = name_key(name)
    return key, key if name.isascii() else look_key(name)


def _unlisted_id(name: str, routing: str | None, last4: str | None) -> str:
    return "\x00".join((UNLISTED, name_key(name), routing or "", last4 or ""))


def _account(routing: str, last4: str) -> str:
    return f"{routing}\x00{last4}"
