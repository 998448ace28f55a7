"""The fields that rules may name, their operations, and a condition's values as the column stores them.

All of it follows from a field's type and unit in the feature catalogue; a further field of the catalogue needs a line
here only when it has a closed vocabulary.

Unit    cents are integers, also when a rule gives them as a string of digits
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from clearhold.features.catalogue.feature import Feature
from clearhold.features.catalogue.rule_fields import RULE_FIELDS
from clearhold.features.core.plain_text import COUNTRIES, read_countries
from clearhold.features.core.rules import RuleCondition, RuleOp
from clearhold.features.core.vocabulary import AchType, CardReason, Direction, PepStatus, Rail, VerificationStatus

RULE_FIELD_OF: Final[Mapping[str, Feature]] = {feature.name: feature for feature in RULE_FIELDS}


class FieldKind(StrEnum):
    """The kind of a field's values, which decides its operations."""

    MONEY = "money"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    WORD = "word"
    COUNTRIES = "countries"  # a list, one text in the column, separated by commas


NULL_OPS: Final = (RuleOp.IS_NULL, RuleOp.NOT_NULL)
LIST_OPS: Final = (RuleOp.IN, RuleOp.NOT_IN, RuleOp.BETWEEN)
_EQUALITY: Final = (RuleOp.EQ, RuleOp.NEQ)
_MEMBERSHIP: Final = (RuleOp.IN, RuleOp.NOT_IN)
_ORDER: Final = (RuleOp.GT, RuleOp.GTE, RuleOp.LT, RuleOp.LTE)
_OF_NUMBERS: Final = (*_ORDER, *_EQUALITY, *_MEMBERSHIP, RuleOp.BETWEEN, *NULL_OPS)
_OPS_OF_KIND: Final[Mapping[FieldKind, tuple[RuleOp, ...]]] = {
    FieldKind.MONEY: _OF_NUMBERS,
    FieldKind.INTEGER: _OF_NUMBERS,
    FieldKind.NUMBER: _OF_NUMBERS,
    FieldKind.BOOLEAN: (*_EQUALITY, *NULL_OPS),
    FieldKind.WORD: (*_EQUALITY, *_MEMBERSHIP, *NULL_OPS),
    FieldKind.COUNTRIES: (*_EQUALITY, *_MEMBERSHIP, *NULL_OPS),
}
_COUNTRY_WORDS: Final = tuple(sorted(COUNTRIES))
_WORDS_OF_COLUMN: Final[Mapping[str, tuple[str, ...]]] = {
    "rail": tuple(word.value for word in Rail),
    "direction": tuple(word.value for word in Direction),
    "type": tuple(word.value for word in AchType),
    "counterparty_country": _COUNTRY_WORDS,
    "card_decision_reason": tuple(word.value for word in CardReason),
    "entity_verification_status": tuple(word.value for word in VerificationStatus),
    "entity_pep_status": tuple(word.value for word in PepStatus),
    "declared_countries": _COUNTRY_WORDS,
}

Operand = str | int | float | bool
"""A value of a condition as the field's column holds it."""


def kind_of(feature: Feature) -> FieldKind:
    if feature.unit.startswith("cents"):
        return FieldKind.MONEY
    if feature.unit == "ISO 3166-1 list":
        return FieldKind.COUNTRIES
    return FieldKind.WORD if feature.type == "string" else FieldKind(feature.type)


def ops_of(feature: Feature) -> tuple[RuleOp, ...]:
    """The operations of a field, in the order of the interface."""
    return _OPS_OF_KIND[kind_of(feature)]


def words_of(feature: Feature) -> tuple[str, ...]:
    """The closed vocabulary of a field; empty where it has none."""
    return _WORDS_OF_COLUMN.get(feature.column, ())


def names_countries(feature: Feature) -> bool:
    """Whether the values of a field are countries, which rules may write with any of their codes."""
    return words_of(feature) is _COUNTRY_WORDS


def operands_of(condition: RuleCondition) -> tuple[Operand, ...]:
    """The values of a condition that has no fault, none for ``is_null`` and ``not_null``."""
    value: Any = condition.value
    if value is msgspec.UNSET:
        return ()
    feature = RULE_FIELD_OF[condition.field]
    values = value if isinstance(value, tuple) else (value,)
    if names_countries(feature):
        return read_countries(values)
    kind = kind_of(feature)
    return tuple(_operand(kind, each) for each in values)


def _operand(kind: FieldKind, value: Any) -> Operand:
    if kind in {FieldKind.MONEY, FieldKind.INTEGER}:
        return int(value)
    if kind is FieldKind.NUMBER:
        return abs(float(value))  # -0.0 is 0
    return bool(value) if kind is FieldKind.BOOLEAN else str(value)
