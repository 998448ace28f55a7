"""An event that had no effect, and its correction under the same id."""

from typing import Any, Final

_WRONG: Final = {
    "receivedAt": "2026-03-05T17:10:03.412Z",
    "result": "unusable",
    "reason": "data.amount must be whole cents, as an integer such as 985000 or the same as a string of digits.",
    "path": "data.amount",
    "corrects": False,
}
_RIGHT: Final = {
    "receivedAt": "2026-03-05T17:24:41.020Z",
    "result": "applied",
    "reason": None,
    "path": None,
    "corrects": True,
}
EVENT_SUMMARY: Final[dict[str, Any]] = {
    **_RIGHT,
    "id": "evnt_2zA0005",
    "tenantId": "5f2b6f6e-0f0f-4f2e-9b42-6c0f3a7e1d10",
    "programId": "0d4c9d1e-7c55-4b0b-8a6e-2f6d5f1c9b21",
    "type": "wire.outgoing_transfer.initiated",
    "createdAt": "2026-03-05T17:10:03.000Z",
    "subject": {"type": "transfer", "id": "wire_2zOut01"},
}
EVENT: Final[dict[str, Any]] = {
    **EVENT_SUMMARY,
    "alertIds": ["3b1f7c52-6a0e-5d0a-9f33-1d2c7b9e4a55"],
    "preflightId": None,
    "deliveries": [_RIGHT, _WRONG],
}
