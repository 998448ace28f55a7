"""Calls on rules as a bank's people make them, each with a key of its own."""

from typing import Any, Final

import msgspec

from clearhold.api.rules.routes import NEW_RULE
from clearhold.features.core.rules import Rule
from clearhold.features.policy.bodies import RulesBody
from tests.support.running_app import RunningApp

RULE_ID: Final = "large-wire-abroad"
NOTE: Final = {"note": "decided in the meeting"}


class RuleCalls:
    """One tenant's; ``ann`` requests, ``ben`` approves."""

    def __init__(self, api: RunningApp, tenant: dict[str, Any]) -> None:
        self.api, self.tenant = api, tenant

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = self.api.operator(self.tenant) | {name.replace("_", "-"): text for name, text in headers.items()}
        return self.api.client.request(method, f"/api/rules{path}", json=body, headers=sent)

    def create(self, rule_id: str = RULE_ID, **over: Any) -> Any:
        return self.send("POST", "", NEW_RULE | {"id": rule_id} | over)

    def read(self, rule_id: str = RULE_ID) -> Any:
        return self.send("GET", f"/{rule_id}")

    def status(self, rule_id: str = RULE_ID) -> str:
        status: str = self.read(rule_id).json()["status"]
        return status

    def write(self, rule_id: str = RULE_ID, **over: Any) -> Any:
        """Write a rule again, over what is there now."""
        read = self.read(rule_id)
        return self.send("PUT", f"/{rule_id}", read.json() | over, If_Match=read.headers["etag"])

    def backtest(self, rule_id: str = RULE_ID, **body: Any) -> Any:
        return self.send("POST", f"/{rule_id}/backtest", body)

    def activate(self, rule_id: str = RULE_ID, **headers: str) -> Any:
        return self.send("POST", f"/{rule_id}/activate", NOTE, **headers)

    def approve(self, action_id: str, approver: str = "ben") -> dict[str, Any]:
        path, headers = f"/api/actions/{action_id}/approve", self.api.operator(self.tenant)
        answer = self.api.client.post(path, json={"approverId": approver}, headers=headers)
        assert answer.status_code == 200, answer.text
        action: dict[str, Any] = answer.json()
        return action

    def pause(self, rule_id: str = RULE_ID, **headers: str) -> Any:
        return self.send("POST", f"/{rule_id}/pause", NOTE, **headers)

    def archive(self, rule_id: str = RULE_ID) -> Any:
        return self.send("POST", f"/{rule_id}/archive", NOTE)

    def tested(self, rule_id: str = RULE_ID, **over: Any) -> None:
        assert self.create(rule_id, **over).status_code == 201
        assert self.backtest(rule_id).status_code == 201

    def active(self, rule_id: str = RULE_ID, **over: Any) -> dict[str, Any]:
        """Bring a new rule into force; the action at its end."""
        self.tested(rule_id, **over)
        return self.in_force(rule_id)

    def in_force(self, rule_id: str = RULE_ID) -> dict[str, Any]:
        """Bring a tested rule into force; the action at its end."""
        action = self.approve(self.activate(rule_id).json()["id"])
        assert action["status"] == "executed", action["error"]
        self.api.catch_up()
        return action

    def versions(self) -> list[dict[str, Any]]:
        versions: list[dict[str, Any]] = self.send("GET", "/versions").json()
        return versions

    def of_program(self, program_id: str, prefix: str = "rules") -> tuple[str | None, list[Rule]]:
        """The version and the rules that the state of a program has in force."""
        self.api.catch_up()
        with self.api.shards.reading(program_id) as state:
            version = state.policies.in_force(prefix, self.api.clock.now())
        if version is None:
            return None, []
        assert isinstance(version.body, RulesBody)
        return version.version, list(version.body.rules)

    def links(self) -> list[dict[str, Any]]:
        """The bodies of the chain of actions."""
        path = "/api/record/export?kinds=action"
        lines = self.api.client.get(path, headers=self.api.operator(self.tenant)).text.splitlines()
        return [msgspec.json.decode(line)["body"] for line in lines]
