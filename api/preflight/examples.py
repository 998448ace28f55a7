"""Examples of pre-flights for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.api.transfers.examples import REASON, STRUCTURING_REASON

PREFLIGHT_REQUEST: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "idempotencyKey": "payout-2026-03-02-0001",
    "transfer": {
        "rail": "ach",
        "direction": "outgoing",
        "type": "CREDIT",
        "amountCents": "285000",
        "entityId": "enti_2zExample0001",
        "counterparty": {"name": "Example Supply Co", "routingNumber": "021000021", "accountLast4": "6789"},
    },
}
PREFLIGHT: Final[dict[str, Any]] = {
    "preflightId": "0f7d5c1a-5e0b-5b0c-9a66-2d8a1c0c7e11",
    "decision": "review",
    "score": 35,
    "band": "review",
    "version": "trs-v1",
    "n": 42,
    "confidence": 0.84,
    "reasons": [STRUCTURING_REASON, REASON],
    "limitsHit": [],
    "degraded": False,
    "degradedReasons": [],
    "latencyMs": 2,
    "scoringUs": 210,
    "idempotent": True,
    "programId": PROGRAM_ID,
}
PREFLIGHT_DETAIL: Final = PREFLIGHT | {
    "request": PREFLIGHT_REQUEST
    | {
        "operator": "ann",
        "resolved": {"entityId": "enti_2zExample0001", "counterpartyId": None, "counterpartyCountry": None},
    },
    "matchedTransferId": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}
PREFLIGHT_STATS: Final[dict[str, Any]] = {
    "windowDays": 30,
    "count": 4210,
    "byDecision": {"clear": 4012, "review": 161, "hold": 37},
    "latencyMs": {"p50": 2.0, "p90": 4.0, "n": 4210},
    "matched": {"value": 0.9437, "n": 4210},
    "degraded": {"value": 0.0119, "n": 4210},
    "graded": {
        "n": 58,
        "holdAndBad": 19,
        "holdAndOk": 6,
        "notHoldAndBad": 4,
        "notHoldAndOk": 29,
        "holdPrecision": 0.76,
        "holdRecall": 0.8261,
    },
}
