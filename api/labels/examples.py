"""Examples of labels for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID

LABEL: Final[dict[str, Any]] = {
    "id": "6b1d4f0e-9a2c-4c7e-8b5d-1e3f7a0c9d11",
    "transferId": "acht_2zExample0001",
    "programId": PROGRAM_ID,
    "label": "bad",
    "reason": "The payer disputes that it authorized this.",
    "source": "person",
    "recordedBy": "ann",
    "createdAt": "2026-03-20T10:00:00.000Z",
}
NEW_LABEL: Final = {name: LABEL[name] for name in ("transferId", "label", "reason", "programId")}
