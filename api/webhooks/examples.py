"""Examples of webhooks for the OpenAPI document; none of them exists."""

from typing import Any, Final

import msgspec

from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.api.webhooks.event_examples import ENDPOINT_ID, EXAMPLES
from clearhold.features.webhooks.event_types import EventType

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
