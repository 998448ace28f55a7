"""Rows of deliveries to the endpoints of banks, and of their attempts.

They follow from other rows and from the network, and change no score: so they are not in the log, and a rebuild makes
no such rows. Field order is column order. Instants are microseconds since the epoch.
"""

import msgspec


class WebhookDeliveryRow(msgspec.Struct, frozen=True, gc=False):
    """An event for one endpoint; ``body`` is sent byte for byte, ``program_id`` is the tenant's for a whole tenant."""

    tenant_id: str
    program_id: str
    id: str
    endpoint_id: str
    event: str
    event_id: str
    body: str
    created_at: int


class WebhookAttemptRow(msgspec.Struct, frozen=True, gc=False):
    """A delivery after an attempt or a new request; the highest version counts. Without a row it is pending."""

    tenant_id: str
    endpoint_id: str
    delivery_id: str
    version: int
    status: str
    attempts: int
    next_attempt_at: int
    last_status_code: int | None
    last_error: str | None
    delivered_at: int | None
    settled_at: int
