"""Examples of API keys for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID

KEY: Final[dict[str, Any]] = {
    "id": "5f0c2d1e-6c4e-4a7b-9a53-0d5f3a1f8a11",
    "name": "payroll originations",
    "mode": "live",
    "prefix": "live_7Hq2mXc",
    "programId": PROGRAM_ID,
    "scopes": ["preflight"],
    "lastUsedAt": None,
    "revokedAt": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}
NEW_KEY: Final = {"name": "payroll originations", "mode": "live", "programId": PROGRAM_ID, "scopes": ["preflight"]}
