"""A rule as one condition over the columns of ``transfer_features``, for backtests over stored transfers.

Every value is a parameter: no text of a rule is in the SQL. The condition is never null, so that it can be negated,
counted and pushed down unchanged.
"""

from collections.abc import Mapping
from typing import Any, Final

from clearhold.features.core.rules import Rule, RuleCondition, RuleOp, RuleScope
from clearhold.features.rules.fields import RULE_FIELD_OF, FieldKind, Operand, kind_of, operands_of

_COMPARISONS: Final[Mapping[RuleOp, str]] = {
    RuleOp.GT: "> ?",
    RuleOp.GTE: ">= ?",
    RuleOp.LT: "< ?",
    RuleOp.LTE: "<= ?",
    RuleOp.EQ: "= ?",
    RuleOp.NEQ: "<> ?",
    RuleOp.BETWEEN: "BETWEEN ? AND ?",
    RuleOp.IS_NULL: "IS NULL",
    RuleOp.NOT_NULL: "IS NOT NULL",
}
_WORDS: Final[Mapping[RuleOp, str]] = {RuleOp.IN: "IN", RuleOp.NOT_IN: "NOT IN"}


def sql_of(rule: Rule) -> tuple[str, list[Any]]:
    """A boolean expression of DuckDB and its parameters. The rule has no faults."""
    if rule.scope is not RuleScope.TRANSFER:
        return "false", []
    parameters: list[Any] = [operand for condition in rule.when for operand in operands_of(condition)]
    return " AND ".join(_condition(condition) for condition in rule.when), parameters


def _condition(condition: RuleCondition) -> str:
    feature = RULE_FIELD_OF[condition.field]
    op, operands, column = condition.op, operands_of(condition), f'"{feature.column}"'
    if not operands:
        return f"{column} {_COMPARISONS[op]}"
    if op in _WORDS and kind_of(feature) is FieldKind.COUNTRIES:
        any_of_them = f"list_has_any(string_split({column}, ','), [{_marks(operands)}])"
        return any_of_them if op is RuleOp.IN else f"NOT {any_of_them}"
    compared = f"{_WORDS[op]} ({_marks(operands)})" if op in _WORDS else _COMPARISONS[op]
    return f"({column} IS NOT NULL AND {column} {compared})"


def _marks(operands: tuple[Operand, ...]) -> str:
    return ", ".join("?" * len(operands))
