"""Rules brought into force in a running service, by the routes that a bank's people use."""

from typing import Any

import msgspec

from tests.support.running_service import RunningService


def bring_rules_into_force(
    service: RunningService, token: str, *, active: tuple[str, int], testing: tuple[str, int]
) -> None:
    """Over HTTP: a rule ``acts`` that opens alerts, and one that stays in testing; each a field and its least value."""
    headers = {"Authorization": f"Bearer {token}", "X-Operator": "ann", "Content-Type": "application/json"}

    def post(path: str, body: dict[str, Any], *, expect: int = 201) -> dict[str, Any]:
        return service.ask("POST", path, headers, msgspec.json.encode(body), expect=expect)

    for rule_id, (field, least) in (("acts", active), ("tries", testing)):
        when = [{"field": field, "op": "gte", "value": least}]
        post("/api/rules", {"id": rule_id, "name": rule_id, "when": when, "action": "alert", "severity": "low"})
        post(f"/api/rules/{rule_id}/backtest", {})
    action = post("/api/rules/acts/activate", {"note": "as agreed"})
    assert post(f"/api/actions/{action['id']}/approve", {"approverId": "ben"}, expect=200)["status"] == "executed"
