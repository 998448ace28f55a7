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
An active rule opens an alert `rule:<id>` that always waits for a person; with the action `log` it only counts. Made
from `features/rules`; a test keeps the two equal, and every example below is run.

## A rule

| property | |
|---|---|
| `id` | lower-case letters and digits with inner `-` and `_`, at most {MAX_ID_LENGTH}; not `fields` or `versions` |
| `name`, `note` | at most {MAX_NAME_LENGTH} and {MAX_NOTE_LENGTH} characters, without control characters |
| `scope` | `transfer`, which is the default. Rules of another scope match nothing |
| `programId` | the program that the rule is for; null for every program |
| `when` | 1 to {MAX_CONDITIONS} conditions, **all** of which have to hold |
| `action` | `alert`, `review` and `hold` open an alert; `log` counts |
| `severity` | `low`, `medium` or `high`, of the alert |

A condition has `field`, `op` and `value`.

| `op` | holds when the field is | `value` |
|---|---|---|
| `gt`, `gte`, `lt`, `lte` | over, at least, under, at most the value | a single value |
| `eq`, `neq` | equal, not equal to the value | a single value |
| `in`, `not_in` | one of the values, none of them | a list of 1 to {MAX_VALUES} |
| `between` | from the first to the second, both included | a list of two, the lowest first |
| `is_null`, `not_null` | not known, known | left out |

## Null

Null means not measured, and is never 0 or false. **Every comparison with a field that is null is false, `neq` and
`not_in` too.** Only `is_null` and `not_null` look at null. "Not US, or not known" is two rules. `value` itself is never
null.

## Values

* **Money** is US cents, as an integer or as a string of digits: `300000` and `"300000"` are $3,000.00. Amounts of more
  than 2^53 - 1 cents are a string.
* **Integers** and **numbers** are from 0 to 2^53 - 1; 5.0 is the integer 5. A number has at most 4 decimal places: the
  record keeps no more. `true` is no number.
* **Words** are spelled as in the table. A word that the field can never have is refused.
* **`declared.countries`** is a list. `in` holds when the program declared any of the values, `not_in` when none; `eq`
  when that country is all it declared, `neq` when not. It is never null; the list of a program that declared none is
  empty.

A refusal names the path of each fault, as in `when[1].value must be one of incoming, outgoing`. A contradiction is not
refused: a backtest shows that such a rule matches nothing.

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
