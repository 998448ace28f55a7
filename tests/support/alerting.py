"""Alerts to test with: bank events that open them, and the calls that find and decide them."""

from typing import Any, Final

import httpx
from msgspec import json

from tests.support.running_app import RunningApp

ALERTING: Final[dict[str, Any]] = {"beneficiary_address": {"country_code": "IR"}}
"""What opens an alert on the transfer, and has it wait for a person."""
DETECTOR: Final = "high_risk_geography"
NOTE: Final = "I called the customer, who says that it is rent."
NARRATIVE: Final = "It was explained by the program's documents."


def outgoing(transfer_id: str, *, at: str = "2026-03-02T14:00:00Z", **over: Any) -> bytes:
    """The event of an outgoing ACH credit of 100.00."""
    data = {
        "id": transfer_id,
        "type": "CREDIT",
        "amount": 10_000,
        "currency_code": "USD",
        "status": "INITIATED",
        "is_incoming": False,
        "bank_account_id": "bacc_1",
        "counterparty_id": "cpty_1",
        "created_at": at,
        "updated_at": at,
    }
    event = {"id": f"evnt_{transfer_id}", "created_at": at, "type": "ach.outgoing_transfer.initiated"}
    return json.encode(event | {"data": data | over})


def party(family: str, party_id: str, *, at: str = "2026-03-02T14:00:00Z", **over: Any) -> bytes:
    """The event of a new entity (family ``identity``), counterparty or account."""
    event = {"id": f"evnt_{party_id}_{at}", "created_at": at, "type": f"{family}.created"}
    return json.encode(event | {"data": {"id": party_id, "created_at": at, "updated_at": at} | over})


def deliver(api: RunningApp, program: dict[str, Any], *bodies: bytes) -> None:
    """Post events and apply them."""
    for body in bodies:
        assert api.deliver(program, body).status_code == 200
    api.catch_up()


def alerts_of(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    """One page of alerts, at most a hundred."""
    answer = api.client.get("/api/alerts", params={"limit": 100} | query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def an_alert(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], transfer_id: str = "acht_1", **over: Any
) -> dict[str, Any]:
    """A fresh alert that waits for a person, on a transfer of that id."""
    deliver(api, program, outgoing(transfer_id, **ALERTING, **over))
    (alert,) = alerts_of(api, tenant, transferId=transfer_id, detector=DETECTOR)
    return alert


def decide(
    api: RunningApp, headers: dict[str, str], alert_id: str, decision: str = "close", narrative: str = NARRATIVE
) -> httpx.Response:
    body = {"decision": decision, "narrative": narrative}
    return api.client.post(f"/api/alerts/{alert_id}/decide", json=body, headers=headers)


def appeal(api: RunningApp, headers: dict[str, str], alert_id: str, reason: str = "It was not.") -> httpx.Response:
    return api.client.post(f"/api/alerts/{alert_id}/appeal", json={"reason": reason}, headers=headers)


def note(api: RunningApp, headers: dict[str, str], alert_id: str, text: str = NOTE) -> httpx.Response:
    return api.client.post(f"/api/alerts/{alert_id}/notes", json={"note": text}, headers=headers)


def assign(api: RunningApp, headers: dict[str, str], alert_id: str, assignee: str | None) -> httpx.Response:
    return api.client.post(f"/api/alerts/{alert_id}/assign", json={"assignee": assignee}, headers=headers)


def read(api: RunningApp, tenant: dict[str, Any], alert_id: str) -> dict[str, Any]:
    """One alert with all that a decision needs."""
    answer = api.client.get(f"/api/alerts/{alert_id}", headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    detail: dict[str, Any] = answer.json()
    return detail
