"""The operations on actions as the documents describe them."""

from functools import partial
from typing import Final

from tests.support import operation_bodies as bodies
from tests.support.operation import Access, Operation

_operation: Final = partial(Operation, method="POST", access=Access.BEARER, scope="actions")
_request: Final = partial(_operation, path="/api/actions", success=201)
_on_waiting: Final = partial(_operation, fills=("waiting action",), needs_person=True)

ACTION_OPERATIONS: Final = (
    _request(body=bodies.action, body_ids=("program",), names="a program"),
    _request(body=bodies.action_on_alert, body_ids=("alert",), names="an alert"),
    _on_waiting(path="/api/actions/{}/decline", body=bodies.ending),
    _on_waiting(path="/api/actions/{}/approve", body=bodies.approval, body_optional=True),
    _on_waiting(path="/api/actions/{}/withdraw", body=bodies.ending),
)
