"""Examples of agents for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID

ENTITY_ID: Final = "agent:8453:0x8004a169fb4a3325136eb29fa0ceb6d2e539a432:22"
AGENT: Final[dict[str, Any]] = {
    "entityId": ENTITY_ID,
    "name": "Quote Bot",
    "chainId": 8453,
    "agentId": "22",
    "address": "0x00000000000000000000000000000000000a6e27",
    "verificationStatus": "UNVERIFIED",
    "screeningStatus": "clear",
    "lastScreenedAt": "2026-03-01T00:00:00.000Z",
    "settlements": 412,
    "volumeCents": "103020",
    "score": 12,
    "bandName": "clear",
    "n": 412,
    "confidence": 0.95,
    "version": "ars-v1",
}
IMPORT: Final[dict[str, Any]] = {"full": True}
RESULT: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "agents": 3,
    "profiles": 3,
    "settlementsScanned": 412,
    "transfers": 12,
    "counterparties": 5,
    "agentCounterparties": 1,
}
STATE: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "stage": "done",
    "reading": None,
    "agents": 3,
    "profiles": 3,
    "settlementsScanned": 412,
    "skipped": {"unknown_asset": 2},
    "reason": None,
    "updatedAt": "2026-03-02T09:00:04.000Z",
}
