"""The language of rules as a page, ``docs/rules.md``."""

import json
from collections.abc import Mapping
from types import NoneType
from typing import Final, get_args

import msgspec

from clearhold.features.catalogue.feature import Feature
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.rules import Rule, RuleStatus
from clearhold.features.rules.language import (
    MAX_CONDITIONS,
    MAX_ID_LENGTH,
    MAX_NAME_LENGTH,
    MAX_NOTE_LENGTH,
    MAX_SHOWN_WORDS,
    MAX_VALUES,
    RULE_FIELD_OF,
    FieldKind,
    kind_of,
    ops_of,
    words_of,
)
from clearhold.features.rules.predicate import sentence_of
from docs.pages.rule_examples import EXAMPLES, Features, RuleExample
from docs.pages.wrapping import paragraph

_HEAD: Final = f"""# Rules

A bank writes rules over the features of its scored transfers ([features](features.md)). A rule never changes a score.
When an active rule matches a transfer, it opens an alert with the detector `rule:<id>`, and a person must always decide
on that alert. With the action `log` the rule only counts the transfers that it matches. This page is made from the
code; a test keeps the two equal and runs every example below.

## A rule

| property | meaning |
|---|---|
| `id` | lower-case letters and digits with inner `-` and `_`, at most {MAX_ID_LENGTH}; not `fields` or `versions` |
| `name`, `note` | texts of at most {MAX_NAME_LENGTH} and {MAX_NOTE_LENGTH} characters, without control characters |
| `scope` | `transfer`, which is the default. Rules with another scope match nothing |
| `programId` | the program that the rule is for; null for every program |
| `when` | 1 to {MAX_CONDITIONS} conditions, **all** of which must be true |
| `action` | `alert`, `review` and `hold` open an alert; `log` only counts the matches |
| `severity` | severity of the alert: `low`, `medium` or `high` |

A condition has `field` (a feature of the table below), `op` (the operation) and `value`.

| `op` | true when the field is | `value` |
|---|---|---|
| `gt`, `gte`, `lt`, `lte` | `gt` over, `gte` at least, `lt` under, `lte` at most the value | a single value |
| `eq`, `neq` | `eq` equal, `neq` not equal to the value | a single value |
| `in`, `not_in` | `in` one of the values, `not_in` none of them | a list of 1 to {MAX_VALUES} values |
| `between` | from the first value to the second, both included | a list of two values, the lower one first |
| `is_null`, `not_null` | `is_null` null, `not_null` not null | left out |

## Null

A field is null when it is not known or was not measured; null is never 0 or false. **Every comparison with a field that
is null is false, also with `neq` and `not_in`.** Only `is_null` and `not_null` test for null. So a rule for "the
country is not US, or is not known" must be written as two rules. The `value` of a condition is never null.

## Values

* **Money** is US cents, as an integer or as a string of digits: `300000` and `"300000"` are $3,000.00. An amount of
  more than 2^53 - 1 cents must be a string.
* **Integers** and **numbers** are from 0 to 2^53 - 1; 5.0 counts as the integer 5. A number has at most 4 decimal
  places, as many as the record stores. `true` is not a number.
* **Words** are spelled as in the table. A word that the field can never have is refused.
* **`declared.countries`** is the list of countries that the program declared. `in` is true when the list has any of the
  values, and `not_in` when it has none of them. `eq` is true when the value is the only country of the list, and `neq`
  otherwise. The field is never null; a program that declared no country has an empty list.

When a rule is refused, the answer names the place of each fault, as in
`when[1].value must be one of incoming, outgoing`. A rule whose conditions contradict each other is not refused; a
backtest shows that it matches nothing.

## Fields

| field | type | operations | values | null |
|---|---|---|---|---|
"""
_VALUES: Final[Mapping[FieldKind, str]] = {
    FieldKind.MONEY: "cents",
    FieldKind.INTEGER: "integers",
    FieldKind.NUMBER: "numbers",
    FieldKind.BOOLEAN: "`true`, `false`",
    FieldKind.COUNTRIES: "ISO 3166-1 alpha-2",
}
_CONDITIONS: Final = "conditions"
_MAY_BE_NULL: Final = frozenset(
    field.name for field in msgspec.structs.fields(FeatureVector) if NoneType in get_args(field.type)
)


def markdown() -> str:
    """The language as a page."""
    rows = (_row(feature) for feature in RULE_FIELD_OF.values())
    examples = (_example(each) for each in EXAMPLES)
    return _HEAD + "\n".join(rows) + "\n\n## Examples\n\n" + "\n".join(examples)


def _row(feature: Feature) -> str:
    ops = " ".join(f"`{op}`" for op in ops_of(feature))
    kind = kind_of(feature)
    values = _words(feature) if kind is FieldKind.WORD else _VALUES[kind]
    null = "may be" if feature.column in _MAY_BE_NULL else "never"
    return f"| `{feature.name}` | {kind.value} | {ops} | {values} | {null} |"


def _words(feature: Feature) -> str:
    words = words_of(feature)
    if not words:
        return "the bank's own word, in capitals"
    return ", ".join(f"`{word}`" for word in words) if len(words) <= MAX_SHOWN_WORDS else "ISO 3166-1 alpha-2"


def _example(example: RuleExample) -> str:
    rule = msgspec.convert({**example.rule, "status": RuleStatus.DRAFT}, Rule)
    conditions = ",\n".join(f"    {json.dumps(condition)}" for condition in example.rule["when"])
    text = json.dumps({**example.rule, "when": _CONDITIONS}, indent=2).replace(
        f'"{_CONDITIONS}"', f"[\n{conditions}\n  ]"
    )
    return (
        f"{rule.name}:\n\n```json\n{text}\n```\n\n"
        f"{paragraph(f'* in words: {sentence_of(rule)}', indent='  ')}\n"
        f"* matches {_features(example.matches)}\n"
        f"* does not match {_features(example.passes)}\n"
    )


def _features(features: Features) -> str:
    return ", ".join(f"`{name}` {json.dumps(value)}" for name, value in features.items())
