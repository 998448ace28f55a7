"""One payload of each event, made by what makes real ones; nothing in them exists."""

from typing import Final

from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.api.webhooks.schemas import WebhookPayload, to_payload
from clearhold.features.core.entries.kris import KriName, KriStatus, KriUnit, KriValue
from clearhold.features.core.ids import WEBHOOK_EVENT_IDS
from clearhold.features.core.instants import parse_instant
from clearhold.features.webhooks.event_types import EventType
from clearhold.features.webhooks.payloads import (
    ActionApproved,
    ActionCreated,
    AlertOpened,
    Data,
    DispositionSigned,
    KriSnapshotTaken,
    LabelRecorded,
    Ping,
    PreflightScored,
    TransferScored,
    WebhookEvent,
)
from clearhold.features.webhooks.row_events import body_of

ENDPOINT_ID: Final = "7d1f2a90-43c8-4f4e-9f3d-6a1b2c3d4e5f"
_ALERT_ID: Final = "8b5a7292-935c-5449-9007-d3908c04fe62"
_ACTION_ID: Final = "f5f0f6f2-0a57-4d0a-8a8e-9b3c1d2e4f60"
_AT: Final = "2026-03-02T15:04:05.000Z"

_DATA: Final[dict[EventType, Data]] = {
    EventType.ALERT_OPENED: AlertOpened(
        alert_id=_ALERT_ID,
        detector="velocity_spike",
        severity="medium",
        subject_type="entity",
        subject_id="enti_2zExample0001",
        transfer_id="acht_2zExample0001",
        score_at_alert=58,
        band_at_alert="review",
        hard_signal=False,
        status="open",
        route="reviewed",
        sla_tier="standard",
        policy_version="policy-v1",
        opened_at=_AT,
        due_at="2026-03-03T15:04:05.000Z",
        appeal_of=None,
        from_history=False,
    ),
    EventType.DISPOSITION_SIGNED: DispositionSigned(
        disposition_id="2c0e1b5a-7f3d-4c52-8a4b-1d2e3f405162",
        alert_id=_ALERT_ID,
        decision="close",
        decided_by_kind="person",
        policy_version="policy-v1",
        overturns_draft=False,
        created_at=_AT,
    ),
    EventType.ACTION_CREATED: ActionCreated(
        action_id=_ACTION_ID,
        type="freeze_account",
        target_type="account",
        target_id="bacc_2zExample0001",
        alert_id=_ALERT_ID,
        status="requested",
        created_at=_AT,
    ),
    EventType.ACTION_APPROVED: ActionApproved(
        action_id=_ACTION_ID,
        type="freeze_account",
        target_type="account",
        target_id="bacc_2zExample0001",
        alert_id=_ALERT_ID,
        status="approved",
        created_at=_AT,
        approved_at=_AT,
    ),
    EventType.PREFLIGHT_SCORED: PreflightScored(
        preflight_id="91a0b6c4-2d3e-5f40-8a51-6b7c8d9e0f12",
        decision="review",
        score=41,
        band="review",
        version="trs-v1",
        n=212,
        confidence=0.91,
        rail="ach",
        direction="outgoing",
        type="CREDIT",
        amount_cents="985000",
        currency="USD",
        entity_id="enti_2zExample0001",
        counterparty_id="cpty_2zExample0001",
        limits_hit=("per_transaction",),
        degraded=False,
        created_at=_AT,
    ),
    EventType.TRANSFER_SCORED: TransferScored(
        transfer_id="acht_2zExample0001",
        rail="ach",
        direction="outgoing",
        type="CREDIT",
        amount_cents="985000",
        currency="USD",
        status="SUBMITTED",
        entity_id="enti_2zExample0001",
        counterparty_id="cpty_2zExample0001",
        return_code=None,
        score=58,
        band="review",
        version="trs-v1",
        n=213,
        confidence=0.91,
        bank_created_at=_AT,
        scored_at=_AT,
    ),
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
