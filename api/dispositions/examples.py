"""Examples of dispositions for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import TENANT_ID

ALERT_ID: Final = "7d0f6f6e-4a0a-5d5e-9c1b-0e5b8a2f4c11"

DISPOSITION: Final[dict[str, Any]] = {
    "id": "3c8e1b7a-2f4d-4a6c-9e5b-7d1f0a8c6e11",
    "tenantId": TENANT_ID,
    "alertId": ALERT_ID,
    "decidedBy": "operator:ann",
    "identity": "person",
    "decision": "close",
    "narrative": "Three payments of one semi-monthly run to known counterparties.",
    "narrativeModel": None,
    "recommendation": "escalate",
    "confidence": None,
    "policyVersion": "policy-v1",
    "overturnsDraft": True,
    "prevHash": None,
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "createdAt": "2026-03-02T16:20:00.000Z",
    "actionId": None,
    "warnings": [],
}
