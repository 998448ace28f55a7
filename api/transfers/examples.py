"""Examples of transfers and of the reasons of their scores for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.features.scorers.trs_v1.scorer import DEFAULT

REASON: Final[dict[str, Any]] = {
    "id": "TRS-CPY-01",
    "signal": "first_time_counterparty",
    "weight": 5,
    "hard": False,
    "sentence": "First transfer with this counterparty on the program.",
}
STRUCTURING_REASON: Final[dict[str, Any]] = {
    "id": "TRS-AMT-01",
    "signal": "structuring_pattern",
    "weight": 30,
    "hard": False,
    "sentence": "3 transfers in 24 h and 3 in 7 days lie between 80 % and 100 % of one reporting threshold.",
}
TRANSFER_SUMMARY: Final[dict[str, Any]] = {
    "id": "acht_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "rail": "ach",
    "direction": "outgoing",
    "type": "CREDIT",
    "amountCents": "285000",
    "currency": "USD",
    "status": "SETTLED",
    "entityId": "enti_2zExample0001",
    "accountId": "bacc_2zExample0001",
    "counterpartyId": "cpty_2zExample0001",
    "counterpartyCountry": "US",
    "secCode": "PPD",
    "returnCode": None,
    "returnedAt": None,
    "effectiveAt": "2026-03-03T00:00:00.000Z",
    "bankCreatedAt": "2026-03-02T15:04:05.000Z",
    "score": 35,
    "scoreBand": "review",
    "scoreVersion": "trs-v1",
    "scoreN": 42,
    "scoreConfidence": 0.84,
    "scoreInputs": {
        "card": {"version": "trs-v1", "sha256": DEFAULT.sha256},
        "featureVersion": "1",
        "features": {"counterparty.firstTime": True},
        "reasons": [STRUCTURING_REASON, REASON],
        "degraded": False,
    },
    "scoredAt": "2026-03-02T15:04:05.120Z",
    "updatedAt": "2026-03-03T06:00:00.000Z",
    "usdRate": None,
    "alertIds": [],
}
TRANSFER: Final = TRANSFER_SUMMARY | {"raw": {"id": "acht_2zExample0001", "status": "SETTLED"}}
