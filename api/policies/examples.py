"""Examples of policies for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import TENANT_ID

POLICY: Final[dict[str, Any]] = {
    "id": "b2e7c5d1-0f3a-5e8b-9d4c-6a1f2e7b8c11",
    "tenantId": TENANT_ID,
    "programId": None,
    "version": "clock-v1",
    "body": {"autoHours": 1, "standardHours": 24, "complexHours": 72, "appealHours": 72},
    "active": True,
    "createdAt": "2026-01-05T09:00:00.000Z",
}
NEW_POLICY: Final[dict[str, Any]] = {
    "version": "clock-v2",
    "programId": None,
    "body": {"autoHours": 1, "standardHours": 8, "complexHours": 48, "appealHours": 48},
}
ACTIVATION: Final = {"note": "The board wants standard alerts decided within a working day."}
