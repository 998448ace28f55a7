"""Reading single fields out of untrusted bank objects: the right type, or None; and the kinds of fields.

A kind of field says the values that are read, in words and as JSON Schema. A value is usable when the reader of its
kind returns a value. An absent field, ``null`` and an empty text are never a fault.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from clearhold.features.bank import fields
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.money import MAX_CENTS, USD, parse_cents
from clearhold.features.core.vocabulary import AchType, EntityType, PepStatus, VerificationStatus

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


_TEXT_SCHEMA: Final = {"type": "string", "maxLength": fields.TEXT_LIMIT}


class BankFieldKind(msgspec.Struct, frozen=True):
    """``words`` complete the sentence "it must be"; ``schema`` is without the null that every field may be."""

    words: str
    is_usable: Callable[[object], bool]
    schema: Mapping[str, Any]


def one_of(*known: str) -> BankFieldKind:
    """One of the bank's words, in letters of either case."""
    options = frozenset(each.upper() for each in known)
    words = " or ".join((", ".join(known[:-1]), known[-1]))
    return BankFieldKind(
        words, lambda value: (fields.word(value) or "") in options, {"type": "string", "examples": known}
    )


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and all(isinstance(each, dict) for each in value))


TEXT: Final = BankFieldKind(
    f"a text of at most {fields.TEXT_LIMIT} characters", lambda value: fields.text(value) is not None, _TEXT_SCHEMA
)
NAME: Final = BankFieldKind("a text", lambda value: fields.name(value) is not None, {"type": "string"})
CENTS: Final = BankFieldKind(
    "whole cents, as an integer such as 985000 or the same as a string of digits",
    lambda value: fields.cents(value) is not None,
    {
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": MAX_CENTS},
            {"type": "string", "pattern": "^(0|[1-9][0-9]{0,17})$"},
        ]
    },
)
SIGNED_CENTS: Final = BankFieldKind(
    "whole cents, as an integer such as -6000 or the same as a string of digits",
    lambda value: fields.signed_cents(value) is not None,
    {
        "anyOf": [
            {"type": "integer", "minimum": -MAX_CENTS, "maximum": MAX_CENTS},
            {"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,17})$"},
        ]
    },
)
FLAG: Final = BankFieldKind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
INSTANT: Final = BankFieldKind(
    "an RFC 3339 date-time with an offset, or a date",
    lambda value: fields.instant(value) is not None,
    {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]},
)
CURRENCY: Final = BankFieldKind(
    "an ISO 4217 code of three letters",
    lambda value: fields.currency(value) is not None,
    {"type": "string", "minLength": 3, "maxLength": 3, "examples": ["USD"]},
)
COUNTRY: Final = BankFieldKind(
    "an ISO 3166-1 alpha-2 country code",
    lambda value: fields.country(value) is not None,
    {"type": "string", "minLength": 2, "maxLength": 3, "examples": ["US"]},
)
TEXTS: Final = BankFieldKind(
    "a list of texts, or one text with commas",
    lambda value: fields.texts(value) is not None,
    {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
)
OBJECT: Final = BankFieldKind("an object", lambda value: isinstance(value, dict), {"type": "object"})
OBJECTS: Final = BankFieldKind("a list of objects", _is_list_of_objects, {"type": "array", "items": {"type": "object"}})
ACH_TYPE: Final = one_of(*(each.value for each in AchType))
ENTITY_TYPE: Final = one_of(*(each.value for each in EntityType))
VERIFICATION_STATUS: Final = one_of(*(each.value for each in VerificationStatus))
PEP_STATUS: Final = one_of(*(each.value for each in PepStatus))
