"""Stacks of waiting alerts over HTTP: alerts of one account, the list of stacks, and a decision on several alerts."""

from typing import Any

import httpx

from tests.support.alerting import ALERTING, NARRATIVE, alerts_of, deliver, outgoing
from tests.support.running_app import RunningApp, content_of_201


def story(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], account: str, transfers: int
) -> list[dict[str, Any]]:
    """Waiting alerts of one account, on this number of transfers; those on the program are no part of them."""
    names = [f"acht_{account}_{number}" for number in range(transfers)]
    deliver(api, program, *(outgoing(name, bank_account_id=account, **ALERTING) for name in names))
    found = alerts_of(api, tenant, transferId=",".join(names), status="open,held", subjectType="transfer,account")
    assert len(found) >= transfers
    return found


def stacks(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    params = {"kind": "account,split"} | query
    answer = api.client.get("/api/stacks", params=params, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def decide_many(
    api: RunningApp, headers: dict[str, str], alert_ids: list[str], decision: str = "close", narrative: str = NARRATIVE
) -> httpx.Response:
    body = {"alertIds": alert_ids, "decision": decision, "narrative": narrative}
    return api.client.post("/api/alerts/decide", json=body, headers=headers)


def two_persons_for_hard_alerts(api: RunningApp, tenant: dict[str, Any]) -> None:
    """The policy in force after it: a decision that closes a hard alert waits for a second person."""
    headers = api.operator(tenant)
    (policy,) = api.client.get("/api/policies?prefix=policy&active=true", headers=headers).json()
    body = policy["body"] | {"version": "policy-v2", "hardNeedsSecondPerson": True}
    made = api.client.post("/api/policies", json={"version": "policy-v2", "body": body}, headers=headers)
    path = f"/api/policies/{content_of_201(made)['id']}/activate"
    requested = content_of_201(api.client.post(path, json={"note": "Two."}, headers=headers))
    api.client.post(f"/api/actions/{requested['id']}/approve", headers=api.operator(tenant, "bob"))
    api.catch_up()
