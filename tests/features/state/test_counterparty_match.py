"""Whom a described counterparty stands for: an account first, else a name that no account speaks against."""

import pytest

from clearhold.features.state.counterparty_book import CounterpartyBook
from clearhold.features.state.parties import KnownCounterparty

MINE = ("021000021", "6789")
OTHER = ("416138299", "8624")
NONE = (None, None)


def book_of(*accounts: tuple[str | None, str | None]) -> tuple[CounterpartyBook, list[KnownCounterparty]]:
    """Namesakes in the order in which they came, with these accounts."""
    book, parties = CounterpartyBook(), []
    for number, (routing, last4) in enumerate(accounts):
        party = book.get_or_add(f"cpty_{number}")
        book.merge(party, name="Harbor Goods", routing=routing, last4=last4, country=None, at=number)
        parties.append(party)
    return book, parties


@pytest.mark.parametrize(
    ("accounts", "given", "found"),
    [
        ([MINE], MINE, 0),
        ([MINE], OTHER, None),
        ([MINE], NONE, 0),
        ([NONE], OTHER, 0),
        ([NONE, MINE], MINE, 1),
        ([NONE, MINE], OTHER, None),  # a shop of that name is not whose account changed
        ([MINE, NONE], OTHER, None),
        ([MINE, NONE], (None, "6789"), 0),
        ([OTHER, MINE], (None, "6789"), 1),
        ([NONE, NONE], OTHER, 0),
    ],
)
def test_given_namesakes_when_one_is_described_then_it_is_the_one_whose_account_agrees_or_none_whose_differs(
    accounts: list[tuple[str | None, str | None]], given: tuple[str | None, str | None], found: int | None
) -> None:
    book, parties = book_of(*accounts)

    assert book.match("harbor goods", *given) is (None if found is None else parties[found])
