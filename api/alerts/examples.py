"""Examples of alerts for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.actions.examples import ACTION
from clearhold.api.dispositions.examples import ALERT_ID, DISPOSITION
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.api.transfers.examples import REASON, STRUCTURING_REASON, TRANSFER

ALERT: Final[dict[str, Any]] = {
    "id": ALERT_ID,
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
        "scoreReasons": [STRUCTURING_REASON, REASON],
        "transferIds": ["acht_2zExample0001"],
        "restsOn": ["acht_2zExample0001"],
        "restsOnCount": 1,
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
    "fromHistory": False,
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
ALERT_DETAIL: Final[dict[str, Any]] = {
    "alert": ALERT,
    "transfer": TRANSFER,
    "reasons": [STRUCTURING_REASON, REASON],
    "draft": {
        "narrative": f"Recommended: escalate for review. Alert {ALERT['id']} of detector structuring_pattern, severity "
        "high, not a hard signal, opened at 2026-03-02T15:04:05.120Z and routed to a person (always reviewed).",
        "recommendation": "escalate",
        "confidence": None,
        "narrativeModel": None,
    },
    "dispositions": [DISPOSITION],
    "actions": [ACTION],
}
DECISION_REQUEST: Final = {"decision": "close", "narrative": DISPOSITION["narrative"]}
