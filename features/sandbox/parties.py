"""The parties of simulated transfers: a customer of the program, and the other side; and a planned
transfer, before the bank has reported anything on it.
"""

from enum import StrEnum
from typing import Final

import msgspec

from clearhold.features.bank.event_types import RAIL_OF_FAMILY


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """A counterparty."""

    id: str
    name: str
    business: bool
    routing: str
    account_number: str
    city: str
    country: str = "US"


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
