"""The parties of simulated transfers: invented people and businesses, with ids that count up under one tag; and a
planned transfer, before the bank has reported anything on it.

The same seed draws the same values, in every process and on every platform.
"""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final, TypeVar

import msgspec

from clearhold.features.bank.event_types import RAIL_OF_FAMILY


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """A counterparty. ``short_name`` is its name in an ACH entry; without one the name is cut."""

    id: str
    name: str
    business: bool
    routing: str
    account_number: str
    city: str
    country: str = "US"
    short_name: str = ""


class Party(msgspec.Struct, frozen=True, kw_only=True):
    """An entity of a program with its bank account."""

    id: str
    name: str
    business: bool
    account_id: str
    city: str
    state: str
    country: str = "US"


class EventFamily(StrEnum):
    """The beginnings of the bank's event types."""

    ACH = "ach"
    WIRE = "wire"
    SWIFT = "swift"
    REALTIME = "realtime"
    BOOK = "book"
    CHECK = "check"
    CARD = "card"


FAMILY_OF_RAIL: Final = {rail: EventFamily(family) for family, rail in RAIL_OF_FAMILY.items()}


class Ending(StrEnum):
    """How a transfer ends."""

    GOOD = "good"
    RETURNED = "returned"
    REJECTED = "rejected"
    DECLINED = "declined"
    UNFUNDED = "unfunded"  # an incoming debit over the balance, then returned


class PlannedTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """``at`` is microseconds since the epoch; ``code`` is a return code, a rejection code or a decline reason."""

    at: int
    family: EventFamily
    party: Party
    other: Other
    cents: int
    incoming: bool = False
    debit: bool = False
    sec_code: str = "PPD"
    note: str = ""
    ending: Ending = Ending.GOOD
    code: str = ""


Item = TypeVar("Item")


class Draw:
    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def between(self, low: int, high: int) -> int:
        """A value from ``low`` to ``high``, both included."""
        self._count += 1
        digest = sha256(f"{self._seed}/{self._count}".encode()).digest()
        return low + int.from_bytes(digest[:8], "big") % (high - low + 1)

    def one_of(self, items: Sequence[Item]) -> Item:
        return items[self.between(0, len(items) - 1)]


HOME: Final = "US"

COMPANY_LETTERS: Final = 16
"""Of the name of a company in an ACH entry (Nacha: positions 5 to 20 of a batch header)."""

_DISTINCTION: Final = 8
_FIRST_NAMES: Final = ("Ada", "Bo", "Cleo", "Dara", "Eli", "Fay", "Gus", "Hana", "Ivo", "June", "Kai", "Lena")
_LAST_NAMES: Final = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Juniper", "Larch")
_TRADES: Final = ("Bakery", "Books", "Cycles", "Dental", "Grocery", "Hardware", "Market", "Motors", "Paper", "Tools")
_PLACES: Final = (("Boise", "ID"), ("Miami", "FL"), ("Austin", "TX"), ("Tucson", "AZ"), ("Salem", "OR"))


class Casting:
    """Makes the parties of one run. ``tag`` separates their ids from those of other runs."""

    def __init__(self, draw: Draw, tag: str, *, home: str = HOME) -> None:
        self.draw, self.tag, self.home = draw, tag, home
        self._count = 0

    def customer(self) -> Party:
        """A person who banks on the program."""
        city, state = self.draw.one_of(_PLACES)
        entity_id = self.fresh_id("enti")
        return Party(
            id=entity_id,
            name=self._person(entity_id),
            business=False,
            account_id=self.fresh_id("bacc"),
            city=city,
            state=state,
            country=self.home,
        )

    def person(self, *, country: str | None = None) -> Other:
        """A counterparty, at home unless a country is named."""
        party_id = self.fresh_id("cpty")
        return _other(party_id, self._person(party_id), business=False, country=country or self.home)

    def shop(self) -> Other:
        party_id = self.fresh_id("cpty")
        name = f"{self.draw.one_of(_LAST_NAMES)} {self.draw.one_of(_TRADES)} {_distinction(party_id)}"
        return _other(party_id, name, business=True, country=self.home)

    def fresh_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self.tag}{self._count:04d}"

    def _person(self, party_id: str) -> str:
        return f"{self.draw.one_of(_FIRST_NAMES)} {self.draw.one_of(_LAST_NAMES)} {_distinction(party_id)}"


def _distinction(party_id: str) -> str:
    """A distinct end of the name: a known name under another account looks like invoice fraud."""
    return sha256(party_id.encode()).hexdigest()[:_DISTINCTION].upper()


def _other(party_id: str, name: str, *, business: bool, country: str) -> Other:
    """The account follows from the id, so that customers of several runs share no account.

    Abroad it is at an invented BIC: four letters of a bank, the country, a place, and XXX for the head office.
    """
    account = Draw(party_id)
    distinction = _distinction(party_id)
    return Other(
        id=party_id,
        name=name,
        business=business,
        routing=f"{account.between(10_000_000, 99_999_999)}9" if country == HOME else f"SAND{country}22XXX",
        account_number=str(account.between(10**9, 10**10 - 1)),
        city="Reno" if country == HOME else "Harbour",
        country=country,
        short_name=f"{name[: COMPANY_LETTERS - len(distinction) - 1].split(maxsplit=1)[0]} {distinction}",
    )
