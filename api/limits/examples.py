"""Examples of caps for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.actions.schemas import ACTION
from clearhold.api.programs.examples import PROGRAM_ID

_NOTE: Final = "The pilot is over; agreed with the program on 1 March."
NEW_LIMIT: Final[dict[str, Any]] = {"kind": "ach_debit_daily", "capCents": "25000000", "note": _NOTE}
LIMIT_ACTION: Final[dict[str, Any]] = ACTION | {
    "alertId": None,
    "type": "set_limit",
    "targetType": "program",
    "targetId": PROGRAM_ID,
    "status": "requested",
    "bankResponse": None,
    "executedAt": None,
    "limit": {"kind": "ach_debit_daily", "from": "10000000", "to": "25000000"},
}
_NO_CAP: Final[dict[str, Any]] = dict.fromkeys(
    ("capCents", "capCount", "version", "requestedBy", "approvedBy", "since", "note")
)
LIMITS: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "asOf": "2026-03-02T15:04:05.000Z",
    "limits": [
        {
            "kind": "ach_debit_daily",
            "capCents": "10000000",
            "capCount": None,
            "version": "limits-v1",
            "requestedBy": "ann",
            "approvedBy": "bob",
            "since": "2026-01-05T09:30:00.000Z",
            "observed": "4210000",
            "n": 37,
            "note": "For the pilot.",
        },
        _NO_CAP | {"kind": "ach_debit_monthly", "observed": "4210000", "n": 37},
        _NO_CAP | {"kind": "per_transaction", "observed": "980000", "n": 52},
        _NO_CAP | {"kind": "entity_daily", "observed": "1150000", "n": 3},
        _NO_CAP | {"kind": "entity_velocity_24h", "observed": 7, "n": 7},
    ],
    "pending": [
        {
            "actionId": LIMIT_ACTION["id"],
            "kind": "ach_debit_daily",
            "capCents": "25000000",
            "capCount": None,
            "requestedBy": "ann",
            "note": _NOTE,
            "createdAt": "2026-03-02T15:00:00.000Z",
        }
    ],
}
CHANGED_LIMIT: Final[dict[str, Any]] = {
    "kind": "ach_debit_daily",
    "from": None,
    "to": "10000000",
    "version": "limits-v1",
    "requestedBy": "ann",
    "approvedBy": "bob",
    "note": "For the pilot.",
    "at": "2026-01-05T09:30:00.000Z",
    "actionId": "2f6a4f7e-1f0d-4f0b-8a38-0d3f4a6b9c55",
}
