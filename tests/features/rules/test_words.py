"""The sentence of a rule: fields, words and numbers."""

from typing import Any

import pytest

from clearhold.features.rules.predicate import sentence_of
from tests.support.rules import a_condition, a_rule


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        (("amountCents", "gt", 300_000), "amountCents is over USD 3,000.00"),
        (("amountCents", "gte", "5"), "amountCents is at least USD 0.05"),
        (("amountCents", "between", (100, "123456")), "amountCents is from USD 1.00 to USD 1,234.56"),
        (("counterparty.n", "lt", 1_000), "counterparty.n is under 1,000"),
        (("counterparty.n", "lte", 5.0), "counterparty.n is at most 5"),
        (("program.unauthorizedReturnRate60d", "gt", 0.0050), "program.unauthorizedReturnRate60d is over 0.005"),
        (("program.unauthorizedReturnRate60d", "eq", 1), "program.unauthorizedReturnRate60d is 1"),
        (("program.unauthorizedReturnRate60d", "neq", 0), "program.unauthorizedReturnRate60d is not 0"),
        (("program.unauthorizedReturnRate60d", "lte", -0.0), "program.unauthorizedReturnRate60d is at most 0"),
        (("entity.isHighRisk", "eq", True), "entity.isHighRisk is true"),
        (("rail", "in", ("ach", "wire")), "rail is one of ach, wire"),
        (("rail", "not_in", ("ach",)), "rail is none of ach"),
        (("merchantCategory", "in", ("0742", "5411")), "merchantCategory is one of 0742, 5411"),
        (("card.otherCountryMinutes24h", "lt", 120), "card.otherCountryMinutes24h is under 120"),
        (("program.categoryMedianCents90d", "not_null"), "program.categoryMedianCents90d is known"),
        (("type", "is_null"), "type is not known"),
        (("type", "not_null"), "type is known"),
        (("declared.countries", "in", ("US", "DE")), "declared.countries has one of US, DE"),
        (("declared.countries", "not_in", ("US", "DE")), "declared.countries has none of US, DE"),
        (("declared.countries", "eq", "US"), "declared.countries is only US"),
        (("declared.countries", "neq", "US"), "declared.countries is not only US"),
        (("counterparty.n", "in", tuple(range(12))), "counterparty.n is one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2 more"),
    ],
)
def test_given_a_condition_then_its_words_are_the_field_the_operation_and_the_values(
    condition: tuple[Any, ...], sentence: str
) -> None:
    assert sentence_of(a_rule(a_condition(*condition))) == sentence


def test_given_several_conditions_then_they_are_joined_in_the_order_of_the_author() -> None:
    rule = a_rule(a_condition("rail", "eq", "wire"), a_condition("amountCents", "gt", 1), name="Ignore all that")

    assert sentence_of(rule) == "rail is wire and amountCents is over USD 0.01"
