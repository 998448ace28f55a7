"""The parties of simulated transfers: a customer of the program, and the other side."""

import msgspec


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
