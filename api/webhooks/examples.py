"""Examples of webhooks for the OpenAPI document, and one payload of each event; none of them exists."""

from typing import Any, Final

import msgspec

from clearhold.api.actions.schemas import APPROVED_ACTION
from clearhold.api.dispositions.routes import ALERT_ID, DISPOSITION
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.api.transfers.examples import TRANSFER_SUMMARY
from clearhold.api.webhooks.schemas import WebhookPayload, to_payload
from clearhold.features.catalogue.kris import KriName, KriStatus, KriUnit, KriValue
from clearhold.features.core.canonical import WEBHOOK_EVENT_IDS
from clearhold.features.core.instants import parse_instant
from clearhold.features.webhooks.payloads import (
    ActionApproved,
    ActionCreated,
    AlertOpened,
    Data,
    DispositionSigned,
    EventType,
    KriSnapshotTaken,
    LabelRecorded,
    Ping,
    PreflightScored,
    TransferScored,
    WebhookEvent,
)
from clearhold.features.webhooks.row_events import body_of

ENDPOINT_ID: Final = "7d1f2a90-43c8-4f4e-9f3d-6a1b2c3d4e5f"
_AT: Final = "2026-03-02T15:04:05.000Z"
_TRANSFER: Final = TRANSFER_SUMMARY | {
    "transferId": TRANSFER_SUMMARY["id"],
    "band": TRANSFER_SUMMARY["scoreBand"],
    "version": TRANSFER_SUMMARY["scoreVersion"],
    "n": TRANSFER_SUMMARY["scoreN"],
    "confidence": TRANSFER_SUMMARY["scoreConfidence"],
}
_PREFLIGHT: Final = _TRANSFER | {
    "preflightId": "91a0b6c4-2d3e-5f40-8a51-6b7c8d9e0f12",
    "decision": "review",
    "limitsHit": ["per_transaction"],
    "degraded": False,
    "createdAt": _AT,
}
_DISPOSITION: Final = DISPOSITION | {"dispositionId": DISPOSITION["id"], "decidedByKind": "person"}
_ACTION: Final = APPROVED_ACTION | {"actionId": APPROVED_ACTION["id"], "status": "requested"}

_DATA: Final[dict[EventType, Data]] = {
    EventType.ALERT_OPENED: AlertOpened(
        alert_id=ALERT_ID,
        detector="structuring_pattern",
        severity="high",
        subject_type="entity",
        subject_id="enti_2zExample0001",
        transfer_id="acht_2zExample0001",
        score_at_alert=35,
        band_at_alert="review",
        hard_signal=False,
        status="open",
        route="reviewed",
        sla_tier="complex",
        policy_version="policy-v1",
        opened_at=_AT,
        due_at="2026-03-05T15:04:05.000Z",
        appeal_of=None,
        from_history=False,
    ),
    EventType.DISPOSITION_SIGNED: msgspec.convert(_DISPOSITION, DispositionSigned),
    EventType.ACTION_CREATED: msgspec.convert(_ACTION, ActionCreated),
    EventType.ACTION_APPROVED: msgspec.convert(
        _ACTION | {"status": "approved", "approvedAt": "2026-03-02T16:00:00.000Z"}, ActionApproved
    ),
    EventType.PREFLIGHT_SCORED: msgspec.convert(_PREFLIGHT, PreflightScored),
    EventType.TRANSFER_SCORED: msgspec.convert(_TRANSFER, TransferScored),
    EventType.LABEL_RECORDED: LabelRecorded(
        label_id="6b1d4f0e-9a2c-4c7e-8b5d-1e3f7a0c9d11",
        transfer_id="acht_2zExample0001",
        label="bad",
        source="person",
        created_at=_AT,
    ),
    EventType.KRI_SNAPSHOT: KriSnapshotTaken(
        snapshot_id="0a9b8c7d-6e5f-5a4b-9c3d-2e1f0a9b8c7d",
        cause="scheduled",
        as_of=_AT,
        window_days=60,
        program_score=22,
        program_score_n=4,
        program_score_version="prs-v1",
        band="clear",
        kris={
            KriName.ACH_UNAUTHORIZED_RETURN_RATE: KriValue(
                value=0.0031, n=1280, unit=KriUnit.RATIO, threshold=0.005, status=KriStatus.WATCH
            )
        },
    ),
    EventType.PING: Ping(endpoint_id=ENDPOINT_ID),
}


def _example(event: EventType, data: Data) -> WebhookPayload:
    at = parse_instant(_AT)
    assert at is not None, "the example's instant is one"
    cause = WEBHOOK_EVENT_IDS.id_of(f"{event}/example")
    event_of_type = WebhookEvent(
        id=cause, type=event, tenant_id=TENANT_ID, program_id=PROGRAM_ID, created_at=at, data=data
    )
    return to_payload(body_of(event_of_type, "first-bank"))


EXAMPLES: Final[dict[str, WebhookPayload]] = {event.value: _example(event, data) for event, data in _DATA.items()}


NEW_WEBHOOK: Final = {
    "url": "https://hooks.bank.example/clearhold",
    "events": ["alert.opened", "action.approved"],
    "programId": PROGRAM_ID,
    "description": "Case management",
}
SECRET: Final = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="  # noqa: S105 - of an example
CREATED: Final = {
    "id": ENDPOINT_ID,
    "url": NEW_WEBHOOK["url"],
    "events": NEW_WEBHOOK["events"],
    "secret": SECRET,
}
ENDPOINT: Final[dict[str, Any]] = NEW_WEBHOOK | {
    "id": ENDPOINT_ID,
    "enabled": True,
    "createdBy": "ann",
    "createdAt": "2026-03-02T15:00:00.000Z",
}
EVENTS: Final[dict[str, Any]] = {
    "events": list(EXAMPLES),
    "examples": msgspec.to_builtins(EXAMPLES),
}
DELIVERY: Final[dict[str, Any]] = {
    "id": "c1d2e3f4-0516-5728-9394-a5b6c7d8e9f0",
    "endpointId": ENDPOINT_ID,
    "event": EventType.ALERT_OPENED.value,
    "eventId": EXAMPLES[EventType.ALERT_OPENED].id,
    "payload": msgspec.to_builtins(EXAMPLES[EventType.ALERT_OPENED]),
    "status": "failed",
    "attempts": 1,
    "nextAttemptAt": "2026-03-02T15:06:06.000Z",
    "lastStatusCode": 503,
    "lastError": "http_status",
    "deliveredAt": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}
