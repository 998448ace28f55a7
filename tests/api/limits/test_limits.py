"""A program's caps over HTTP: requested by one person, approved by another, held against pre-flights and transfers."""

from typing import Any, Final

import pytest

from tests.support.alerting import alerts_of, deliver, outgoing, read
from tests.support.running_app import RunningApp, assert_refused, content_of_201

TRANSFER: Final = {"rail": "ach", "direction": "outgoing", "type": "CREDIT", "entityId": "bacc_1"}
CAP: Final = {"kind": "per_transaction", "capCents": "10000", "note": "For the pilot."}


def path_of(program: dict[str, Any]) -> str:
    return f"/api/limits/program/{program['id']}"


def request(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], body: Any, *, name: str = "ann", **headers: str
) -> Any:
    return api.client.post(path_of(program), json=body, headers=api.operator(tenant, name) | headers)


def approve(api: RunningApp, tenant: dict[str, Any], action_id: str, name: str = "bob") -> dict[str, Any]:
    answer = api.client.post(f"/api/actions/{action_id}/approve", headers=api.operator(tenant, name))
    assert answer.status_code == 200, answer.text
    action: dict[str, Any] = answer.json()
    return action


def limits(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    answer = api.client.get(path_of(program), headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def preflight(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], cents: int) -> dict[str, Any]:
    body = {"programId": program["id"], "transfer": TRANSFER | {"amountCents": str(cents)}}
    return content_of_201(api.client.post("/api/preflight", json=body, headers=api.operator(tenant)))


def test_given_a_cap_when_a_second_person_approves_it_then_it_holds_preflights_and_a_breach_opens_a_hard_alert(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="other")
    answer = request(api, tenant, program, CAP)
    action = answer.json()
    assert answer.status_code == 201, answer.text
    assert (action["type"], action["status"], action["requestedBy"]) == ("set_limit", "requested", "ann")
    assert action["limit"] == {"kind": "per_transaction", "from": None, "to": "10000"}
    (pending,) = limits(api, tenant, program)["pending"]
    assert (pending["actionId"], pending["capCents"], pending["requestedBy"]) == (action["id"], "10000", "ann")
    assert preflight(api, tenant, program, 10_001)["decision"] == "review"

    approved = approve(api, tenant, action["id"])
    assert (approved["status"], approved["change"]["kind"], approved["change"]["to"]) == (
        "executed",
        "per_transaction",
        "10000",
    )

    over = preflight(api, tenant, program, 10_001)
    (reason,) = [each for each in over["reasons"] if each["id"] == "limit:per_transaction"]
    assert (reason["signal"], reason["weight"], reason["hard"]) == ("limit:per_transaction", 0, True)
    assert (over["decision"], preflight(api, tenant, program, 10_000)["decision"]) == ("hold", "review")
    assert preflight(api, tenant, other, 10_001)["decision"] == "review"
    deliver(api, program, outgoing("acht_1"), outgoing("acht_2", amount=10_001))
    deliver(api, other, outgoing("acht_3", amount=10_001))
    (alert,) = alerts_of(api, tenant, detector="program_limit_breach")
    assert (alert["subjectType"], alert["subjectId"], alert["severity"]) == ("program", program["id"], "high")
    assert (alert["hardSignal"], alert["route"], alert["status"]) == (True, "reviewed", "open")
    evidence = read(api, tenant, alert["id"])["alert"]["evidence"]
    assert evidence["restsOn"] == ["acht_2"]
    assert evidence["features"]["limitCapCents"] == "10000"


def test_given_caps_when_read_then_all_five_kinds_show_their_use_and_the_history_goes_by_pages(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    empty = limits(api, tenant, program)
    assert [each["kind"] for each in empty["limits"]] == [
        "ach_debit_daily",
        "ach_debit_monthly",
        "per_transaction",
        "entity_daily",
        "entity_velocity_24h",
    ]
    assert {(each["observed"], each["n"], each["version"], each["capCents"]) for each in empty["limits"]} == {
        (None, 0, None, None)
    }
    changes = (
        {"kind": "entity_velocity_24h", "capCount": 2},
        {"kind": "ach_debit_daily", "capCents": "9007199254740992"},
        {"kind": "entity_velocity_24h", "capCount": None},
    )
    for number, change in enumerate(changes, 1):
        api.clock.advance(1_000_000)
        approve(api, tenant, request(api, tenant, program, change).json()["id"])
        assert len(limits(api, tenant, program)["pending"]) == 0, number
    deliver(api, program, outgoing("acht_1", type="DEBIT"), outgoing("acht_2"))

    shown = {each["kind"]: each for each in limits(api, tenant, program)["limits"]}

    debits, velocity = shown["ach_debit_daily"], shown["entity_velocity_24h"]
    assert (debits["capCents"], debits["version"], debits["observed"]) == ("9007199254740992", "limits-v2", "10000")
    assert (debits["requestedBy"], debits["approvedBy"], debits["n"]) == ("ann", "bob", 1)
    assert (velocity["capCount"], velocity["version"], velocity["observed"]) == (None, "limits-v3", 2)
    assert (shown["entity_daily"]["observed"], shown["entity_daily"]["n"]) == ("20000", 2)
    history = f"{path_of(program)}/history"
    first = api.client.get(history, params={"limit": 2}, headers=api.operator(tenant)).json()
    query = {"limit": 2, "cursor": first["nextCursor"]}
    last = api.client.get(history, params=query, headers=api.operator(tenant)).json()
    assert [each["version"] for each in (*first["data"], *last["data"])] == ["limits-v3", "limits-v2", "limits-v1"]
    assert (first["data"][0]["from"], first["data"][0]["to"], last["hasMore"]) == (2, None, False)


def test_given_a_change_that_waits_when_another_of_its_kind_is_requested_then_409_and_a_refusal_frees_the_kind(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    waiting = request(api, tenant, program, CAP, **{"Idempotency-Key": "one"}).json()

    refused = request(api, tenant, program, CAP | {"capCents": "1"})

    assert_refused(refused, 409)
    assert refused.json()["code"] == "change_pending"
    assert request(api, tenant, program, CAP, **{"Idempotency-Key": "one"}).json() == waiting
    assert request(api, tenant, program, {"kind": "entity_daily", "capCents": "0", "capCount": None}).status_code == 201
    unchanged = request(api, tenant, program, {"kind": "ach_debit_daily", "capCents": None})
    assert (unchanged.status_code, unchanged.json()["code"]) == (409, "limit_unchanged")
    assert approve(api, tenant, waiting["id"], " ANN")["status"] == "refused"
    assert request(api, tenant, program, CAP).status_code == 201
    assert {each["kind"] for each in limits(api, tenant, program)["pending"]} == {"per_transaction", "entity_daily"}


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"kind": "per_transaction", "capCents": "-1"}, "capCents", "malformed"),
        ({"kind": "per_transaction", "capCents": 100}, "capCents", "wrong_type"),
        ({"kind": "per_transaction", "capCents": "9007199254740993"}, "capCents", "too_large"),
        ({"kind": "per_transaction", "capCount": 1}, "capCents", "required"),
        ({"kind": "per_transaction", "capCents": "1", "capCount": 1}, "capCount", "conflicting"),
        ({"kind": "entity_velocity_24h", "capCount": -1}, "capCount", "too_small"),
        ({"kind": "entity_velocity_24h", "capCount": 2**53 + 1}, "capCount", "too_large"),
        ({"kind": "entity_velocity_24h", "capCents": "1"}, "capCount", "required"),
        ({"kind": "monthly", "capCents": "1"}, "kind", "not_one_of"),
    ],
)
def test_given_a_cap_that_cannot_be_when_requested_then_400_names_the_field_and_nothing_is_recorded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], body: Any, path: str, code: str
) -> None:
    answer = request(api, tenant, program, body)

    assert_refused(answer, 400)
    assert {"path": path, "code": code} in answer.json()["fields"]
    assert "kind" not in path or len(answer.json()["fields"]) == 1
    assert not limits(api, tenant, program)["pending"]


def test_given_two_entities_when_limits_are_read_for_one_then_the_caps_on_one_entity_have_its_use(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", amount=70_00, bank_account_id="bacc_1"))
    for number in (2, 3):
        deliver(api, program, outgoing(f"acht_{number}", amount=20_00, bank_account_id="bacc_2"))

    def use(**query: str) -> dict[str, tuple[Any, int]]:
        answer = api.client.get(path_of(program), params=query, headers=api.operator(tenant))
        assert answer.status_code == 200, answer.text
        return {each["kind"]: (each["observed"], each["n"]) for each in answer.json()["limits"]}

    assert (use()["entity_daily"], use()["entity_velocity_24h"]) == (("7000", 1), (2, 2))
    of_one, of_other, of_unknown = (use(entityId=each) for each in ("bacc_1", "bacc_2", "enti_nowhere"))
    assert (of_one["entity_daily"], of_one["entity_velocity_24h"]) == (("7000", 1), (1, 1))
    assert (of_other["entity_daily"], of_other["entity_velocity_24h"]) == (("4000", 2), (2, 2))
    assert of_unknown["entity_daily"] == (None, 0)
    others = {"per_transaction", "ach_debit_daily", "ach_debit_monthly"}
    assert {kind: of_unknown[kind] for kind in others} == {kind: use()[kind] for kind in others}
