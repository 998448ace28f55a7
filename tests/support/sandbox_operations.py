"""The operations of the sandbox, a part of ``tests/support/operations.py``."""

from typing import Any, Final

from tests.support import operation_bodies as bodies
from tests.support.operation import Access, Operation


def _write(path: str, body: Any, **over: Any) -> Operation:
    return Operation(
        method="POST",
        path=f"/api/sandbox/{{}}/{path}",
        access=Access.BEARER,
        scope="sandbox",
        success=201,
        fills=("simulated program",),
        body=body,
        sandbox=True,
        **over,
    )


SANDBOX_OPERATIONS: Final = (
    Operation(method="GET", path="/api/sandbox/scenarios", access=Access.BEARER, scope="sandbox", sandbox=True),
    _write("scenario", bodies.scenario),
    _write("transfer", bodies.sandbox_transfer),
    _write("event", bodies.sandbox_event),
    _write("return", bodies.sandbox_return, body_ids=("returnable transfer",)),
)
