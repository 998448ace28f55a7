"""Calls on a tenant's configuration as a whole, as ``clearhold config`` makes them."""

from typing import Any, Final

import msgspec

from tests.support.rule_calls import RULE_ID
from tests.support.running_app import RunningApp

RULE: Final[dict[str, Any]] = {
    "id": RULE_ID,
    "name": "Large wires abroad",
    "scope": "transfer",
    "when": [
        {"field": "rail", "op": "in", "value": ["wire", "intl_wire"]},
        {"field": "amountCents", "op": "gte", "value": "2500000"},
    ],
    "action": "hold",
    "severity": "high",
}
RULE_PATH: Final = f"rules/{RULE_ID}.yaml"
CLOCK_PATH: Final = "policies/clock.yaml"

Files = dict[str, Any]


class ConfigCalls:
    """One tenant's; ``ann`` requests, ``ben`` approves."""

    def __init__(self, api: RunningApp, tenant: dict[str, Any]) -> None:
        self.api, self.tenant = api, tenant

    def send(self, method: str, path: str, body: Any = None, name: str = "ann", **headers: str) -> Any:
        sent = self.api.operator(self.tenant, name) | {key.replace("_", "-"): text for key, text in headers.items()}
        return self.api.client.request(method, path, json=body, headers=sent)

    def export(self) -> dict[str, Any]:
        self.api.catch_up()
        answer = self.send("GET", "/api/config")
        assert answer.status_code == 200, answer.text
        config: dict[str, Any] = answer.json()
        return config

    def files(self) -> Files:
        return {file["path"]: file["value"] for file in self.export()["files"]}

    def plan(self, files: Files, **over: Any) -> Any:
        return self.send("POST", "/api/config/plan", self.body_of(files) | over)

    def planned(self, files: Files) -> dict[str, Any]:
        answer = self.plan(files)
        assert answer.status_code == 200, answer.text
        plan: dict[str, Any] = answer.json()
        return plan

    def apply(self, files: Files, *, base: str | None = None, name: str = "ann", **headers: str) -> Any:
        base = self.export()["sha256"] if base is None else base
        body = self.body_of(files) | {"baseSha256": base, "note": "From the bank's git."}
        return self.send("POST", "/api/config/apply", body, name, **headers)

    def approve(self, action: dict[str, Any], approver: str = "ben") -> dict[str, Any]:
        path = f"/api/actions/{action['id']}/approve"
        answer = self.send("POST", path, {"approverId": approver})
        assert answer.status_code == 200, answer.text
        self.api.catch_up()
        approved: dict[str, Any] = answer.json()
        return approved

    def in_force(self, files: Files) -> dict[str, Any]:
        """Bring a configuration into force; the action at its end."""
        answer = self.apply(files)
        assert answer.status_code == 200, answer.text
        action = self.approve(answer.json()["action"])
        assert action["status"] == "executed", action["error"]
        return action

    def body_of(self, files: Files) -> dict[str, Any]:
        listed = [{"path": path, "value": value} for path, value in files.items()]
        return {"schema": "clearhold-config-v1", "tenant": self.tenant["slug"], "files": listed}

    def links(self) -> list[dict[str, Any]]:
        """The bodies of the chain of actions."""
        text = self.send("GET", "/api/record/export?kinds=action").text
        return [msgspec.json.decode(line)["body"] for line in text.splitlines()]
