"""The operations of webhooks, a part of ``tests/support/operations.py``."""

from typing import Any, Final

from tests.support import operation_bodies as bodies
from tests.support.operation import Access, Operation


def _of_webhook(method: str, path: str = "", *, success: int = 200, **over: Any) -> Operation:
    """A route of one endpoint."""
    fills = ("webhook", *over.pop("fills", ()))
    route = f"/api/webhooks/{{}}{path}"
    return Operation(
        method=method, path=route, access=Access.BEARER, scope="webhooks", success=success, fills=fills, **over
    )


WEBHOOK_OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/api/webhooks",
        access=Access.BEARER,
        scope="webhooks",
        success=201,
        body=bodies.webhook,
        body_ids=("program",),
        names="a program",
    ),
    Operation(method="GET", path="/api/webhooks", access=Access.BEARER, scope="webhooks"),
    Operation(method="GET", path="/api/webhooks/events", access=Access.BEARER, scope="webhooks"),
    _of_webhook("PATCH", body=bodies.webhook_change),
    _of_webhook("DELETE"),
    _of_webhook("POST", "/rotate", success=201),
    _of_webhook("GET", "/deliveries"),
    _of_webhook("POST", "/deliveries/{}/redeliver", fills=("delivery",)),
    _of_webhook("POST", "/test"),
)
