"""Explanations over HTTP: of transfers, of pre-flights and of parties, beside the scores that they explain."""

from typing import Any

from clearhold.features.measurement.explanation import TO_A_PERSON
from tests.api.transfers.test_transfers import page
from tests.support.alerting import deliver, outgoing, party
from tests.support.running_app import RunningApp

DENIED: dict[str, Any] = {"type": "PERSON", "verification_status": "denied", "person_details": {"first_name": "Ada"}}


def explained(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> dict[str, Any]:
    answer = page(api, tenant, f"{path}/explain", **query)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    if told["score"] is not None:
        assert sum(family["counts"] for family in told["families"]) == told["total"]
        assert min(100, max(0, told["total"])) == told["score"]
    return told


def many(api: RunningApp, program: dict[str, Any]) -> None:
    """Transfers of a denied entity with one counterparty."""
    deliver(api, program, party("identity", "enti_1", **DENIED))
    deliver(
        api,
        program,
        party("counterparty", "cpty_1", name="Corner Shop"),
        *(outgoing(f"acht_{number}", at=f"2026-03-02T14:{number:02d}:00Z", entity_id="enti_1") for number in range(8)),
    )


def test_given_a_landed_transfer_when_explained_then_it_is_recomputed_and_the_same_with_sets_in_words(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    many(api, program)
    shown = page(api, tenant, "/api/transfers/acht_7").json()

    told = explained(api, tenant, "/api/transfers/acht_7", programId=program["id"])

    assert shown["score"] is not None
    assert shown["score"] >= 30
    assert (told["isSame"], told["difference"]) == (True, None)
    assert told["stored"] == told["recomputed"]
    assert (told["score"], told["card"]) == (shown["score"], shown["scoreInputs"]["card"])
    inputs = shown["scoreInputs"]["features"]
    assert told["unmeasured"] == [name for name, value in inputs.items() if value is None]
    assert [reason["id"] for reason in told["hardReasons"]] == ["TRS-KYC-01"]
    assert told["goesToPerson"] == TO_A_PERSON
    weights = {reason["id"]: reason["weight"] for reason in shown["scoreInputs"]["reasons"]}
    for each in told["wouldBeLower"]:
        assert each["score"] < 30 <= told["score"] or each["score"] < 70 <= told["score"]
        assert {reason["id"] for reason in each["reasons"]} <= set(weights)
        assert each["sentence"].startswith(f"If {each['reasons'][0]['negated']}")
    assert told["wouldBeLower"]


def test_given_a_preflight_when_explained_then_its_recorded_reasons_add_up_and_give_the_sets_of_the_same_transfer(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    many(api, program)
    transfer = {"rail": "ach", "direction": "outgoing", "type": "CREDIT", "amountCents": "10000", "entityId": "enti_1"}
    asked = api.client.post(
        "/api/preflight", json={"programId": program["id"], "transfer": transfer}, headers=api.operator(tenant)
    )
    answer = asked.json()

    told = explained(api, tenant, f"/api/preflight/{answer['preflightId']}")

    assert asked.status_code == 201
    assert told["isSame"] is True
    assert (told["score"], told["decision"], told["unmeasured"]) == (
        answer["score"],
        answer["decision"],
        answer["degradedReasons"],
    )
    assert told["goesToPerson"] == TO_A_PERSON
    assert {reason["id"] for each in told["wouldBeLower"] for reason in each["reasons"]} <= {
        reason["id"] for reason in answer["reasons"]
    }
    assert told["wouldBeLower"]


def test_given_an_entity_and_a_counterparty_when_explained_then_it_is_their_score_of_now(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    many(api, program)

    entity = explained(api, tenant, "/api/entities/enti_1")
    counterparty = explained(api, tenant, "/api/counterparties/cpty_1", programId=program["id"])

    report = page(api, tenant, "/api/reports/actor/entity/enti_1").json()["current"]
    assert (entity["type"], entity["score"], entity["n"]) == ("entity", report["score"], report["n"])
    assert [reason["id"] for reason in entity["hardReasons"]] == ["ERS-KYC-01"]
    assert entity["wouldBeLower"]
    assert (counterparty["type"], counterparty["id"]) == ("counterparty", "cpty_1")


def test_given_an_unknown_subject_when_explained_then_it_is_not_found(api: RunningApp, tenant: dict[str, Any]) -> None:
    codes = {
        "/api/transfers/acht_x": "transfer_not_found",
        "/api/preflight/0f7d5c1a-5e0b-5b0c-9a66-2d8a1c0c7e11": "preflight_not_found",
        "/api/entities/enti_x": "entity_not_found",
        "/api/counterparties/cpty_x": "counterparty_not_found",
        "/api/agents/enti_x": "agent_not_found",
    }
    for path, code in codes.items():
        answer = page(api, tenant, f"{path}/explain")
        assert answer.status_code == 404
        assert answer.json()["code"] == code
