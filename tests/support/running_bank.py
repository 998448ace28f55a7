"""A tenant of a running service, and the calls that its people make."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from clearhold.api.rules.routes import NEW_RULE
from clearhold.features.core.scorecards import Scorecard
from tests.support.running_service import RunningService
from tests.support.scorecards import a_report

_JSON: Final = {"Content-Type": "application/json"}


class RunningBank:
    """A new tenant unless one is given, with a program for each slug; ``ann`` calls, and ``ben`` approves."""

    def __init__(self, service: RunningService, *slugs: str, tenant: dict[str, Any] | None = None) -> None:
        self.service = service
        self.tenant = tenant or service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
        self.token: str = self.tenant["operatorToken"]
        self.programs = [self.create_program(slug) for slug in slugs]

    @property
    def program(self) -> dict[str, Any]:
        return self.programs[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "X-Operator": "ann"}

    def create_program(self, slug: str, **over: Any) -> dict[str, Any]:
        return self.service.admin(
            "/api/admin/programs", {"tenantId": self.tenant["id"], "slug": slug, "name": slug} | over
        )

    def ask(
        self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None, expect: int = 200
    ) -> Any:
        """Call as ``ann``, unless the headers are another's."""
        sent = (headers or self.headers) | _JSON
        return self.service.ask(method, path, sent, None if body is None else msgspec.json.encode(body), expect=expect)

    def key(self, **over: Any) -> dict[str, str]:
        """The headers of a new key: a live one of the whole tenant, unless told otherwise."""
        key = self.ask("POST", "/api/keys", {"name": "k", "mode": "live"} | over, expect=201)
        return {"Authorization": f"Bearer {key['secret']}"}

    def register(self, url: str, *events: str) -> dict[str, Any]:
        registered: dict[str, Any] = self.ask("POST", "/api/webhooks", {"url": url, "events": events}, expect=201)
        return registered

    def rule_in_testing(self, rule_id: str, **over: Any) -> None:
        """Write a rule and bring it into testing."""
        self.ask("POST", "/api/rules", NEW_RULE | {"id": rule_id} | over, expect=201)
        self.ask("POST", f"/api/rules/{rule_id}/backtest", {}, expect=201)

    def card_in_shadow(self, version: str, card: Scorecard) -> None:
        """Propose a card, which is of that version, and start its shadow."""
        assert (
            self.ask("POST", "/api/scorecards", {"card": msgspec.to_builtins(card)}, expect=201)["version"] == version
        )
        self.ask("POST", f"/api/scorecards/{version}/shadow", {})

    def card_in_force(self, version: str, card: Scorecard) -> None:
        """Report on a card that was proposed, and bring it into force."""
        report = a_report(card, datetime.now(UTC).isoformat())
        self.ask("POST", f"/api/scorecards/{version}/reports", {"report": report}, expect=201)
        action = self.ask("POST", f"/api/scorecards/{version}/activate", {}, expect=201)
        approved = self.ask("POST", f"/api/actions/{action['id']}/approve", {"approverId": "ben"})
        assert approved["status"] == "executed", approved

    def rule_in_force(self, rule_id: str, **over: Any) -> None:
        """Write a rule and bring it into force."""
        self.rule_in_testing(rule_id, **over)
        action = self.ask("POST", f"/api/rules/{rule_id}/activate", {"note": "It was agreed."}, expect=201)
        approved = self.ask("POST", f"/api/actions/{action['id']}/approve", {"approverId": "ben"})
        assert approved["status"] == "executed", approved
