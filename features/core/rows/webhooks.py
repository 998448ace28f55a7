"""Rows of deliveries to the endpoints of banks, and of their attempts.

They follow from other rows and from the network, and change no score: so they are not in the log, and a rebuild makes
no such rows. Field order is column order. Instants are microseconds since the epoch.
"""

import msgspec


class WebhookDeliveryRow(msgspec.Struct, frozen=True, gc=False):
    """An event to deliver to one endpoint; ``body`` is the signed and sent text, byte for byte.

    ``program_id`` is the tenant's id for an event of the whole tenant.
    """

    tenant_id: str
    program_id: str
    id: str
    endpoint_id: str
    event: str
    event_id: str
    body: str
    created_at: int


class WebhookAttemptRow(msgspec.Struct, frozen=True, gc=False):
    """A delivery after an attempt or a request to deliver again; the row with the highest version is the newest.

    A delivery without such a row is pending, with no attempts.
    """

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
