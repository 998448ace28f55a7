"""The kinds of fields of bank objects: the values that are read, in words and as JSON Schema.

A value is usable when the reader of its kind returns a value. An absent field, ``null`` and an empty text are never a
fault.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from clearhold.features.bank import fields
from clearhold.features.core.money import MAX_CENTS
from clearhold.features.core.vocabulary import AchType, EntityType, PepStatus, VerificationStatus

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
