"""Simulated money is in no figure over a tenant, and a figure of a simulated program says that it is simulated."""

from typing import Any, Final

import pytest
from msgspec import json

from tests.support.alerting import deliver, outgoing
from tests.support.running_app import RunningApp, content_of_201

RULE: Final[dict[str, Any]] = {
    "id": "big",
    "name": "Big",
    "scope": "transfer",
    "programId": None,
    "when": [{"field": "amountCents", "op": "gte", "value": "90000"}],
    "action": "alert",
    "severity": "low",
}
TRANSFER: Final = {"rail": "wire", "direction": "outgoing", "amountCents": "10000"}
SCHEMAS: Final = "#/components/schemas/"
EXEMPT: Final = {
    "ApiKey": "its mode says it",
    "ApiKeyCreated": "its mode says it",
    "MetricsCoverage": "a part of Metrics, which says it",
    "NamedTransfer": "a part of a backtest, which says it",
    "Overview": "a list of programs, each of which says it",
    "Policy": "a setting of the bank, for all of its programs or one",
    "ProgramRun": "a part of a dry run, which says it",
    "RoutedOtherwise": "a part of a dry run, which says it",
    "Rule": "a setting of the bank, for all of its programs or one",
    "ScorecardVersion": "a setting of the bank, for all of its programs or one",
    "SearchResult": "groups of things, each of which says it",
    "WebhookEndpoint": "a setting of the bank, for all of its programs or one",
}


@pytest.fixture
def simulated(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """A simulated program beside the bank's: 1,000.00 of real money has moved, and 999,000.00 of play money."""
    play: dict[str, Any] = api.create_program(tenant, slug="play", source="simulated")
    deliver(api, program, outgoing("acht_real", amount=100_000), outgoing("acht_same", amount=1))
    deliver(api, play, outgoing("acht_play", amount=99_900_000), outgoing("acht_same", amount=200_000))
    return play


def backtest_of(api: RunningApp, headers: dict[str, str], **over: Any) -> dict[str, Any]:
    rule = RULE | over
    content_of_201(api.client.post("/api/rules", json=rule, headers=headers))
    body = {"days": 90, "full": True}
    answer = api.client.post(f"/api/rules/{rule['id']}/backtest", json=body, headers=headers)
    return content_of_201(answer)


def test_given_a_rule_for_every_program_then_its_backtest_and_its_activation_have_real_money_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], simulated: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    backtest = backtest_of(api, headers)
    action = content_of_201(api.client.post("/api/rules/big/activate", json={"note": "Agreed."}, headers=headers))
    of_play = backtest_of(api, headers, id="play", programId=simulated["id"])

    real = [{"programId": program["id"], "transferId": "acht_real"}]
    assert (backtest["scanned"], backtest["matched"], "simulated" in backtest) == (2, 1, False)
    assert (backtest["sampleTransferIds"], backtest["sampleTransfers"]) == (["acht_real"], real)
    caught = backtest["full"]["caught"]
    assert caught == {"count": 1, "cents": "100000", "transferIds": ["acht_real"], "transfers": real}
    assert action["change"]["caught"] == caught
    assert action["change"]["backtest"]["sampleTransfers"] == real
    assert (of_play["matched"], of_play["full"]["caught"]["cents"], of_play["simulated"]) == (2, "100100000", True)
    listed = api.client.get("/api/rules/play/backtests", headers=headers).json()
    assert [each["simulated"] for each in listed] == [True]


def test_given_simulated_preflights_then_they_are_in_the_stats_of_their_program_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], simulated: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    for of_program, times in ((program, 2), (simulated, 3)):
        for _ in range(times):
            body = {"programId": of_program["id"], "transfer": TRANSFER}
            assert api.client.post("/api/preflight", json=body, headers=headers).status_code == 201
    api.catch_up()

    def stats(**query: str) -> tuple[int, bool]:
        answer = api.client.get("/api/preflight/stats", params=query, headers=headers).json()
        return answer["count"], answer.get("simulated", False)

    assert (stats(), stats(programId=program["id"])) == ((2, False), (2, False))
    assert stats(programId=simulated["id"]) == (3, True)
    both = {"programId": f"{program['id']},{simulated['id']}"}
    assert api.client.get("/api/preflight/stats", params=both, headers=headers).status_code == 400
    key = content_of_201(api.client.post("/api/keys", json={"name": "k", "mode": "test"}, headers=headers))
    of_key = api.client.get("/api/preflight/stats", headers={"Authorization": f"Bearer {key['secret']}"}).json()
    assert (of_key["count"], of_key["simulated"]) == (3, True)


def test_given_a_program_then_its_limits_ladder_and_autonomy_say_whether_it_is_simulated(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], simulated: dict[str, Any]
) -> None:
    headers = api.operator(tenant)

    def marks(of_program: dict[str, Any]) -> list[bool]:
        id_ = of_program["id"]
        evaluation = {"programId": id_, "transfer": TRANSFER}
        answers = [
            api.client.get(f"/api/limits/program/{id_}", headers=headers),
            api.client.get(f"/api/autonomy/{id_}", headers=headers),
            api.client.post("/api/ladder/evaluate", json=evaluation, headers=headers),
            api.client.get(f"/api/preflight/stats?programId={id_}", headers=headers),
            api.client.get(f"/api/metrics?programId={id_}", headers=headers),
        ]
        assert {answer.status_code for answer in answers} == {200}
        return [answer.json().get("simulated", False) for answer in answers]

    assert (marks(program), marks(simulated)) == ([False] * 5, [True] * 5)


def test_given_the_document_then_every_answer_about_a_program_can_say_that_it_is_simulated(api: RunningApp) -> None:
    document = json.decode(api.client.get("/openapi.json").content)
    schemas = document["components"]["schemas"]

    def named_in(part: Any) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(named_in, part)) if part else set()
        if not isinstance(part, dict):
            return set()
        own = {part["$ref"].removeprefix(SCHEMAS)} if part.get("$ref", "").startswith(SCHEMAS) else set()
        return own.union(*map(named_in, part.values()))

    answers = {
        name
        for path in document["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
        for status, answer in operation.get("responses", {}).items()
        if status.startswith("2")
        for name in named_in(answer)
    }
    waiting = list(answers)
    while waiting:
        further = named_in(schemas[waiting.pop()]) - answers
        answers |= further
        waiting += further
    of_programs = {
        name for name in answers if {"programId", "programs"}.intersection(schemas[name].get("properties", {}))
    }
    without = {name for name in of_programs if "simulated" not in schemas[name]["properties"]}

    assert len(of_programs) > 20
    assert without == set(EXEMPT), "an answer that names a program is marked, or says here why not"
