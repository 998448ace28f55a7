"""Calls on scorecards as a bank's people make them, each with a key of its own."""

from typing import Any, Final

import msgspec

from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.scorecards import Scorecard
from tests.support.running_app import RunningApp
from tests.support.scorecards import a_card, a_report

NOTE: Final = {"note": "agreed by model risk"}


class ScorecardCalls:
    """One tenant's; ``ann`` requests, ``ben`` approves."""

    def __init__(self, api: RunningApp, tenant: dict[str, Any]) -> None:
        self.api, self.tenant = api, tenant

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = self.api.operator(self.tenant) | {name.replace("_", "-"): text for name, text in headers.items()}
        return self.api.client.request(method, f"/api/scorecards{path}", json=body, headers=sent)

    def read(self, version: str = "") -> Any:
        return self.send("GET", f"/{version}" if version else "").json()

    def propose(self, card: Scorecard | None = None, *, program_id: str | None = None, **headers: str) -> Any:
        body = {"card": msgspec.to_builtins(card or a_card()), "programId": program_id}
        return self.send("POST", "", body, **headers)

    def report(self, version: str, card: Scorecard | None = None, *, days_old: float = 0, **over: Any) -> Any:
        made_at = self.api.clock.now() - round(days_old * DAY_US)
        report = a_report(card or a_card(), format_instant(made_at), **over)
        return self.send("POST", f"/{version}/reports", {"report": report})

    def activate(self, version: str, **body: Any) -> Any:
        return self.send("POST", f"/{version}/activate", NOTE | body)

    def approve(self, action_id: str, approver: str = "ben") -> dict[str, Any]:
        path, headers = f"/api/actions/{action_id}/approve", self.api.operator(self.tenant)
        answer = self.api.client.post(path, json={"approverId": approver}, headers=headers)
        assert answer.status_code == 200, answer.text
        action: dict[str, Any] = answer.json()
        return action

    def in_force(self, card: Scorecard | None = None, *, program_id: str | None = None) -> str:
        """Bring a new card into force; its version."""
        version: str = self.propose(card, program_id=program_id).json()["version"]
        assert self.report(version, card).status_code == 201
        self.activated(version)
        return version

    def activated(self, version: str, **body: Any) -> dict[str, Any]:
        """Bring a version into force by two people; the action."""
        requested = self.activate(version, **body)
        assert requested.status_code == 201, requested.text
        action = self.approve(requested.json()["id"])
        assert action["status"] == "executed", action["error"]
        self.api.catch_up()
        return action

    def of_program(self, program_id: str) -> tuple[str, str | None]:
        """The versions that score, and run in shadow, in the state of a program."""
        self.api.catch_up()
        with self.api.shards.reading(program_id) as state:
            book = state.scorecards
            return book.champion.version, None if book.challenger is None else book.challenger.version
