"""The statements of a card transfer on its merchant and its card, beside the parties: category, state, entry mode,
and whether the card was there.

The merchant's country is the transfer's. Of states only those of the US are read; issuers' words for the entry mode
differ, and are kept in capitals. Nothing in the bank's events locates a merchant more exactly.

Source  ISO 18245, merchant category codes; USPS Publication 28, appendix B, states and territories
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

US: Final = "US"
_STATES: Final = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK "
    "OR PA RI SC SD TN TX UT VT VA WA WV WI WY AS GU MP PR VI"
)
US_STATES: Final = frozenset(_STATES.split())
_CATEGORY: Final = re.compile(r"[0-9]{4}", re.ASCII)
_ENTRY_MODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
_LONGEST: Final = 255  # of a text that may be one of these
_CACHED: Final = 8_192


class Purchase(msgspec.Struct, frozen=True, gc=False):
    """None: not stated. ``present`` is whether the card was at the merchant."""

    category: str | None = None
    state: str | None = None
    entry_mode: str | None = None
    present: bool | None = None

    def over(self, former: "Purchase") -> "Purchase":
        """This newer statement, with the former one where it states nothing."""
        if self == former or self is NOTHING_STATED:
            return former
        return Purchase(
            self.category or former.category,
            self.state or former.state,
            self.entry_mode or former.entry_mode,
            former.present if self.present is None else self.present,
        )


NOTHING_STATED: Final = Purchase()


def category_code(value: object) -> str | None:
    """Four digits."""
    code = value.strip() if isinstance(value, str) else ""
    return code if _CATEGORY.fullmatch(code) else None


def us_state(value: object) -> str | None:
    """The two letters of a state or territory of the US."""
    code = value.strip().upper() if isinstance(value, str) else ""
    return code if code in US_STATES else None


def entry_mode(value: object) -> str | None:
    """A word, in capitals and with ``_`` between its parts.

    >>> entry_mode("ecommerce"), entry_mode("Key-entered"), entry_mode("5")
    ('ECOMMERCE', 'KEY_ENTERED', None)
    """
    word = value.strip().upper().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    return word if _ENTRY_MODE.fullmatch(word) else None


def read_purchase(category: object, state: object, mode: object, *, present: bool | None) -> Purchase:
    """The statements in a card's object; read once for all that are alike."""
    return _read(_short(category), _short(state), _short(mode), present)


def _short(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _LONGEST else None


@lru_cache(_CACHED)
def _read(category: str | None, state: str | None, mode: str | None, present: bool | None) -> Purchase:  # noqa: FBT001 - by position, as a key of the cache
    purchase = Purchase(category_code(category), us_state(state), entry_mode(mode), present)
    return NOTHING_STATED if purchase == NOTHING_STATED else purchase
