"""A rule's conditions as a sentence: fields, words and numbers alone, so that it is safe in any answer."""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.canonical import DECIMALS
from clearhold.features.core.money import money
from clearhold.features.core.rules import Rule, RuleCondition, RuleOp
from clearhold.features.rules.fields import RULE_FIELD_OF, FieldKind, Operand, kind_of, operands_of

SHOWN_VALUES: Final = 10
SHOWN_WORDS: Final = 50
"""About how many words a sentence takes of a rule's conditions; the evidence has all of them with the values."""

_WORDS: Final[Mapping[RuleOp, str]] = {
    RuleOp.GT: "is over",
    RuleOp.GTE: "is at least",
    RuleOp.LT: "is under",
    RuleOp.LTE: "is at most",
    RuleOp.EQ: "is",
    RuleOp.NEQ: "is not",
    RuleOp.IN: "is one of",
    RuleOp.NOT_IN: "is none of",
    RuleOp.BETWEEN: "is from",
    RuleOp.IS_NULL: "is not known",
    RuleOp.NOT_NULL: "is known",
}
_WORDS_OF_LISTS: Final[Mapping[RuleOp, str]] = {
    RuleOp.EQ: "is only",
    RuleOp.NEQ: "is not only",
    RuleOp.IN: "has one of",
    RuleOp.NOT_IN: "has none of",
}


def sentence_of(rule: Rule) -> str:
    """The conditions of a rule that has no faults, as in ``rail is wire and amountCents is over $3,000.00``."""
    return " and ".join(_words_of(condition) for condition in rule.when)


def shown_conditions(rule: Rule) -> tuple[str, int]:
    """The first conditions as a sentence, as many as fit and at least one; and their number."""
    sentences: list[str] = []
    words = 0
    for condition in rule.when:
        sentence = _words_of(condition)
        words += len(sentence.split()) + bool(sentences)  # "and"
        if sentences and words > SHOWN_WORDS:
            break
        sentences.append(sentence)
    return " and ".join(sentences), len(sentences)


def _words_of(condition: RuleCondition) -> str:
    kind = kind_of(RULE_FIELD_OF[condition.field])
    of_list = kind is FieldKind.COUNTRIES and condition.op in _WORDS_OF_LISTS
    words = (_WORDS_OF_LISTS if of_list else _WORDS)[condition.op]
    values = [_written(kind, operand) for operand in operands_of(condition)]
    if not values:
        return f"{condition.field} {words}"
    if condition.op is RuleOp.BETWEEN:
        return f"{condition.field} {words} {values[0]} to {values[1]}"
    more = [f"{len(values) - SHOWN_VALUES} more"] if len(values) > SHOWN_VALUES else []
    return f"{condition.field} {words} {', '.join([*values[:SHOWN_VALUES], *more])}"


def _written(kind: FieldKind, operand: Operand) -> str:
    if kind is FieldKind.MONEY:
        return money(int(operand))
    if kind is FieldKind.BOOLEAN:
        return "true" if operand else "false"
    if kind is FieldKind.NUMBER:
        return f"{operand:,.{DECIMALS}f}".rstrip("0").rstrip(".")
    return f"{operand:,}" if kind is FieldKind.INTEGER else str(operand)
