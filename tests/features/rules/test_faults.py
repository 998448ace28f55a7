"""What is wrong with a rule is said with the path of the part that is wrong."""

from time import process_time
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.errors import FieldCode, WrittenFault
from clearhold.features.core.rules import Rule, RuleCondition, rule_hash
from clearhold.features.rules.language import faults_of
from tests.support.rules import a_condition, a_rule

ORDERED: Final = "gt, gte, lt, lte, eq, neq, in, not_in, between, is_null, not_null"
EQUAL: Final = "eq, neq, in, not_in, is_null, not_null"
RIGHT: Final = a_condition("amountCents", "gt", 1)
VALUE: Final = "when[1].value"
A_COUNTRY: Final = "must be an ISO 3166-1 country code"
A_STATUS: Final = "must be the bank's word: at most 64 capital letters, digits and _, as in PENDING_RETURN"
CARD_REASONS: Final = (
    "APPROVED, INSUFFICIENT_FUNDS, LIMIT_EXCEEDED, MERCHANT_BLOCKED, CARD_INACTIVE, CARD_CLOSED, CARD_EXPIRED, "
    "ACCOUNT_INACTIVE, CARDHOLDER_BLOCKED, PIN_OR_CVV, SUSPECTED_FRAUD, PROGRAM_DECLINED, TECHNICAL, OTHER"
)
TWO: Final = "must be a list of the lowest and the highest value"

# A condition, and its fault.
WRONG: Final[tuple[tuple[RuleCondition, str, str, FieldCode], ...]] = tuple(
    (a_condition(*condition), path, sentence, FieldCode(code))
    for condition, path, sentence, code in (
        (("amount", "gt", 1), "when[1].field", "must be a field of GET /api/rules/fields", "not_one_of"),
        (("amount_cents", "gt", 1), "when[1].field", "must be a field of GET /api/rules/fields", "not_one_of"),
        (("fanIn24hCount", "gt", 1), "when[1].field", "must be a field of GET /api/rules/fields", "not_one_of"),
        (("rаil", "eq", "ach"), "when[1].field", "must be a field of GET /api/rules/fields", "not_one_of"),  # noqa: RUF001 - Cyrillic
        (("rail", "gt", "ach"), "when[1].op", f"must be one of {EQUAL} for this field", "not_one_of"),
        (("declared.countries", "between", ("US", "US")), "when[1].op", f"must be one of {EQUAL} for this field",
         "not_one_of"),
        (("typology.roundTrip", "in", (True,)), "when[1].op",
         "must be one of eq, neq, is_null, not_null for this field", "not_one_of"),
        (("amountCents", "gt"), VALUE, "is required for gt", "required"),
        (("amountCents", "is_null", None), VALUE, "must be left out for is_null", "conflicting"),
        (("amountCents", "not_null", 5), VALUE, "must be left out for not_null", "conflicting"),
        (("amountCents", "eq", (5,)), VALUE, "must be a single value for eq", "wrong_type"),
        (("rail", "in", "ach"), VALUE, "must be a list for in", "wrong_type"),
        (("rail", "not_in", ()), VALUE, "must be a list of 1 to 100 values", "too_short"),
        (("counterparty.n", "in", tuple(range(101))), VALUE, "must be a list of 1 to 100 values", "too_long"),
        (("amountCents", "between", (1,)), VALUE, TWO, "too_short"),
        (("amountCents", "between", (1, 2, 3)), VALUE, TWO, "too_long"),
        (("amountCents", "between", (2, 1)), VALUE, "must have the lowest value first", "conflicting"),
        (("amountCents", "between", ("1000", 999)), VALUE, "must have the lowest value first", "conflicting"),
        (("amountCents", "between", ("999999999999999999", "999999999999999998")), VALUE,
         "must have the lowest value first", "conflicting"),
        (("amountCents", "gt", None), VALUE, "must not be null: is_null and not_null look for it", "wrong_type"),
        (("rail", "in", ("ach", None)), f"{VALUE}[1]", "must not be null: is_null and not_null look for it",
         "wrong_type"),
        (("rail", "eq", "ACH"), VALUE, "must be one of ach, wire, realtime, book, intl_wire, check, card",
         "not_one_of"),
        (("rail", "eq", 5), VALUE, "must be a string", "wrong_type"),
        (("direction", "eq", "out"), VALUE, "must be one of incoming, outgoing", "not_one_of"),
        (("type", "neq", "credit"), VALUE, "must be one of CREDIT, DEBIT", "not_one_of"),
        (("status", "eq", "completed"), VALUE, A_STATUS, "malformed"),
        (("status", "eq", "A" * 65), VALUE, A_STATUS, "malformed"),
        (("status", "eq", "DONE\n"), VALUE, A_STATUS, "malformed"),
        (("status", "eq", ""), VALUE, A_STATUS, "malformed"),
        (("entryMode", "eq", "ecommerce"), VALUE, A_STATUS, "malformed"),
        (("merchantCategory", "eq", 5411), VALUE, "must be a string", "wrong_type"),
        (("merchantCategory", "in", ("0742", "742")), f"{VALUE}[1]",
         "must be a merchant category code of four digits", "malformed"),
        (("merchantState", "neq", "Texas"), VALUE, "must be the two capital letters of a state of the US",
         "malformed"),
        (("counterpartyCountry", "in", ("US", "us", "U")), f"{VALUE}[2]", A_COUNTRY, "not_one_of"),
        (("counterpartyCountry", "eq", "AN"), VALUE, A_COUNTRY, "not_one_of"),
        (("declared.countries", "eq", "US,DE"), VALUE, A_COUNTRY, "not_one_of"),
        (("cardDecisionReason", "eq", "suspected_fraud"), VALUE, f"must be one of {CARD_REASONS}", "not_one_of"),
        (("entity.verificationStatus", "eq", "verified"), VALUE,
         "must be one of UNVERIFIED, PENDING, MANUAL_REVIEW, VERIFIED, DENIED", "not_one_of"),
        (("entity.pepStatus", "eq", "YES"), VALUE, "must be one of not_checked, no, yes, potential", "not_one_of"),
        (("entity.isHighRisk", "eq", 1), VALUE, "must be true or false", "wrong_type"),
        (("entity.isHighRisk", "eq", "true"), VALUE, "must be true or false", "wrong_type"),
        (("amountCents", "gt", True), VALUE, "must be integer cents, or a string of their digits", "wrong_type"),
        (("amountCents", "gt", 0.5), VALUE, "must be an integer", "wrong_type"),
        (("amountCents", "gt", "12.50"), VALUE, "must be digits of cents, at most 999999999999999999", "malformed"),
        (("amountCents", "gt", "٣٠٠"), VALUE, "must be digits of cents, at most 999999999999999999", "malformed"),
        (("amountCents", "gt", "-1"), VALUE, "must be digits of cents, at most 999999999999999999", "malformed"),
        (("amountCents", "gt", -1), VALUE, "must be at least 0", "too_small"),
        (("amountCents", "gt", 2**53), VALUE,
         "must be at most 9007199254740991: more cents are a string of digits", "too_large"),
        (("counterparty.n", "gt", "5"), VALUE, "must be an integer", "wrong_type"),
        (("counterparty.n", "gt", False), VALUE, "must be an integer", "wrong_type"),
        (("counterparty.n", "gt", 2.5), VALUE, "must be an integer", "wrong_type"),
        (("counterparty.n", "gt", 1e300), VALUE, "must be at most 9007199254740991", "too_large"),
        (("counterparty.n", "gt", float("nan")), VALUE, "must be a finite number", "malformed"),
        (("counterparty.n", "gt", float("-inf")), VALUE, "must be a finite number", "malformed"),
        (("program.unauthorizedReturnRate60d", "gt", "0.1"), VALUE, "must be a number", "wrong_type"),
        (("program.unauthorizedReturnRate60d", "gt", True), VALUE, "must be a number", "wrong_type"),
        (("program.unauthorizedReturnRate60d", "gt", float("inf")), VALUE, "must be a finite number", "malformed"),
        (("program.unauthorizedReturnRate60d", "gt", -0.01), VALUE, "must be at least 0", "too_small"),
        (("program.unauthorizedReturnRate60d", "gt", 0.00501), VALUE, "must have at most 4 decimal places",
         "malformed"),
    )
)  # fmt: skip


@pytest.mark.parametrize(("condition", "path", "sentence", "code"), WRONG)
def test_given_a_condition_that_is_wrong_then_its_fault_names_the_part_and_what_it_must_be(
    condition: RuleCondition, path: str, sentence: str, code: FieldCode
) -> None:
    assert list(faults_of(a_rule(RIGHT, condition, RIGHT))) == [WrittenFault(path, sentence, code)]


RIGHT_CONDITIONS: Final = (
    a_condition("amountCents", "gt", "0"),
    a_condition("amountCents", "in", ("999999999999999999", 5.0)),
    a_condition("counterparty.n", "lt", 2**53 - 1),
    a_condition("counterparty.n", "eq", 5.0),
    a_condition("program.unauthorizedReturnRate60d", "gte", 0.0051),
    a_condition("program.unauthorizedReturnRate60d", "between", (0, 0)),
    a_condition("status", "eq", "PENDING_RETURN"),
    a_condition("entity.isHighRisk", "is_null"),
    a_condition("entity.isHighRisk", "eq", value=False),
    a_condition("declared.countries", "eq", "DE"),
)


def test_given_a_right_rule_then_it_has_no_fault_and_a_contradiction_is_none() -> None:
    contradiction = (a_condition("amountCents", "gt", 5), a_condition("amountCents", "lt", 5))

    assert list(faults_of(a_rule(*RIGHT_CONDITIONS, *contradiction, note="Two\nlines"))) == []


@pytest.mark.parametrize(
    ("over", "path", "code"),
    [
        ({"id": "Big"}, "id", "malformed"),
        ({"id": ""}, "id", "malformed"),
        ({"id": "-a"}, "id", "malformed"),
        ({"id": "a/b"}, "id", "malformed"),
        ({"id": "a\n"}, "id", "malformed"),
        ({"id": "ａ"}, "id", "malformed"),  # noqa: RUF001 - full-width
        ({"id": "a" * 65}, "id", "too_long"),
        ({"id": "fields"}, "id", "conflicting"),
        ({"id": "versions"}, "id", "conflicting"),
        ({"name": " "}, "name", "too_short"),
        ({"name": "a\x00b"}, "name", "malformed"),
        ({"name": "a\u202eb"}, "name", "malformed"),
        ({"name": "a" * 201}, "name", "too_long"),
        ({"note": "a\x1b[2J"}, "note", "malformed"),
        ({"note": "a" * 2_001}, "note", "too_long"),
        ({"when": []}, "when", "too_short"),
        ({"when": [msgspec.to_builtins(RIGHT)] * 51}, "when", "too_long"),
    ],
)
def test_given_a_rule_whose_own_fields_are_wrong_then_the_fault_names_the_field(
    over: dict[str, Any], path: str, code: str
) -> None:
    assert [(fault.path, fault.code) for fault in faults_of(a_rule(**over))] == [(path, code)]


def test_given_a_rule_of_the_longest_parts_then_it_has_no_fault() -> None:
    rule = a_rule(*[RIGHT] * 50, id="a-1_b" + "c" * 59, name="n" * 200, note="n" * 2_000)

    assert list(faults_of(rule)) == []


def test_given_several_faults_then_each_is_said_in_the_order_in_which_it_is_written() -> None:
    wrong = (a_condition("rail", "in", ("ACH", "wire", "sepa")), a_condition("amountCents", "gt"))

    assert [fault.path for fault in faults_of(a_rule(RIGHT, *wrong, id="A"))] == [
        *("id", "when[1].value[0]", "when[1].value[2]", "when[2].value")
    ]


def test_given_shares_that_the_record_would_round_to_one_then_only_the_rounded_one_is_a_rule() -> None:
    exact, finer = (
        a_rule(a_condition("program.unauthorizedReturnRate60d", "gt", share)) for share in (0.005, 0.00500001)
    )

    assert rule_hash(exact) == rule_hash(finer)
    assert not list(faults_of(exact))
    assert list(faults_of(finer))


HOSTILE: Final = (
    ("conditions", a_rule(when=[msgspec.to_builtins(RIGHT)] * 1_000_000), "when"),
    ("values", a_rule(a_condition("counterparty.n", "in", (1,) * 1_000_000)), "when[0].value"),
    ("field", a_rule(RuleCondition(field="a" * 1_000_000, op=RIGHT.op, value=1)), "when[0].field"),
    ("text", a_rule(a_condition("status", "eq", "A" * 1_000_000)), "when[0].value"),
    ("word", a_rule(a_condition("rail", "eq", "a" * 1_000_000)), "when[0].value"),
    ("digits", a_rule(a_condition("amountCents", "eq", "9" * 1_000_000)), "when[0].value"),
    ("id", a_rule(id="a" * 1_000_000), "id"),
    ("name", a_rule(name="\x00" * 1_000_000), "name"),
)


@pytest.mark.parametrize(("rule", "path"), [(rule, path) for _, rule, path in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_given_a_rule_far_too_large_then_it_is_refused_at_once_with_the_path(rule: Rule, path: str) -> None:
    began = process_time()
    faults = list(faults_of(rule))

    assert [fault.path for fault in faults] == [path]
    assert len(faults[0].sentence) < 200
    assert process_time() - began < 0.05


def test_given_an_integer_of_ten_thousand_digits_then_it_is_refused_without_being_written_out() -> None:
    condition = RuleCondition(field="amountCents", op=RIGHT.op, value=10**10_000)
    rule = msgspec.structs.replace(a_rule(), when=(condition,))

    assert [(fault.path, fault.code) for fault in faults_of(rule)] == [("when[0].value", FieldCode.TOO_LARGE)]


def test_given_nested_values_then_no_rule_is_made_of_them_and_the_path_is_named() -> None:
    body = msgspec.to_builtins(a_rule(RIGHT))
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    body["when"][0]["value"] = nested

    with pytest.raises(msgspec.ValidationError, match=r"\$\.when\[0\]\.value\[0\]"):
        msgspec.convert(body, Rule)
