"""Examples for the OpenAPI document, of things that do not exist."""

from typing import Any, Final

PROGRAM_ID: Final = "0b9f6f0e-3f0a-4a43-8f2f-5a4f3d0c7a10"
TENANT_ID: Final = "c2a5a1de-52a5-4c53-9b7e-0d5c8a3f6e21"

REASON: Final[dict[str, Any]] = {
    "id": "TRS-CPY-01",
    "signal": "first_time_counterparty",
    "weight": 5,
    "hard": False,
    "sentence": "First transfer with this counterparty on the program.",
}
PROGRAM: Final[dict[str, Any]] = {
    "id": PROGRAM_ID,
    "tenantId": TENANT_ID,
    "slug": "payroll",
    "name": "Example Payroll",
    "webhookEndpointId": None,
    "declaredMonthlyVolumeCents": "250000000",
    "declaredRails": ["ach", "wire"],
    "declaredCountries": ["US"],
    "programReserveAccountId": None,
    "source": "bank",
    "createdAt": "2026-01-05T09:00:00.000Z",
}
TRANSFER_SUMMARY: Final[dict[str, Any]] = {
    "id": "acht_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "rail": "ach",
    "direction": "outgoing",
    "type": "CREDIT",
    "amountCents": "125000",
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
        "featureVersion": "1",
        "features": {"counterparty.firstTime": True},
        "reasons": [REASON],
        "degraded": False,
    },
    "scoredAt": "2026-03-02T15:04:05.120Z",
    "updatedAt": "2026-03-03T06:00:00.000Z",
}
TRANSFER: Final = TRANSFER_SUMMARY | {"raw": {"id": "acht_2zExample0001", "status": "SETTLED"}}
TRANSFER_PAGE: Final[dict[str, Any]] = {"data": [TRANSFER_SUMMARY], "hasMore": False, "nextCursor": None}
PREFLIGHT_REQUEST: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "idempotencyKey": "payout-2026-03-02-0001",
    "transfer": {
        "rail": "ach",
        "direction": "outgoing",
        "type": "CREDIT",
        "amountCents": "125000",
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
    "reasons": [REASON],
    "limitsHit": [],
    "degraded": False,
    "degradedReasons": [],
    "latencyMs": 1,
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
