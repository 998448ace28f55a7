"""The operations on actions as the documents describe them."""

from typing import Final

from tests.support import operation_bodies as bodies
from tests.support.operation import Access, Operation

ACTION_OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/api/actions",
        access=Access.BEARER,
        scope="actions",
        success=201,
        body=bodies.action,
        body_ids=("program",),
        names="a program",
    ),
    Operation(
        method="POST",
        path="/api/actions",
        access=Access.BEARER,
        scope="actions",
        success=201,
        body=bodies.action_on_alert,
        body_ids=("alert",),
        names="an alert",
    ),
    Operation(
        method="POST",
        path="/api/actions/{}/decline",
        access=Access.BEARER,
        scope="actions",
        fills=("waiting action",),
        body=bodies.ending,
        needs_person=True,
    ),
    Operation(
        method="POST",
        path="/api/actions/{}/approve",
        access=Access.BEARER,
        scope="actions",
        fills=("waiting action",),
        body=bodies.approval,
        body_optional=True,
        needs_person=True,
    ),
    Operation(
        method="POST",
        path="/api/actions/{}/withdraw",
        access=Access.BEARER,
        scope="actions",
        fills=("waiting action",),
        body=bodies.ending,
        needs_person=True,
    ),
)
