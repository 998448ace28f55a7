"""Reading single fields out of untrusted bank objects: the right type, or None."""

from typing import Any, Final

from clearhold.features.core.instants import parse_instant
from clearhold.features.core.money import MAX_CENTS, USD, parse_cents

TEXT_LIMIT: Final = 255
_ALPHA_2: Final = 2
_CURRENCY_LETTERS: Final = 3


def text(value: object) -> str | None:
    """A non-empty string within the limit and without NUL."""
    return value if isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT and "\x00" not in value else None


def name(value: object) -> str | None:
    """A display name, with folded spaces and cut at the limit."""
    return " ".join(value.split())[:TEXT_LIMIT] or None if isinstance(value, str) else None


def word(value: object) -> str | None:
    """An enum word of the bank's, upper-cased."""
    read = text(value)
    return read.upper() if read else None


def flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def cents(value: object) -> int | None:
    """Whole cents, given as a JSON integer or a string of digits."""
    if isinstance(value, str):
        return parse_cents(value)
    return value if type(value) is int and 0 <= value <= MAX_CENTS else None


def signed_cents(value: object) -> int | None:
    """Whole cents that may be below zero, as balances are, given like ``cents``."""
    if isinstance(value, str) and value.startswith("-"):
        below = parse_cents(value[1:])
        return None if below is None else -below
    if type(value) is int and value < 0:
        return value if -value <= MAX_CENTS else None
    return cents(value)


def instant(value: object) -> int | None:
    return parse_instant(value) if isinstance(value, str) else None


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def texts(value: object) -> tuple[str, ...] | None:
    """A list of words; a single string is split on commas, as some fields are documented."""
    if isinstance(value, str):
        value = value.split(",")
    return (
        tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
        if isinstance(value, list)
        else None
    )


def country(value: object) -> str | None:
    """ISO 3166-1 alpha-2, upper-cased; the one alpha-3 word that the bank takes too is mapped."""
    if not isinstance(value, str):
        return None
    code = value.strip().upper()
    if code == "USA":
        return "US"
    return code if len(code) == _ALPHA_2 and code.isascii() and code.isalpha() else None


def currency(value: object) -> str | None:
    """Three ASCII letters, upper-cased; anything else counts as absent."""
    if value == USD:
        return USD
    code = value.strip().upper() if isinstance(value, str) else ""
    return code if len(code) == _CURRENCY_LETTERS and code.isascii() and code.isalpha() else None


def country_in(address: object) -> str | None:
    return country(mapping(address).get("country_code"))
