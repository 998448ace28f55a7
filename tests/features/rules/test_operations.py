"""Each operation on each kind of field, as a table: what the predicate and the stored columns answer."""

from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.rules import RuleOp
from clearhold.features.rules.language import RULE_FIELD_OF, ops_of
from clearhold.features.rules.predicate import compiled, sql_of
from tests.support.builders import a_vector
from tests.support.rule_agreement import by_database, stored
from tests.support.rules import OPS, a_condition, a_rule

# Of each kind: a field, its column, and the values of three transfers.
MONEY: Final = ("program.p95Cents", "program_p95_cents", (299_999, 300_000, None))
COUNT: Final = ("typology.dormantDays", "typology_dormant_days", (4, 5, None))
SHARE: Final = ("program.unauthorizedReturnRate60d", "program_unauthorized_return_rate_60d", (0.004, 0.005, None))
FLAG: Final = ("counterparty.firstTime", "counterparty_first_time", (False, True, None))
WORD: Final = ("counterpartyCountry", "counterparty_country", ("DE", "US", None))
LIST: Final = ("declared.countries", "declared_countries", ("DE,US", "US", ""))

# Which of the three transfers match.
TABLE: Final[tuple[tuple[tuple[str, str, tuple[Any, ...]], str, Any, tuple[bool, bool, bool]], ...]] = (
    (MONEY, "gt", 299_999, (False, True, False)),
    (MONEY, "gt", "299999", (False, True, False)),
    (MONEY, "gte", 299_999.0, (True, True, False)),
    (MONEY, "lt", "300000", (True, False, False)),
    (MONEY, "lte", 300_000, (True, True, False)),
    (MONEY, "eq", "300000", (False, True, False)),
    (MONEY, "neq", "300000", (True, False, False)),
    (MONEY, "in", ("299999", 300_000), (True, True, False)),
    (MONEY, "not_in", ("299999", 7), (False, True, False)),
    (MONEY, "between", ("1", "299999"), (True, False, False)),
    (MONEY, "is_null", None, (False, False, True)),
    (MONEY, "not_null", None, (True, True, False)),
    (COUNT, "gt", 4, (False, True, False)),
    (COUNT, "gte", 5, (False, True, False)),
    (COUNT, "lt", 5, (True, False, False)),
    (COUNT, "lte", 4.0, (True, False, False)),
    (COUNT, "eq", 5, (False, True, False)),
    (COUNT, "neq", 5, (True, False, False)),
    (COUNT, "in", (1, 4), (True, False, False)),
    (COUNT, "not_in", (1, 4), (False, True, False)),
    (COUNT, "between", (5, 5), (False, True, False)),
    (COUNT, "is_null", None, (False, False, True)),
    (COUNT, "not_null", None, (True, True, False)),
    (SHARE, "gt", 0.004, (False, True, False)),
    (SHARE, "gte", 0.004, (True, True, False)),
    (SHARE, "lt", 1, (True, True, False)),
    (SHARE, "lte", 0.004, (True, False, False)),
    (SHARE, "eq", 0.005, (False, True, False)),
    (SHARE, "neq", 0.005, (True, False, False)),
    (SHARE, "in", (0.005, 1), (False, True, False)),
    (SHARE, "not_in", (0.005, 1), (True, False, False)),
    (SHARE, "between", (0, 0.0049), (True, False, False)),
    (SHARE, "is_null", None, (False, False, True)),
    (SHARE, "not_null", None, (True, True, False)),
    (FLAG, "eq", True, (False, True, False)),
    (FLAG, "eq", False, (True, False, False)),
    (FLAG, "neq", True, (True, False, False)),
    (FLAG, "is_null", None, (False, False, True)),
    (FLAG, "not_null", None, (True, True, False)),
    (WORD, "eq", "US", (False, True, False)),
    (WORD, "neq", "US", (True, False, False)),
    (WORD, "in", ("US", "MX"), (False, True, False)),
    (WORD, "not_in", ("US", "MX"), (True, False, False)),
    (WORD, "is_null", None, (False, False, True)),
    (WORD, "not_null", None, (True, True, False)),
    (LIST, "eq", "US", (False, True, False)),
    (LIST, "neq", "US", (True, False, True)),
    (LIST, "in", ("US", "MX"), (True, True, False)),
    (LIST, "not_in", ("DE", "MX"), (False, True, True)),
    (LIST, "is_null", None, (False, False, False)),
    (LIST, "not_null", None, (True, True, True)),
)


def vectors_of(column: str, values: tuple[Any, ...]) -> list[FeatureVector]:
    return [a_vector(**{column: value}) for value in values]


@pytest.mark.parametrize(("field", "op", "value", "expected"), TABLE)
def test_given_an_operation_on_a_kind_of_field_then_predicate_and_columns_answer_the_table(
    field: tuple[str, str, tuple[Any, ...]], op: str, value: Any, expected: tuple[bool, bool, bool]
) -> None:
    name, column, values = field
    vectors = vectors_of(column, values)
    rule = a_rule(a_condition(name, op, msgspec.UNSET if value is None else value))
    predicate = compiled([rule])

    with stored(vectors) as database:
        assert by_database(database, [rule]) == [list(expected)]
    assert [predicate(vector) == (0,) for vector in vectors] == list(expected)


def test_given_the_table_then_it_has_every_operation_of_every_kind_of_field() -> None:
    for name, _, _ in (MONEY, COUNT, SHARE, FLAG, WORD, LIST):
        assert {op for (field, _, _), op, _, _ in TABLE if field == name} == set(OPS[name])


def test_given_a_field_of_the_interface_then_its_operations_are_those_of_its_type() -> None:
    assert {name: tuple(op.value for op in ops_of(feature)) for name, feature in RULE_FIELD_OF.items()} == OPS


def test_given_several_rules_then_the_predicate_gives_the_indexes_of_those_that_match_and_no_others() -> None:
    rules = [
        a_rule(a_condition("rail", "eq", "wire"), a_condition("amountCents", "gte", 1)),
        a_rule(a_condition("rail", "eq", "ach")),
        a_rule(a_condition("amountCents", "gt", 0), scope="entity"),
        a_rule(a_condition("counterparty.n", "gte", 0), a_condition("rail", "eq", "wire")),
    ]

    assert compiled(rules)(a_vector(rail="wire", amount_cents=1)) == (0, 3)
    assert compiled(rules)(a_vector(rail="book", amount_cents=1)) == ()
    assert compiled([])(a_vector()) == ()


def test_given_a_rule_that_is_not_about_transfers_then_the_database_matches_none() -> None:
    rule = a_rule(a_condition("amountCents", "gt", 0), scope="program")

    with stored([a_vector()]) as database:
        assert by_database(database, [rule]) == [[False]]


def test_given_a_rule_that_some_transfers_are_null_for_when_it_is_negated_then_these_are_the_rest() -> None:
    vectors = vectors_of("counterparty_country", ("DE", "US", None))
    expression, parameters = sql_of(a_rule(a_condition("counterpartyCountry", RuleOp.NEQ, "US")))

    with stored(vectors) as database:
        sql = f"SELECT count(*) FROM transfer_features WHERE NOT ({expression})"  # noqa: S608 - parameters carry values
        assert database.execute(sql, parameters).fetchone() == (2,)
