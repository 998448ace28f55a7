"""Examples of overdue alerts for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.alerts.examples import ALERT
from clearhold.api.policies.examples import POLICY

OVERDUE: Final[dict[str, Any]] = {
    "asOf": "2026-03-06T09:00:00.000Z",
    "policy": POLICY["body"],
    "count": 1,
    "alerts": [
        {name: ALERT[name] for name in ("id", "programId", "detector", "severity", "status", "route", "slaTier")}
        | {name: ALERT[name] for name in ("openedAt", "dueAt", "escalatedAt", "summary", "fromHistory")}
    ],
}
