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
STRUCTURING_REASON: Final[dict[str, Any]] = {
    "id": "TRS-AMT-01",
    "signal": "structuring_pattern",
    "weight": 30,
    "hard": False,
    "sentence": "3 transfers in 24 h and 3 in 7 days lie between 80 % and 100 % of one reporting threshold.",
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
        "featureVersion": "1",
        "features": {"counterparty.firstTime": True},
        "reasons": [STRUCTURING_REASON, REASON],
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
ALERT: Final[dict[str, Any]] = {
    "id": "7d0f6f6e-4a0a-5d5e-9c1b-0e5b8a2f4c11",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "detector": "structuring_pattern",
    "severity": "high",
    "subjectType": "entity",
    "subjectId": "enti_2zExample0001",
    "transferId": "acht_2zExample0001",
    "summary": f"structuring_pattern on entity enti_2zExample0001: {STRUCTURING_REASON['sentence']}",
    "evidence": {
        "routeReason": "always_reviewed",
        "autoHold": False,
        "finding": STRUCTURING_REASON["sentence"],
        "reasons": [STRUCTURING_REASON],
        "transferIds": ["acht_2zExample0001"],
        "hits": 1,
    },
    "scoreAtAlert": 35,
    "bandAtAlert": "review",
    "hardSignal": False,
    "status": "open",
    "route": "reviewed",
    "policyVersion": "policy-v1",
    "openedAt": "2026-03-02T15:04:05.120Z",
    "closedAt": None,
    "dedupeKey": "structuring_pattern:entity:enti_2zExample0001:2026-03-02T15:04:05.000Z",
    "dueAt": "2026-03-05T15:04:05.120Z",
    "escalatedAt": None,
    "slaTier": "complex",
}
APPEAL_REQUEST: Final = {"reason": "The program says that the recipients are new."}
APPEALED: Final = ALERT | {
    "id": "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11",
    "summary": f"Appeal of alert {ALERT['id']}: structuring_pattern on entity enti_2zExample0001.",
    "evidence": {
        "routeReason": "appeal",
        "autoHold": False,
        "transferIds": ["acht_2zExample0001"],
        "policyVersion": "policy-v1",
        "clockVersion": "clock-v1",
        "appeal": {
            "alertId": ALERT["id"],
            "status": "closed",
            "reason": APPEAL_REQUEST["reason"],
            "by": "operator:bob",
        },
    },
    "openedAt": "2026-03-04T09:30:00.000Z",
    "dedupeKey": f"appeal:{ALERT['id']}",
    "dueAt": "2026-03-07T09:30:00.000Z",
    "slaTier": "appeal",
}
DISPOSITION: Final[dict[str, Any]] = {
    "id": "3c8e1b7a-2f4d-4a6c-9e5b-7d1f0a8c6e11",
    "tenantId": TENANT_ID,
    "alertId": ALERT["id"],
    "decidedBy": "operator:ann",
    "decision": "close",
    "narrative": "Three payments of one semi-monthly run to counterparties with a history of their own.",
    "narrativeModel": None,
    "recommendation": "escalate",
    "confidence": None,
    "policyVersion": "policy-v1",
    "overturnsDraft": True,
    "prevHash": None,
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "createdAt": "2026-03-02T16:20:00.000Z",
}
ALERT_DETAIL: Final[dict[str, Any]] = {
    "alert": ALERT,
    "transfer": TRANSFER,
    "reasons": [STRUCTURING_REASON],
    "draft": {
        "narrative": f"Recommended: escalate for review. Alert {ALERT['id']} of detector structuring_pattern, severity "
        "high, not a hard signal, opened at 2026-03-02T15:04:05.120Z and routed to a person (always reviewed).",
        "recommendation": "escalate",
        "confidence": None,
        "narrativeModel": None,
    },
    "dispositions": [DISPOSITION],
    "actions": [],
}
DECISION_REQUEST: Final = {"decision": "close", "narrative": DISPOSITION["narrative"]}
OVERDUE: Final[dict[str, Any]] = {
    "asOf": "2026-03-06T09:00:00.000Z",
    "policy": {"autoHours": 1, "standardHours": 24, "complexHours": 72, "appealHours": 72},
    "count": 1,
    "alerts": [
        {name: ALERT[name] for name in ("id", "programId", "detector", "severity", "status", "route", "slaTier")}
        | {name: ALERT[name] for name in ("openedAt", "dueAt", "escalatedAt", "summary")}
    ],
}
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
POLICY: Final[dict[str, Any]] = {
    "id": "b2e7c5d1-0f3a-5e8b-9d4c-6a1f2e7b8c11",
    "tenantId": TENANT_ID,
    "programId": None,
    "version": "clock-v1",
    "body": OVERDUE["policy"],
    "active": True,
    "createdAt": "2026-01-05T09:00:00.000Z",
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
