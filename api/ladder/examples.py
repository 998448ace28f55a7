"""Examples of the limit ladder for the OpenAPI document; none of them exists."""

from typing import Any, Final

import msgspec

from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.features.policy.seeds import LADDER_V1, LADDER_VERSION

_LADDER: Final[dict[str, Any]] = msgspec.to_builtins(LADDER_V1)
LADDER: Final[dict[str, Any]] = {"version": LADDER_VERSION, "ladder": _LADDER}
LIMIT_HIT: Final[dict[str, Any]] = {
    "limit": "counterparty.daily",
    "actor": "counterparty",
    "actorId": "cpty_2zExample0001",
    "band": "review",
    "cap": "5000000",
    "observed": "4800000",
    "proposed": "285000",
    "severity": "soft",
}
EVALUATION_REQUEST: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "transfer": {
        "rail": "wire",
        "direction": "outgoing",
        "amountCents": "285000",
        "entityId": "enti_2zExample0001",
        "counterpartyId": "cpty_2zExample0001",
    },
}
LIMIT_EVALUATION: Final[dict[str, Any]] = {
    "hits": [LIMIT_HIT],
    "hard": False,
    "bands": {"entity": "clear", "counterparty": "review"},
    "rescreen": {
        "entity": {
            "cadenceDays": 365,
            "lastScreenedAt": "2026-02-20T08:00:00.000Z",
            "dueAt": "2027-02-20T08:00:00.000Z",
            "overdue": False,
        },
        "counterparty": {"cadenceDays": 180, "lastScreenedAt": None, "dueAt": None, "overdue": None},
    },
    "ladder": _LADDER,
}
RESCREEN_DUE: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "entityId": "enti_2zExample0001",
    "band": "hold",
    "requiresScreening": True,
    "cadenceDays": 30,
    "lastScreenedAt": "2026-01-05T08:00:00.000Z",
    "dueAt": "2026-02-04T08:00:00.000Z",
}
