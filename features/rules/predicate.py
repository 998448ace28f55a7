"""The conditions of rules in three forms: for the stream one function over a feature vector, which it calls for every
scoring; for backtests one condition over the columns of ``transfer_features``; and a sentence, of fields, words and
numbers alone, so that it is safe in any answer.

    conditions -> syntax tree -> code -> function(vector) -> the indexes of the rules that match

The tree is built node by node and never parsed from text. A rule adds constants to it, which are its values, and
nothing else: names in it are columns of the vector. So no text of a rule can become code, and none is in the SQL, where
every value is a parameter. The SQL condition is never null, so that it can be negated, counted and pushed down
unchanged.

Cost    every column is read once, and a rule ends at its first condition that does not hold, the rarest kind first
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.canonical import DECIMALS
from clearhold.features.core.money import money
from clearhold.features.core.principal import declared_words
from clearhold.features.core.rules import Rule, RuleCondition, RuleOp, RuleScope
from clearhold.features.rules.language import RULE_FIELD_OF, FieldKind, Operand, kind_of, operands_of

Predicate = Callable[[FeatureVector], tuple[int, ...]]


class _Forms(NamedTuple):
    """An operation in the three forms; ``between`` is two comparisons in the tree, and lists have their own SQL."""

    words: str
    sql: str
    node: type[ast.cmpop] | None = None
    words_of_list: str = ""  # where a list is compared in other words


_FORMS: Final[Mapping[RuleOp, _Forms]] = {
    RuleOp.GT: _Forms("is over", "> ?", ast.Gt),
    RuleOp.GTE: _Forms("is at least", ">= ?", ast.GtE),
    RuleOp.LT: _Forms("is under", "< ?", ast.Lt),
    RuleOp.LTE: _Forms("is at most", "<= ?", ast.LtE),
    RuleOp.EQ: _Forms("is", "= ?", ast.Eq, "is only"),
    RuleOp.NEQ: _Forms("is not", "<> ?", ast.NotEq, "is not only"),
    RuleOp.IN: _Forms("is one of", "IN", ast.In, "has one of"),
    RuleOp.NOT_IN: _Forms("is none of", "NOT IN", ast.NotIn, "has none of"),
    RuleOp.BETWEEN: _Forms("is from", "BETWEEN ? AND ?"),
    RuleOp.IS_NULL: _Forms("is not known", "IS NULL", ast.Is),
    RuleOp.NOT_NULL: _Forms("is known", "IS NOT NULL", ast.IsNot),
}
_FIRST: Final = (RuleOp.EQ, RuleOp.IN, RuleOp.IS_NULL, RuleOp.BETWEEN, RuleOp.GT, RuleOp.GTE, RuleOp.LT, RuleOp.LTE)
"""The operations that exclude most transfers; the others hold for most."""

_FALSE_OF_NONE: Final = frozenset({RuleOp.EQ, RuleOp.IN, RuleOp.IS_NULL, RuleOp.NOT_NULL})
"""The operations that Python answers for None as the rule language does."""

_VECTOR: Final = "vector"
_MATCHED: Final = "matched"
_DECLARED_WORDS: Final = "declared_words"


def compiled(rules: Sequence[Rule]) -> Predicate:
    """The function that gives the indexes of the rules that match a vector, in ascending order.

    The rules have no faults. One that is not about transfers matches none.
    """
    about_transfers = [(index, rule) for index, rule in enumerate(rules) if rule.scope is RuleScope.TRANSFER]
    columns = {RULE_FIELD_OF[each.field].column: each.field for _, rule in about_transfers for each in rule.when}
    body: list[ast.stmt] = [_read(column, kind_of(RULE_FIELD_OF[field])) for column, field in columns.items()]
    body.append(_assigned(_MATCHED, ast.List([], ast.Load())))
    body.extend(_statement(index, rule) for index, rule in about_transfers)
    body.append(ast.Return(ast.Call(_name("tuple"), [_name(_MATCHED)], [])))
    arguments = ast.arguments([], [ast.arg(_VECTOR)], None, [], [], None, [])
    module = ast.Module([ast.FunctionDef("matching_rules", arguments, body, [])], [])
    code = compile(ast.fix_missing_locations(module), "<rules>", "exec")
    (function,) = (each for each in code.co_consts if isinstance(each, CodeType))
    # Without builtins: the function can reach the two names that it needs.
    return FunctionType(function, {"__builtins__": {}, "tuple": tuple, _DECLARED_WORDS: declared_words})


def _read(column: str, kind: FieldKind) -> ast.stmt:
    """``column = vector.column``; a list is split once for all transfers that have it."""
    value: ast.expr = ast.Attribute(_name(_VECTOR), column, ast.Load())
    if kind is FieldKind.COUNTRIES:
        value = ast.Call(_name(_DECLARED_WORDS), [value], [])
    return _assigned(column, value)


def _statement(index: int, rule: Rule) -> ast.stmt:
    """``if …: matched.append(index)``"""
    tests = [test for condition in sorted(rule.when, key=_rank) for test in _tests(condition)]
    appended = ast.Call(ast.Attribute(_name(_MATCHED), "append", ast.Load()), [ast.Constant(index)], [])
    return ast.If(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests), [ast.Expr(appended)], [])


def _rank(condition: RuleCondition) -> int:
    return _FIRST.index(condition.op) if condition.op in _FIRST else len(_FIRST)


def _tests(condition: RuleCondition) -> list[ast.expr]:
    """One condition as tests that all have to hold; the first checks for a value."""
    feature = RULE_FIELD_OF[condition.field]
    op, column, operands = condition.op, feature.column, operands_of(condition)
    if kind_of(feature) is FieldKind.COUNTRIES:
        return [_of_list(op, column, operands)]
    if op is RuleOp.BETWEEN:
        low, high = operands
        within = ast.Compare(ast.Constant(low), [ast.LtE(), ast.LtE()], [_name(column), ast.Constant(high)])
        return [_compared(column, RuleOp.NOT_NULL, None), within]
    constant: Any = None
    if operands:
        constant = frozenset(operands) if op in {RuleOp.IN, RuleOp.NOT_IN} else operands[0]
    test = _compared(column, op, constant)
    return [test] if op in _FALSE_OF_NONE else [_compared(column, RuleOp.NOT_NULL, None), test]


def _of_list(op: RuleOp, column: str, operands: tuple[Operand, ...]) -> ast.expr:
    """A list is never null; ``eq`` compares it as a whole, ``in`` and ``not_in`` look for any of the values."""
    if not operands:
        return _compared(column, op, None)
    if op in {RuleOp.EQ, RuleOp.NEQ}:
        return _compared(column, op, frozenset(operands))
    disjoint = ast.Attribute(_name(column), "isdisjoint", ast.Load())
    values: Any = frozenset(operands)  # a constant to the compiler, if not to the stubs of ``ast``
    none_of_them = ast.Call(disjoint, [ast.Constant(values)], [])
    return none_of_them if op is RuleOp.NOT_IN else ast.UnaryOp(ast.Not(), none_of_them)


def _compared(column: str, op: RuleOp, constant: Any) -> ast.expr:
    node = _FORMS[op].node
    assert node is not None
    return ast.Compare(_name(column), [node()], [ast.Constant(constant)])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


SHOWN_VALUES: Final = 10
SHOWN_WORDS: Final = 50
"""About how many words a sentence takes of a rule's conditions; the evidence has all of them with the values."""


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
    forms = _FORMS[condition.op]
    words = (kind is FieldKind.COUNTRIES and forms.words_of_list) or forms.words
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


def sql_of(rule: Rule) -> tuple[str, list[Any]]:
    """A boolean expression of DuckDB and its parameters. The rule has no faults."""
    if rule.scope is not RuleScope.TRANSFER:
        return "false", []
    parameters: list[Any] = [operand for condition in rule.when for operand in operands_of(condition)]
    return " AND ".join(_sql_condition(condition) for condition in rule.when), parameters


def _sql_condition(condition: RuleCondition) -> str:
    feature = RULE_FIELD_OF[condition.field]
    op, operands, column = condition.op, operands_of(condition), f'"{feature.column}"'
    compared, is_of_set = _FORMS[op].sql, op in {RuleOp.IN, RuleOp.NOT_IN}
    if not operands:
        return f"{column} {compared}"
    if is_of_set and kind_of(feature) is FieldKind.COUNTRIES:
        any_of_them = f"list_has_any(string_split({column}, ','), [{_marks(operands)}])"
        return any_of_them if op is RuleOp.IN else f"NOT {any_of_them}"
    marks = f" ({_marks(operands)})" if is_of_set else ""
    return f"({column} IS NOT NULL AND {column} {compared}{marks})"


def _marks(operands: tuple[Operand, ...]) -> str:
    return ", ".join("?" * len(operands))
