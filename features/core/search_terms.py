"""What one line of a search may mean: an id, words of a name, the last four of an account number, an amount of money.

Names   compared as everywhere (``name_key``), or as they look (``look_key``): each word of the search begins a word of
        the name
Unit    an amount is in units of its currency, as in 12,345.67, $12,345.67 or 12345.6, and in cents once read
Errors  none: a line that is no amount has none
"""

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Final

import msgspec

from clearhold.features.core.plain_text import LAST, letters_and_digits, look_key, name_key, without_invisible

_AMOUNT: Final = re.compile(r"(?:\$|usd)? ?(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.(\d{1,2}))?", re.ASCII | re.IGNORECASE)
_CENTS_DIGITS: Final = 2


class MatchedBy(StrEnum):
    """Why something is an answer to a search, the best first."""

    ID = "id"
    ID_PREFIX = "idPrefix"
    NAME = "name"
    LAST4 = "last4"
    AMOUNT = "amount"


class SearchTerms(msgspec.Struct, frozen=True, kw_only=True):
    """``spellings`` are the words of a name, as compared and as they look; ``last4`` and ``cents`` are None for a line
    that cannot be one.
    """

    id: str
    spellings: tuple[tuple[str, ...], ...]
    last4: str | None
    cents: int | None


def terms_of(line: str) -> SearchTerms:
    """Read one line.

    >>> terms_of(" $12,345.6 ").cents, terms_of("**** 7899").last4, terms_of("Cedar-Freight, LLC").spellings
    (1234560, '7899', (('cedarfreight', 'llc'),))
    """
    number = letters_and_digits(line)
    return SearchTerms(
        id=line.strip(),
        spellings=tuple(dict.fromkeys(tuple(key(line).split()) for key in (name_key, look_key))),
        last4=number if len(number) == LAST else None,
        cents=_cents_in(without_invisible(line).strip()),
    )


def words_of(name: str) -> tuple[str, ...]:
    """The words under which a name is found."""
    return tuple(dict.fromkeys([*name_key(name).split(), *look_key(name).split()]))


def has_name(terms: SearchTerms, words: Collection[str]) -> bool:
    """Whether the ``words_of`` a name answer the search."""
    return any(all(any(each.startswith(word) for each in words) for word in spelt) for spelt in terms.spellings)


def _cents_in(text: str) -> int | None:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    units, cents = match.groups(default="")
    return int(units.replace(",", "") + cents.ljust(_CENTS_DIGITS, "0"))
