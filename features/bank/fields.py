"""Reading single fields out of untrusted bank objects: the right type, or None; and the kinds of fields.

A kind of field says the values that are read, in words and as JSON Schema. A value is usable when the reader of its
kind returns a value. An absent field, ``null`` and an empty text are never a fault.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from clearhold.features.bank.purchases import category_code, entry_mode
from clearhold.features.bank.statuses import NOTICES_OF_CHANGE, return_code_of
from clearhold.features.core.instants import DAY_US, MINUTE_US, parse_instant
from clearhold.features.core.money import MAX_CENTS, UNREADABLE_CURRENCY, USD, parse_cents
from clearhold.features.core.plain_text import country_of, last_four, routing_number, without_invisible
from clearhold.features.core.vocabulary import AchType, EntityType, PepStatus, VerificationStatus

TEXT_LIMIT: Final = 255
EARLIEST_US: Final = 7_305 * DAY_US
"""The start of 1990: an earlier time in an object stands for none, as the year 1 does in programs written in Go."""

UPDATE_AHEAD_US: Final = 5 * MINUTE_US
STATED_AHEAD_US: Final = DAY_US
EFFECT_AHEAD_US: Final = 366 * DAY_US
"""The most that a time may be later than its event's arrival. A later update would make all that follow look old; a
day of effect is announced ahead.
"""

NO_COUNTRY: Final = ""
"""Stated, and the code of no country: unlike None, the country on file does not stand in for it."""

_NO_LIMIT: Final = 2**63
_CURRENCY_LETTERS: Final = 3
_USD_NUMBERS: Final = ("840", 840)  # the number of USD in ISO 4217, which card processors send
_CENTS_DIGITS: Final = 18


def text(value: object) -> str | None:
    """A non-empty string within the limit and without NUL."""
    return value if isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT and "\x00" not in value else None


def name(value: object) -> str | None:
    """A display name as delivered. One above the limit is cut, without invisible characters; blanks are no name."""
    if not isinstance(value, str) or value.isspace():
        return None
    if len(value) > TEXT_LIMIT:
        value = " ".join(without_invisible(value).split())[:TEXT_LIMIT]
    return value or None


def word(value: object) -> str | None:
    """An enum word of the bank's, upper-cased, without white space around it."""
    read = text(value)
    return read.strip().upper() or None if read else None


def flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def cents(value: object) -> int | None:
    """Whole cents, given as a JSON number of whole value, such as 12, 12.0 and 1.2e1, or as a string of digits."""
    if isinstance(value, str):
        return parse_cents(value)
    number = _whole(value)
    return number if number is not None and 0 <= number <= MAX_CENTS else None


def _whole(value: object) -> int | None:
    """The number as an integer, if it is exactly one. A JSON number with a fraction or exponent is a ``Decimal``."""
    if isinstance(value, Decimal):
        is_whole = value.adjusted() < _CENTS_DIGITS and value == value.to_integral_value()
        return int(value.to_integral_value()) if is_whole else None
    return value if type(value) is int else None


def signed_cents(value: object) -> int | None:
    """Whole cents that may be below zero, as balances are, given like ``cents``."""
    if isinstance(value, str) and value.startswith("-"):
        below = parse_cents(value[1:])
        return None if below is None else -below
    number = _whole(value)
    if number is not None and number < 0:
        return number if -number <= MAX_CENTS else None
    return cents(value)


def instant(value: object, latest: int = _NO_LIMIT) -> int | None:
    """An RFC 3339 date-time or date from 1990 to ``latest``."""
    at = parse_instant(value) if isinstance(value, str) else None
    return at if at is not None and EARLIEST_US <= at <= latest else None


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
    """The alpha-2 code of the country; ``NO_COUNTRY`` for a value that is the code of none."""
    if value in (None, ""):
        return None
    return (country_of(value) if isinstance(value, str) else None) or NO_COUNTRY


def first_country(*stated: str | None) -> str | None:
    """The first country that can be read; ``NO_COUNTRY`` where only others are stated."""
    return next(filter(None, stated), NO_COUNTRY if NO_COUNTRY in stated else None)


def routing(value: object) -> str | None:
    return routing_number(value) if isinstance(value, str) and value else None


def account_last4(value: object) -> str | None:
    return last_four(value) if isinstance(value, str) and value else None


def currency(value: object) -> str | None:
    """Three ASCII letters, upper-cased, or the number of USD; None where none is stated. Any other value is a
    currency that is not known.
    """
    if value == USD:
        return USD
    if value is None or value == "":
        return None
    if value in _USD_NUMBERS:
        return USD
    code = value.strip().upper() if isinstance(value, str) else ""
    is_code = len(code) == _CURRENCY_LETTERS and code.isascii() and code.isalpha()
    return code if is_code else UNREADABLE_CURRENCY


def country_in(address: object) -> str | None:
    return country(mapping(address).get("country_code"))


_TEXT_SCHEMA: Final = {"type": "string", "maxLength": TEXT_LIMIT}


class BankFieldKind(msgspec.Struct, frozen=True):
    """``words`` complete the sentence "it must be"; ``schema`` is without the null that every field may be."""

    words: str
    is_usable: Callable[[object], bool]
    schema: Mapping[str, Any]
    read_as: str = "as absent"  # in place of a value that cannot be used
    ahead_us: int | None = None  # of a time: how much later than its event's arrival it may be

    def fits(self, value: object, appended_at: int) -> bool:
        """Whether the value is usable in an event that arrived at this instant."""
        if not self.is_usable(value):
            return False
        return self.ahead_us is None or instant(value, appended_at + self.ahead_us) is not None


def one_of(*known: str) -> BankFieldKind:
    """One of the bank's words, in letters of either case."""
    options = frozenset(each.upper() for each in known)
    words = " or ".join((", ".join(known[:-1]), known[-1]))
    return BankFieldKind(words, lambda value: (word(value) or "") in options, {"type": "string", "examples": known})


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and all(isinstance(each, dict) for each in value))


TEXT: Final = BankFieldKind(
    f"a text of at most {TEXT_LIMIT} characters", lambda value: text(value) is not None, _TEXT_SCHEMA
)
NAME: Final = BankFieldKind("a text", lambda value: name(value) is not None, {"type": "string"})
CENTS: Final = BankFieldKind(
    "whole cents, as a number of whole value such as 985000, or the same as a string of digits",
    lambda value: cents(value) is not None,
    {
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": MAX_CENTS},
            {"type": "string", "pattern": "^(0|[1-9][0-9]{0,17})$"},
        ]
    },
)
SIGNED_CENTS: Final = BankFieldKind(
    "whole cents, as a number of whole value such as -6000, or the same as a string of digits",
    lambda value: signed_cents(value) is not None,
    {
        "anyOf": [
            {"type": "integer", "minimum": -MAX_CENTS, "maximum": MAX_CENTS},
            {"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,17})$"},
        ]
    },
)
FLAG: Final = BankFieldKind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})


def _time(until: str, ahead_us: int) -> BankFieldKind:
    return BankFieldKind(
        f"an RFC 3339 date-time with an offset, or a date, from 1990 to {until} the event's arrival",
        lambda value: instant(value) is not None,
        {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]},
        ahead_us=ahead_us,
    )


INSTANT: Final = _time("a day after", STATED_AHEAD_US)
UPDATE_INSTANT: Final = _time("five minutes after", UPDATE_AHEAD_US)
EFFECT_INSTANT: Final = _time("a year after", EFFECT_AHEAD_US)
CURRENCY: Final = BankFieldKind(
    "an ISO 4217 code of three letters",
    lambda value: currency(value) not in {None, UNREADABLE_CURRENCY},
    {"type": "string", "minLength": 3, "maxLength": 3, "examples": ["USD"]},
    "as a currency that is not known",
)
COUNTRY: Final = BankFieldKind(
    "an ISO 3166-1 country code of two or three letters",
    lambda value: bool(country(value)),
    {"type": "string", "examples": ["US", "USA"]},
)
ROUTING: Final = BankFieldKind(
    "a routing number of nine digits, or a BIC",
    lambda value: routing(value) is not None,
    {"type": "string", "examples": ["021000021", "021-000-021", "DEUTDEFF"]},
)
ACCOUNT: Final = BankFieldKind(
    "an account number of letters and digits, in groups or not",
    lambda value: account_last4(value) is not None,
    {"type": "string", "examples": ["744-5678-99", "DE89 3704 0044 0532 0130 00"]},
)
TEXTS: Final = BankFieldKind(
    "a list of texts, or one text with commas",
    lambda value: texts(value) is not None,
    {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
)
OBJECT: Final = BankFieldKind("an object", lambda value: isinstance(value, dict), {"type": "object"})
OBJECTS: Final = BankFieldKind("a list of objects", _is_list_of_objects, {"type": "array", "items": {"type": "object"}})
RETURN_CODE: Final = BankFieldKind(
    "a return code from R01 to R85",
    lambda value: return_code_of(value) is not None or word(value) in NOTICES_OF_CHANGE,
    {"type": "string", "pattern": "^(R(0[1-9]|[1-7][0-9]|8[0-5])|C(0[1-9]|1[0-4]))$"},
)
CATEGORY: Final = BankFieldKind(
    "a merchant category code of four digits",
    lambda value: category_code(value) is not None,
    {"type": "string", "pattern": "^[0-9]{4}$", "examples": ["5816"]},
)
ENTRY_MODE: Final = BankFieldKind(
    "a word of at most 64 letters, digits, - and _",
    lambda value: entry_mode(value) is not None,
    {"type": "string", "examples": ["ecommerce", "contactless", "chip"]},
)
ACH_TYPE: Final = one_of(*(each.value for each in AchType))
ENTITY_TYPE: Final = one_of(*(each.value for each in EntityType))
VERIFICATION_STATUS: Final = one_of(*(each.value for each in VerificationStatus))
PEP_STATUS: Final = one_of(*(each.value for each in PepStatus))
