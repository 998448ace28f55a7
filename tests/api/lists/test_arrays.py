"""Bare arrays in parts: each is bounded, together they are the list, and a cursor opens that list alone."""

from typing import Any

import pytest

from tests.support.rule_calls import RuleCalls
from tests.support.running_app import RunningApp, assert_refused


@pytest.fixture
def rules(api: RunningApp, tenant: dict[str, Any]) -> RuleCalls:
    return RuleCalls(api, tenant)


def part(rules: RuleCalls, path: str) -> Any:
    answer = rules.api.client.get(path, headers=rules.api.operator(rules.tenant))
    assert answer.status_code == 200, answer.text
    return answer


def parts(rules: RuleCalls, path: str) -> list[list[Any]]:
    """Every part of a list, by the links of the answers."""
    read = []
    while path:
        answer = part(rules, path)
        read.append(answer.json())
        path = answer.links.get("next", {}).get("url", "")
    return read


@pytest.mark.parametrize(
    "path", ["/api/rules", "/api/rules?status=testing,active", "/api/rules/versions", "/api/policies"]
)
def test_given_a_list_when_it_is_read_in_parts_then_they_are_the_list(
    rules: RuleCalls, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for rule_id in ("one", "two", "three"):
        rules.active(rule_id)
    (whole,) = parts(rules, path)
    more = "&" if "?" in path else "?"

    by_two = parts(rules, f"{path}{more}limit=2")
    longest = max(len(part(rules, f"{path}{more}limit=1").content), 700)
    monkeypatch.setattr("clearhold.api.lists.lists.MAX_PART_BYTES", longest)
    by_bytes = parts(rules, path)

    assert len(whole) > 2
    assert [len(each) for each in by_two[:-1]] == [2] * (len(by_two) - 1)
    assert [each for read in by_two for each in read] == [each for read in by_bytes for each in read] == whole
    assert len(by_bytes) > 1


def test_given_a_cursor_when_the_filters_are_others_or_the_limit_is_none_then_400(rules: RuleCalls) -> None:
    rules.create("one")
    rules.create("two")
    link = part(rules, "/api/rules?limit=1").links["next"]["url"]
    headers = rules.api.operator(rules.tenant)

    assert_refused(rules.api.client.get(f"{link}&status=draft", headers=headers), 400, "same filters")
    for wrong in ("limit=0", "limit=101", "cursor=abc"):
        assert_refused(rules.api.client.get(f"/api/rules?{wrong}", headers=headers), 400)
    assert [rule["id"] for rule in part(rules, link).json()] == ["one"]
