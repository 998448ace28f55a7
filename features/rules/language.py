"""The fields that rules may name with their operations, and the check of a rule when it is written: fields, operations
and values, each fault with its path.

All of a field follows from its type and unit in the feature catalogue; a further field of the catalogue needs a line
here only when it has a closed vocabulary. Contradictions are allowed: a rule that can never match is the author's
choice, and a backtest shows it.

Unit    a path is one of the JSON that the author wrote, as ``when[2].value[0]``; cents are integers, also when a rule
        gives them as a string of digits
Errors  none is raised: faults are values. The other modules of this folder take only rules without a fault
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import chain
from math import isfinite
from typing import Any, Final

import msgspec

from clearhold.features.catalogue.feature import Feature
from clearhold.features.catalogue.vector import RULE_FIELDS
from clearhold.features.core.canonical import DECIMALS, MAX_INTEGER
from clearhold.features.core.errors import CONTROL_CHARACTERS, FieldCode, WrittenFault
from clearhold.features.core.money import MAX_CENTS, parse_cents
from clearhold.features.core.plain_text import COUNTRIES, country_of, read_countries
from clearhold.features.core.rules import Rule, RuleCondition, RuleOp
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


MAX_CONDITIONS: Final = 50
MAX_VALUES: Final = 100
MAX_ID_LENGTH: Final = 64
MAX_NAME_LENGTH: Final = 200
MAX_NOTE_LENGTH: Final = 2_000
RESERVED_IDS: Final = frozenset({"fields", "versions"})
"""Ids that would hide a path of the API."""

MAX_SHOWN_WORDS: Final = 20
_BOUNDS: Final = 2
_ID: Final = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
_STATUS: Final = (
    re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII),
    "must be the bank's word: at most 64 capital letters, digits and _, as in PENDING_RETURN",
)
_FORM_OF_COLUMN: Final = {
    "merchant_category": (re.compile(r"[0-9]{4}", re.ASCII), "must be a merchant category code of four digits"),
    "merchant_state": (re.compile(r"[A-Z]{2}", re.ASCII), "must be the two capital letters of a state of the US"),
}
"""The words of a field without a closed vocabulary; ``_STATUS`` of others."""


def faults_of(rule: Rule) -> Iterator[WrittenFault]:
    """All faults of a rule, in the order in which it is written."""
    return chain(_id_faults(rule.id), _text_faults(rule), _condition_list_faults(rule.when))


def _id_faults(rule_id: str) -> Iterator[WrittenFault]:
    if len(rule_id) > MAX_ID_LENGTH:
        yield WrittenFault("id", f"must be at most {MAX_ID_LENGTH} characters", FieldCode.TOO_LONG)
    elif _ID.fullmatch(rule_id) is None:
        yield WrittenFault("id", "must be lower-case letters and digits with inner - and _", FieldCode.MALFORMED)
    elif rule_id in RESERVED_IDS:
        yield WrittenFault("id", "must not be fields or versions, which are paths of the API", FieldCode.CONFLICTING)


def _text_faults(rule: Rule) -> Iterator[WrittenFault]:
    note = "" if rule.note is msgspec.UNSET else rule.note
    for path, text, most in (("name", rule.name, MAX_NAME_LENGTH), ("note", note, MAX_NOTE_LENGTH)):
        if len(text) > most:
            yield WrittenFault(path, f"must be at most {most} characters", FieldCode.TOO_LONG)
        elif CONTROL_CHARACTERS.search(text.replace("\n", " ") if path == "note" else text) is not None:
            yield WrittenFault(path, "must not have control characters", FieldCode.MALFORMED)
    if not rule.name[:MAX_NAME_LENGTH].strip():
        yield WrittenFault("name", "must not be blank", FieldCode.TOO_SHORT)


def _condition_list_faults(when: tuple[RuleCondition, ...]) -> Iterator[WrittenFault]:
    if not when:
        yield WrittenFault("when", "must have at least one condition", FieldCode.TOO_SHORT)
    elif len(when) > MAX_CONDITIONS:
        yield WrittenFault("when", f"must have at most {MAX_CONDITIONS} conditions", FieldCode.TOO_LONG)
    else:
        for index, condition in enumerate(when):
            yield from _condition_faults(f"when[{index}]", condition)


def _condition_faults(path: str, condition: RuleCondition) -> Iterator[WrittenFault]:
    feature = RULE_FIELD_OF.get(condition.field)
    if feature is None:
        sentence = "must be a field of GET /api/rules/fields"
        yield WrittenFault(f"{path}.field", sentence, FieldCode.NOT_ONE_OF)
        return
    ops = ops_of(feature)
    if condition.op not in ops:
        sentence = f"must be one of {', '.join(ops)} for this field"
        yield WrittenFault(f"{path}.op", sentence, FieldCode.NOT_ONE_OF)
        return
    fault = _shape_fault(f"{path}.value", condition)
    if fault is not None:
        yield fault
    elif condition.op not in NULL_OPS:
        yield from _value_faults(f"{path}.value", feature, condition)


def _shape_fault(path: str, condition: RuleCondition) -> WrittenFault | None:
    """Whether there is a value where the operation needs one, and a list where it needs a list."""
    value: Any = condition.value
    if condition.op in NULL_OPS:
        needless = WrittenFault(path, f"must be left out for {condition.op.value}", FieldCode.CONFLICTING)
        return None if value is msgspec.UNSET else needless
    if value is msgspec.UNSET:
        return WrittenFault(path, f"is required for {condition.op.value}", FieldCode.REQUIRED)
    if condition.op not in LIST_OPS:
        single = WrittenFault(path, f"must be a single value for {condition.op.value}", FieldCode.WRONG_TYPE)
        return single if isinstance(value, tuple) else None
    if not isinstance(value, tuple):
        return WrittenFault(path, f"must be a list for {condition.op.value}", FieldCode.WRONG_TYPE)
    return _length_fault(path, condition.op, len(value))


def _length_fault(path: str, op: RuleOp, length: int) -> WrittenFault | None:
    least, most = (_BOUNDS, _BOUNDS) if op is RuleOp.BETWEEN else (1, MAX_VALUES)
    if least <= length <= most:
        return None
    code = FieldCode.TOO_SHORT if length < least else FieldCode.TOO_LONG
    words = "the lowest and the highest value" if least == most else f"1 to {most} values"
    return WrittenFault(path, f"must be a list of {words}", code)


def _value_faults(path: str, feature: Feature, condition: RuleCondition) -> Iterator[WrittenFault]:
    value: Any = condition.value
    if not isinstance(value, tuple):
        fault = _scalar_fault(path, feature, value)
        if fault is not None:
            yield fault
        return
    each_fault = (_scalar_fault(f"{path}[{index}]", feature, each) for index, each in enumerate(value))
    faults = [fault for fault in each_fault if fault is not None]
    yield from faults
    if condition.op is RuleOp.BETWEEN and not faults:
        low, high = operands_of(condition)
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            yield WrittenFault(path, "must have the lowest value first", FieldCode.CONFLICTING)


def _scalar_fault(path: str, feature: Feature, value: Any) -> WrittenFault | None:
    if value is None:
        return WrittenFault(path, "must not be null: is_null and not_null look for it", FieldCode.WRONG_TYPE)
    match kind_of(feature):
        case FieldKind.BOOLEAN:
            boolean = isinstance(value, bool)
            return None if boolean else WrittenFault(path, "must be true or false", FieldCode.WRONG_TYPE)
        case FieldKind.WORD | FieldKind.COUNTRIES:
            return _word_fault(path, feature, value)
        case FieldKind.MONEY if isinstance(value, str):
            known = parse_cents(value) is not None
            sentence = f"must be digits of cents, at most {MAX_CENTS}"
            return None if known else WrittenFault(path, sentence, FieldCode.MALFORMED)
        case kind:
            return _number_fault(path, kind, value)


def _word_fault(path: str, feature: Feature, value: Any) -> WrittenFault | None:
    if not isinstance(value, str):
        return WrittenFault(path, "must be a string", FieldCode.WRONG_TYPE)
    words = words_of(feature)
    if not words:
        form, sentence = _FORM_OF_COLUMN.get(feature.column, _STATUS)
        return None if form.fullmatch(value) else WrittenFault(path, sentence, FieldCode.MALFORMED)
    if (country_of(value) if names_countries(feature) else value) in words:
        return None
    listed = len(words) <= MAX_SHOWN_WORDS
    sentence = f"must be one of {', '.join(words)}" if listed else "must be an ISO 3166-1 country code"
    return WrittenFault(path, sentence, FieldCode.NOT_ONE_OF)


def _number_fault(path: str, kind: FieldKind, value: Any) -> WrittenFault | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        words = {FieldKind.MONEY: "integer cents, or a string of their digits", FieldKind.INTEGER: "an integer"}
        return WrittenFault(path, f"must be {words.get(kind, 'a number')}", FieldCode.WRONG_TYPE)
    if isinstance(value, float) and not isfinite(value):
        return WrittenFault(path, "must be a finite number", FieldCode.MALFORMED)
    if value < 0:
        return WrittenFault(path, "must be at least 0", FieldCode.TOO_SMALL)
    if value > MAX_INTEGER:
        more = ": more cents are a string of digits" if kind is FieldKind.MONEY else ""
        return WrittenFault(path, f"must be at most {MAX_INTEGER}{more}", FieldCode.TOO_LARGE)
    if kind is not FieldKind.NUMBER:
        whole = value == int(value)
        return None if whole else WrittenFault(path, "must be an integer", FieldCode.WRONG_TYPE)
    # The record rounds numbers to that many places, and two rules must not have one digest.
    exact = round(value, DECIMALS) == value
    return None if exact else WrittenFault(path, f"must have at most {DECIMALS} decimal places", FieldCode.MALFORMED)
