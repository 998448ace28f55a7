"""A tenant of a running service, with one program and endpoints for events."""

from typing import Any

import msgspec

from tests.support.running_service import RunningService


class Bank:
    """A tenant of a running service, with one program."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.tenant = service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
        body = {"tenantId": self.tenant["id"], "slug": "payroll", "name": "Payroll"}
        self.program = service.admin("/api/admin/programs", body)

    def ask(self, method: str, path: str, body: object = None, *, expect: int = 200) -> Any:
        headers = {
            "Authorization": f"Bearer {self.tenant['operatorToken']}",
            "X-Operator": "ann",
            "Content-Type": "application/json",
        }
        return self.service.ask(
            method, path, headers, None if body is None else msgspec.json.encode(body), expect=expect
        )

    def register(self, url: str, *events: str) -> dict[str, Any]:
        registered: dict[str, Any] = self.ask("POST", "/api/webhooks", {"url": url, "events": events}, expect=201)
        return registered
