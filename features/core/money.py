"""Money: an integer number of cents in memory, a string of digits on the wire.

Unit    cents of the transfer's currency, 0 to 10^18 - 1 (18 digits fit a signed 64-bit column)
Errors  ``parse_cents`` answers None for anything else, so that the caller words the refusal
"""

import re
from typing import Final, NewType

Cents = NewType("Cents", int)

MAX_CENTS: Final = 10**18 - 1
_DIGITS: Final = re.compile(r"(0|[1-9][0-9]{0,17})", re.ASCII)


def parse_cents(text: str) -> Cents | None:
    """Read a canonical string of digits; ``int()`` alone takes other scripts' digits, "1_000", " 12 " and "+5"."""
    return Cents(int(text)) if _DIGITS.fullmatch(text) else None
