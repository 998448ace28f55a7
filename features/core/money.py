"""Money: an integer number of cents in memory, a string of digits on the wire.

Unit    cents of the transfer's currency, 0 to 10^18 - 1 (18 digits fit a signed 64-bit column)
Errors  ``parse_cents`` answers None for anything else, so that the caller words the refusal
"""

import re
from typing import Final, NewType

Cents = NewType("Cents", int)

MAX_CENTS: Final = 10**18 - 1
MOST_COUNTED_CENTS: Final = 10**12
"""One transfer counts with at most ten billion dollars, the limit of Fedwire, so that sums fit into 64 bits up to nine
million transfers in a window. Its own amount stays as the bank stated it.
"""

USD: Final = "USD"
UNREADABLE_CURRENCY: Final = "XXX"
"""ISO 4217's code for no currency: the bank states one that cannot be read, so the amount is not known to be in USD."""

_DIGITS: Final = re.compile(r"(0|[1-9][0-9]{0,17})", re.ASCII)


def parse_cents(text: str) -> Cents | None:
    """Read a canonical string of digits; ``int()`` alone takes other scripts' digits, "1_000", " 12 " and "+5"."""
    return Cents(int(text)) if _DIGITS.fullmatch(text) else None


def usd_cents_of(amount_cents: int, currency: str | None, stated_usd_cents: int | None) -> int | None:
    """The US cents with which a transfer counts, at most ``MOST_COUNTED_CENTS``: its own amount where the currency is
    USD or not stated, else as the bank states it.

    >>> usd_cents_of(950_000, None, None), usd_cents_of(950_000, "JPY", 6_500), usd_cents_of(950_000, "JPY", None)
    (950000, 6500, None)
    >>> usd_cents_of(MAX_CENTS, "USD", None)
    1000000000000
    """
    cents = amount_cents if currency is None or currency == USD else stated_usd_cents
    return MOST_COUNTED_CENTS if cents is not None and cents > MOST_COUNTED_CENTS else cents
