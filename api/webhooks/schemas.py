"""Endpoints and deliveries over HTTP. A secret is shown once, when it is made."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from clearhold.api.http.fields import URL
from clearhold.features.core.instants import format_instant
from clearhold.features.core.program import Simulated
from clearhold.features.webhooks.delivery import AttemptError, DeliveryStatus
from clearhold.features.webhooks.event_types import SUBSCRIBABLE, EventType
from clearhold.store.control.webhooks import Endpoint
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


class NewWebhook(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Without ``events`` it hears of every event, without ``programId`` of every program of the tenant."""

    url: UrlText
    events: Events = ()
    program_id: UUID | None = None
    description: Description | None = None


class WebhookChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is left out stays as it is; null empties the description."""

    enabled: bool | UnsetType = UNSET
    url: UrlText | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET


class WebhookRotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``overlapHours`` is how long the replaced secret signs beside the new one."""

    overlap_hours: OverlapHours = DEFAULT_OVERLAP_HOURS


class DeliveriesQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``before`` is the last delivery of a page: the next page begins behind it."""

    limit: DeliveryLimit = DEFAULT_DELIVERIES
    before: UUID | None = None


class WebhookCreated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    url: str
    events: tuple[EventType, ...]
    secret: str


class WebhookSecret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    secret: str


class WebhookEndpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """No secret of it is ever shown again."""

    id: str
    program_id: str | None
    url: str
    events: tuple[EventType, ...]
    enabled: bool
    description: str | None
    created_by: str
    created_at: str


class WebhookPayload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was sent; ``data`` is as the event's type has it."""

    id: str
    type: EventType
    created_at: str
    tenant: str
    program: str | None
    data: dict[str, Any]


class WebhookDelivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event on its way to one endpoint. The payload's bytes never change between attempts."""

    id: str
    endpoint_id: str
    event: EventType
    event_id: str
    payload: WebhookPayload
    status: DeliveryStatus
    attempts: int
    next_attempt_at: str
    last_status_code: int | None
    last_error: AttemptError | None
    delivered_at: str | None
    created_at: str
    simulated: Simulated = msgspec.UNSET


class WebhookEvents(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names of all events, with one payload of each."""

    events: tuple[EventType, ...]
    examples: dict[str, WebhookPayload]


_PAYLOAD: Final = msgspec.json.Decoder(WebhookPayload)


def to_payload(body: bytes | str) -> WebhookPayload:
    return _PAYLOAD.decode(body)


def to_created(endpoint: Endpoint) -> WebhookCreated:
    return WebhookCreated(id=endpoint.id, url=endpoint.url, events=endpoint.events, secret=endpoint.secrets[0].value)


def to_endpoint(endpoint: Endpoint) -> WebhookEndpoint:
    return WebhookEndpoint(
        id=endpoint.id,
        program_id=endpoint.program_id,
        url=endpoint.url,
        events=endpoint.events,
        enabled=endpoint.enabled,
        description=endpoint.description,
        created_by=endpoint.created_by,
        created_at=endpoint.created_at,
    )


def to_delivery(stored: StoredDelivery) -> WebhookDelivery:
    row, state = stored.row, stored.state
    return WebhookDelivery(
        id=row.id,
        endpoint_id=row.endpoint_id,
        event=EventType(row.event),
        event_id=row.event_id,
        payload=to_payload(row.body),
        status=state.status,
        attempts=state.attempts,
        next_attempt_at=format_instant(state.next_attempt_at),
        last_status_code=state.last_status_code,
        last_error=state.last_error,
        delivered_at=None if state.delivered_at is None else format_instant(state.delivered_at),
        created_at=format_instant(row.created_at),
    )
