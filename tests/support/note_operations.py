"""The operations on notes and assignments of alerts, a part of ``tests/support/stack_operations.py``."""

from typing import Final

from tests.support import operation_bodies as bodies
from tests.support.operation import Access, Operation

_NOTES: Final = "/api/alerts/{}/notes"
NOTE_OPERATIONS: Final = (
    Operation(
        method="POST",
        path=_NOTES,
        access=Access.BEARER,
        scope="alerts:decide",
        success=201,
        fills=("alert",),
        body=bodies.note,
    ),
    Operation(method="GET", path=_NOTES, access=Access.BEARER, scope="alerts:read", fills=("alert",)),
    Operation(
        method="POST",
        path="/api/alerts/{}/assign",
        access=Access.BEARER,
        scope="alerts:decide",
        success=201,
        fills=("alert",),
        body=bodies.assignment,
    ),
    Operation(
        method="POST",
        path="/api/alerts/assign",
        access=Access.BEARER,
        scope="alerts:decide",
        body=bodies.assignment_of_several,
    ),
)
