"""No text of a rule becomes code: it is a constant of the predicate and a parameter of the SQL, nothing else."""

from types import CodeType, FunctionType
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import RULE_FIELDS
from clearhold.features.core.principal import declared_words
from clearhold.features.core.rules import Rule
from clearhold.features.rules.predicate import compiled, sql_of
from tests.support.builders import a_vector
from tests.support.rule_agreement import by_database, stored
from tests.support.rules import RULES, a_condition, a_rule

COLUMNS: Final = {feature.column for feature in RULE_FIELDS}
METHODS: Final = {"append", "tuple", "declared_words", "isdisjoint"}
HOSTILE: Final = (
    "__import__('os').system('touch /tmp/owned')",
    "') or (lambda: 1/0)() or ('",
    "x'); DROP TABLE transfer_features; --",
    '"\n\nimport os\nos._exit(1)\n"',
    "{vector.__class__}",
    "?",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("op", ["eq", "in"])
def test_given_a_value_that_looks_like_code_then_it_is_compared_and_never_run(op: str, text: str) -> None:
    # faults_of refuses such a status; this is what would happen if it did not.
    rule = a_rule(a_condition("status", op, text if op == "eq" else (text,)))
    vectors = [a_vector(status=text), a_vector(status="COMPLETED")]
    predicate = compiled([rule])

    assert [predicate(vector) for vector in vectors] == [(0,), ()]
    assert sql_of(rule) == (f'("status" IS NOT NULL AND "status" {"= ?" if op == "eq" else "IN (?)"})', [text])
    with stored(vectors) as database:
        assert by_database(database, [rule]) == [[True, False]]


@given(st.lists(RULES, max_size=6))
def test_given_any_rules_then_the_predicate_names_nothing_but_columns_and_holds_no_further_code(
    rules: list[Rule],
) -> None:
    predicate = compiled(rules)
    assert isinstance(predicate, FunctionType)
    code = predicate.__code__

    assert set(code.co_names) <= COLUMNS | METHODS
    assert set(code.co_varnames) <= COLUMNS | {"vector", "matched"}
    assert not any(isinstance(constant, CodeType) for constant in code.co_consts)
    assert predicate.__globals__ == {"__builtins__": {}, "tuple": tuple, "declared_words": declared_words}


@pytest.mark.parametrize("field", ["amount_cents", "__class__", "raíl", "amountCents; import os"])
def test_given_a_field_that_is_not_in_the_table_then_no_function_is_made_of_it(field: str) -> None:
    rule = a_rule(a_condition(field, "eq", 1))

    with pytest.raises(KeyError):
        compiled([rule])
    with pytest.raises(KeyError):
        sql_of(rule)
