"""Endpoints and deliveries over HTTP. A secret is shown once, when it is created."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from clearhold.api.actions.schemas import APPROVED_ACTION
from clearhold.api.dispositions.routes import ALERT_ID, DISPOSITION
from clearhold.api.http.fields import URL
from clearhold.api.lists.lists import instant_text, to_answer
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.api.transfers.routes import TRANSFER_SUMMARY
from clearhold.features.catalogue.kris import KriName, KriStatus, KriUnit, KriValue
from clearhold.features.core.canonical import WEBHOOK_EVENT_IDS
from clearhold.features.core.instants import format_instant, written_instant
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import about, minted
from clearhold.features.webhooks.delivery import AttemptError, DeliveryStatus
from clearhold.features.webhooks.payloads import (
    SUBSCRIBABLE,
    ActionApproved,
    ActionCreated,
    AlertOpened,
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
from clearhold.store.duck.webhooks import StoredDelivery

DEFAULT_DELIVERIES: Final = 20
DEFAULT_OVERLAP_HOURS: Final = 24

SubscribableEvent = Literal[
    "alert.opened",
    "disposition.signed",
    "action.created",
    "action.approved",
    "preflight.scored",
    "transfer.scored",
    "label.recorded",
    "kri.snapshot",
]
Events = Annotated[
    tuple[SubscribableEvent, ...], msgspec.Meta(max_length=len(SUBSCRIBABLE), extra_json_schema={"uniqueItems": True})
]
UrlText = Annotated[str, msgspec.Meta(min_length=1, max_length=2_048, pattern=URL)]
Description = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
OverlapHours = Annotated[int, msgspec.Meta(ge=0, le=72)]
DeliveryLimit = Annotated[int, msgspec.Meta(ge=1, le=100)]


_PROGRAM_ID: Final = about("The one program whose events it takes; null: every program of the tenant.")
_DESCRIPTION: Final = about("What it is for, in your words; null when nothing was said.")
_SECRET: Final = about(
    "Signs every delivery: the whole text, whsec_ and all. Shown this once; null in the answer to a repeat."
)
_URL: Final = about(
    "Where events are sent: https, on port 443 or from 1024 on, at a public address. Beside what the "
    "pattern shows, a host outside ASCII and a public IP address are taken."
)


class NewWebhook(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Without ``events`` it gets every event, without ``programId`` those of all programs of the tenant."""

    url: Annotated[UrlText, _URL]
    events: Events = ()
    program_id: Annotated[UUID | None, _PROGRAM_ID] = None
    description: Annotated[Description | None, about("What it is for, in your words.")] = None


class WebhookChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Fields that are left out keep their value; null empties the description."""

    enabled: bool | UnsetType = UNSET
    url: Annotated[UrlText | UnsetType, _URL] = UNSET
    events: Events | UnsetType = UNSET
    description: Annotated[Description | UnsetType | None, _DESCRIPTION] = UNSET


class WebhookRotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``overlapHours`` is how long the replaced secret signs beside the new one."""

    overlap_hours: Annotated[OverlapHours, about("Hours that the replaced secret signs too.")] = DEFAULT_OVERLAP_HOURS


class DeliveriesQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``before`` is the last delivery of a page: the next page begins after it."""

    limit: DeliveryLimit = DEFAULT_DELIVERIES
    before: UUID | None = None


class WebhookCreated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, minted("endpoint")]
    url: str
    events: tuple[EventType, ...]
    secret: Annotated[str | None, _SECRET]


class WebhookSecret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, minted("endpoint")]
    secret: Annotated[str | None, _SECRET]


class WebhookEndpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """No secret of it is ever shown again."""

    id: Annotated[str, minted("endpoint")]
    program_id: Annotated[str | None, _PROGRAM_ID]
    url: str
    events: tuple[EventType, ...]
    enabled: bool
    description: Annotated[str | None, _DESCRIPTION]
    created_by: Annotated[str, about("Who registered it: the person of X-Operator, or a key.")]
    created_at: str


class WebhookPayload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A sent payload; the event's type sets the fields of ``data``."""

    id: Annotated[str, about("The event's id.")]
    type: Annotated[EventType, about("The name of the event.")]
    created_at: Annotated[str, about("When it happened.")]
    tenant: Annotated[str, about("The tenant's slug.")]
    program: Annotated[str | None, about("The program; null: the whole tenant.")]
    data: Annotated[dict[str, Any], about("Ids, words, scores and amounts of the event; each type has its fields.")]


class WebhookDelivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event for one endpoint. The payload's bytes never change between attempts."""

    id: Annotated[str, about("The delivery's id, which the header Score-Delivery has.")]
    endpoint_id: Annotated[str, about("The endpoint that it is for.")]
    event: Annotated[EventType, about("The name of the event; ping is sent by a test alone.")]
    event_id: Annotated[
        str, about("The event's id, the same to every endpoint and at every attempt: it shows repeats.")
    ]
    payload: Annotated[WebhookPayload, about("The payload, word for word.")]
    status: Annotated[DeliveryStatus, about("pending and failed are attempted at nextAttemptAt; exhausted are not.")]
    attempts: Annotated[int, about("How many attempts there were.")]
    next_attempt_at: Annotated[str, about("When the next attempt is due, or the last one was.")]
    last_status_code: Annotated[int | None, about("The status of the receiver's last answer; null without one.")]
    last_error: Annotated[AttemptError | None, about("Why the last attempt failed; null when it did not.")]
    delivered_at: Annotated[str | None, about("When the receiver accepted it; null until then.")]
    created_at: str
    simulated: Simulated = msgspec.UNSET


class WebhookEvents(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names of all events, with one payload of each."""

    events: Annotated[tuple[EventType, ...], about("The names of all events.")]
    examples: Annotated[dict[str, WebhookPayload], about("One payload of each event, by its name.")]


_PAYLOAD: Final = msgspec.json.Decoder(WebhookPayload)


def to_payload(body: bytes | str) -> WebhookPayload:
    return _PAYLOAD.decode(body)


def to_delivery(stored: StoredDelivery) -> WebhookDelivery:
    row, state = stored.row, stored.state
    return to_answer(
        row,
        WebhookDelivery,
        payload=to_payload(row.body),
        status=state.status,
        attempts=state.attempts,
        next_attempt_at=format_instant(state.next_attempt_at),
        last_status_code=state.last_status_code,
        last_error=state.last_error,
        delivered_at=instant_text(state.delivered_at),
    )


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

_DATA: Final[dict[EventType, msgspec.Struct]] = {
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


def _example(event: EventType, data: msgspec.Struct) -> WebhookPayload:
    cause = WEBHOOK_EVENT_IDS.id_of(f"{event}/example")
    event_of_type = WebhookEvent(
        id=cause, type=event, tenant_id=TENANT_ID, program_id=PROGRAM_ID, created_at=written_instant(_AT), data=data
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
