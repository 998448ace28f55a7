"""The rules of a program as one function over a feature vector, which the stream calls for every scoring.

    conditions -> syntax tree -> code -> function(vector) -> the indexes of the rules that match

The tree is built node by node and never parsed from text. A rule adds constants to it, which are its values, and
nothing else: names in it are columns of the vector. So no text of a rule can become code.

Cost    every column is read once, and a rule ends at its first condition that does not hold, the rarest kind first
"""

import ast
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.program import declared_words
from clearhold.features.core.rules import Rule, RuleCondition, RuleOp, RuleScope
from clearhold.features.rules.fields import RULE_FIELD_OF, FieldKind, Operand, kind_of, operands_of

Predicate = Callable[[FeatureVector], tuple[int, ...]]

_COMPARISONS: Final[dict[RuleOp, type[ast.cmpop]]] = {
    RuleOp.GT: ast.Gt,
    RuleOp.GTE: ast.GtE,
    RuleOp.LT: ast.Lt,
    RuleOp.LTE: ast.LtE,
    RuleOp.EQ: ast.Eq,
    RuleOp.NEQ: ast.NotEq,
    RuleOp.IN: ast.In,
    RuleOp.NOT_IN: ast.NotIn,
    RuleOp.IS_NULL: ast.Is,
    RuleOp.NOT_NULL: ast.IsNot,
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
    code = compile(ast.fix_missing_locations(_module(body)), "<rules>", "exec")
    (function,) = (each for each in code.co_consts if isinstance(each, CodeType))
    # Without builtins: the function can reach the two names that it needs.
    return FunctionType(function, {"__builtins__": {}, "tuple": tuple, _DECLARED_WORDS: declared_words})


def _module(body: list[ast.stmt]) -> ast.Module:
    arguments = ast.arguments([], [ast.arg(_VECTOR)], None, [], [], None, [])
    return ast.Module([ast.FunctionDef("matching_rules", arguments, body, [])], [])


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
    return ast.Compare(_name(column), [_COMPARISONS[op]()], [ast.Constant(constant)])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
