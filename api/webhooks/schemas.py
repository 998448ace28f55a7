"""Endpoints and deliveries over HTTP. A secret is shown once, when it is created."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from clearhold.api.http.fields import URL
from clearhold.api.lists.lists import instant_text, to_answer
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import about, minted
from clearhold.features.webhooks.delivery import AttemptError, DeliveryStatus
from clearhold.features.webhooks.payloads import SUBSCRIBABLE, EventType
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
