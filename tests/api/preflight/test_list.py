"""The list of pre-flights: newest first, by program, decision and time."""

from typing import Any

import pytest

from tests.api.preflight.test_preflight import TRANSFER, ask
from tests.support.running_app import RunningApp, assert_refused


def listed(api: RunningApp, headers: dict[str, str], query: str = "") -> list[dict[str, Any]]:
    answer = api.client.get(f"/api/preflight{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


@pytest.mark.usefixtures("program")
def test_given_preflights_when_listed_then_they_are_the_recorded_ones_newest_first(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    answers = []
    for number in range(5):
        answers.append(ask(api, tenant, transfer=TRANSFER | {"amountCents": str(12_500 + number)}).json())
        api.clock.advance(60_000_000)
    blocked = TRANSFER | {"rail": "intl_wire", "counterpartyId": None}
    blocked |= {"counterparty": {"name": "X", "countryCode": "IR"}}
    blocked = {name: value for name, value in blocked.items() if value is not None and name != "type"}
    answers.append(ask(api, tenant, transfer=blocked).json())
    api.catch_up()

    rows = listed(api, headers)

    assert [row["preflightId"] for row in rows] == [answer["preflightId"] for answer in reversed(answers)]
    for row, answer in zip(rows, reversed(answers), strict=True):
        shared = set(row) & set(answer)
        assert {name: row[name] for name in shared} == {name: answer[name] for name in shared}
        detail = api.client.get(f"/api/preflight/{row['preflightId']}", headers=headers).json()
        assert (row["createdAt"], row["matchedTransferId"]) == (detail["createdAt"], detail["matchedTransferId"])
        assert row["amountCents"] == detail["request"]["transfer"]["amountCents"]
    for decision in ("clear", "review", "hold"):
        expected = [row["preflightId"] for row in rows if row["decision"] == decision]
        assert [row["preflightId"] for row in listed(api, headers, f"?decision={decision}")] == expected
    assert len({row["decision"] for row in rows}) > 1
    start, end = rows[4]["createdAt"], rows[2]["createdAt"]
    assert listed(api, headers, f"?from={start}&to={end}") == rows[3:5]
    paged, path = [], "/api/preflight?limit=2"
    while path:
        answer = api.client.get(path, headers=headers)
        paged += answer.json()["data"]
        path = answer.links.get("next", {}).get("url", "")
    assert paged == rows


def test_given_other_programs_and_tenants_when_listed_then_each_has_its_own_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    other = api.create_tenant("second-bank")
    assert ask(api, tenant).status_code == 201
    api.catch_up()

    assert len(listed(api, api.operator(tenant), f"?programId={program['id']}")) == 1
    assert listed(api, api.operator(tenant), f"?programId={lending['id']}") == []
    assert listed(api, api.key(tenant, programId=lending["id"])) == []
    assert listed(api, api.operator(other)) == []
    for query, field in (("decision=no", "decision[0]"), ("decisions=hold", "decisions"), ("from=x", "from")):
        answer = api.client.get(f"/api/preflight?{query}", headers=api.operator(tenant))
        assert_refused(answer, 400, field)
        assert [each["path"] for each in answer.json()["fields"]] == [field]
