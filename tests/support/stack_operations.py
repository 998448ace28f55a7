"""The operations on stacks, on several alerts, and notes on alerts, a part of ``tests/support/operations.py``."""

from typing import Final

import httpx
import msgspec

from tests.support import operation_bodies as bodies
from tests.support.callers import Ids, World
from tests.support.note_operations import NOTE_OPERATIONS
from tests.support.operation import Access, Operation


def stacks_for(world: World, fills: tuple[str, ...]) -> Ids:
    """A stack with an alert that waits, or one with two."""
    if "stack" in fills:
        return {"stack": world.stack_of(world.payroll, world.waiting_alert(world.payroll))}
    if "stack of two" in fills:
        stays, goes = (world.waiting_alert(world.payroll) for _ in range(2))
        return {"stack of two": world.stack_of(world.payroll, stays), "alert to take out": goes}
    return {}


def split_off(world: World, alert_ids: list[str] | None) -> httpx.Response:
    """Take these alerts out of a stack, or all that wait in it."""
    stack, headers = world.stack_of(world.payroll, world.waiting_alert(world.payroll)), world.operator_of(world.payroll)
    if alert_ids is None:
        path = f"/api/alerts?stackId={stack}&status=open,held,escalated&limit=100"
        alert_ids = [alert["id"] for alert in world.send("GET", path, headers).json()["data"]]
    return world.send("POST", f"/api/stacks/{stack}/split", headers, json={"alertIds": alert_ids})


_LIST: Final = Operation(method="GET", path="/api/stacks", access=Access.BEARER, scope="alerts:read")
STACK_OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/api/alerts/decide",
        access=Access.BEARER,
        scope="alerts:decide",
        body=bodies.decision_on_several,
    ),
    _LIST,
    msgspec.structs.replace(_LIST, query=(("programId", "program"),), names="a program"),
    Operation(method="GET", path="/api/stacks/{}", access=Access.BEARER, scope="alerts:read", fills=("stack",)),
    Operation(
        method="POST",
        path="/api/stacks/{}/split",
        access=Access.BEARER,
        scope="alerts:decide",
        success=201,
        fills=("stack of two",),
        body=bodies.split,
    ),
    Operation(
        method="POST",
        path="/api/stacks/{}/decide",
        access=Access.BEARER,
        scope="alerts:decide",
        fills=("stack",),
        body=bodies.decision_on_stack,
    ),
    *NOTE_OPERATIONS,
)
