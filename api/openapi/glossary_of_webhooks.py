"""The words of webhooks, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

_ID: Final = "The endpoint's id, minted here."
_URL: Final = (
    "Where events are sent: https, on port 443 or from 1024 on, at a public address. Beside what the pattern shows, "
    "a host outside ASCII and a public IP address are taken."
)
_EVENTS: Final = "The events that it takes; empty: every event."
_PROGRAM: Final = "The one program whose events it takes; null: every program of the tenant."
_DESCRIPTION: Final = "What it is for, in your words; null when nothing was said."
_SECRET: Final = "Signs every delivery: the whole text, whsec_ and all. Shown this once."  # noqa: S105 - about one

WEBHOOK_PROPERTIES: Final[Mapping[str, str]] = {
    "url": "Where events are sent: https, on port 443 or from 1024 on, at a public address. Nothing is sent to "
    "https://listen.invalid/: its deliveries are there to be read.",
    "NewWebhook.url": _URL,
    "WebhookChange.url": _URL,
    "events": _EVENTS,
    "WebhookEvents.events": "The names of all events.",
    "examples": "One payload of each event, by its name.",
    "enabled": "Whether events are delivered to it; while they are not, what is not delivered waits.",
    "createdBy": "Who registered it: the person of X-Operator, or a key.",
    "NewWebhook.description": "What it is for, in your words.",
    "WebhookChange.description": _DESCRIPTION,
    "WebhookEndpoint.description": _DESCRIPTION,
    "NewWebhook.programId": _PROGRAM,
    "WebhookEndpoint.programId": _PROGRAM,
    "WebhookEndpoint.id": _ID,
    "WebhookCreated.id": _ID,
    "WebhookSecret.id": _ID,
    "WebhookCreated.secret": _SECRET,
    "WebhookSecret.secret": _SECRET,
    "WebhookRotation.overlapHours": "How many hours the replaced secret signs beside the new one.",
    "endpointId": "The endpoint that it is for.",
    "event": "The name of the event; ping is sent by a test alone.",
    "eventId": "The event's id, the same to every endpoint and at every attempt: for finding repeats.",
    "WebhookDelivery.id": "The delivery's id, which the header Score-Delivery has.",
    "WebhookDelivery.status": "pending and failed are attempted when nextAttemptAt comes; exhausted are not any more.",
    "payload": "What is sent, word for word.",
    "attempts": "How many attempts there were.",
    "nextAttemptAt": "When the next attempt is due, or the last one was.",
    "lastStatusCode": "The status of the receiver's last answer; null without one.",
    "lastError": "Why the last attempt failed; null when it did not.",
    "deliveredAt": "When the receiver accepted it; null until then.",
    "WebhookPayload.id": "The event's id.",
    "WebhookPayload.type": "The name of the event.",
    "WebhookPayload.createdAt": "When it happened.",
    "WebhookPayload.tenant": "The tenant's slug.",
    "WebhookPayload.program": "The program; null: the whole tenant.",
    "WebhookPayload.data": "Ids, words, scores and amounts of the event; each type has fields of its own.",
}
