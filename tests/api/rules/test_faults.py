"""A rule that is wrong, or is meant to break something, is refused with the part that is wrong; nothing is stored."""

import json
from typing import Any

import pytest

from clearhold.api.rules.routes import NEW_RULE
from tests.support.rule_calls import RULE_ID, RuleCalls
from tests.support.running_app import RunningApp, assert_refused


def a_condition(**over: Any) -> dict[str, Any]:
    return {"field": "amountCents", "op": "gt", "value": 1} | over


@pytest.mark.parametrize(
    ("over", "path", "words"),
    [
        (
            {"when": [a_condition(), a_condition(field="rail", op="eq", value="ACH")]},
            "when[1].value",
            "one of ach, wire",
        ),
        ({"when": [a_condition(field="r\u0430il")]}, "when[0].field", "GET /api/rules/fields"),
        ({"when": [a_condition(op="like")]}, "when[0].op", "must be one of"),
        ({"when": [a_condition(value=[1])]}, "when[0].value", "must be a single value for gt"),
        ({"when": [a_condition(op="in", value=[1, [[1]]])]}, "when[0].value[1]", "a string or an integer"),
        ({"when": [a_condition(value={"gt": 1})]}, "when[0].value", "true or false or a list"),
        ({"when": [a_condition(value=10**30)]}, "when[0].value", "must be at most 9007199254740991"),
        ({"when": [a_condition(field="status", op="eq", value="A" * 10_000)]}, "when[0].value", "at most 64 capital"),
        ({"when": [{"field": "rail", "op": "is_null"}] * 300}, "when", "must have at most 50 conditions"),
        ({"id": "versions"}, "id", "paths of the API"),
    ],
)
def test_given_a_rule_that_is_wrong_then_the_400_names_the_part_and_nothing_is_stored(
    rules: RuleCalls, over: dict[str, Any], path: str, words: str
) -> None:
    answer = rules.create(**over)

    assert_refused(answer, 400, words)
    assert [field["path"] for field in answer.json()["fields"]] == [path]
    assert rules.send("GET", "").json() == []


@pytest.mark.parametrize("field", ["counterpartyCountry", "declared.countries"])
def test_given_kosovo_which_transfers_and_programs_may_name_then_rules_may_name_it(
    rules: RuleCalls, field: str
) -> None:
    answer = rules.create(when=[{"field": field, "op": "in", "value": ["XK", "US"]}])

    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(
    ("value", "path", "status"),
    [
        ("9" * 10_000, "body", 400),
        ("[" * 5_000 + "]" * 5_000, "body", 400),
        ('"\\ud800"', "body", 400),
        ("NaN", "body", 400),
        (f'"{"A" * 1_000_000}"', None, 413),
    ],
    ids=["digits", "nested", "surrogate", "nan", "megabyte"],
)
def test_given_json_that_is_meant_to_break_the_service_then_it_is_refused_before_it_is_a_rule(
    api: RunningApp, rules: RuleCalls, tenant: dict[str, Any], value: str, path: str | None, status: int
) -> None:
    text = json.dumps(NEW_RULE | {"when": [a_condition(value="HERE")]}).replace('"HERE"', value)

    answer = api.client.post(
        "/api/rules", content=text, headers=api.operator(tenant) | {"Content-Type": "application/json"}
    )

    assert_refused(answer, status)
    assert [field["path"] for field in answer.json().get("fields", [])] == ([] if path is None else [path])
    assert rules.read(RULE_ID).status_code == 404
