"""The operations on a configuration as a whole, a part of ``tests/support/lookup_operations.py``."""

from typing import Any, Final

import httpx

from tests.support.callers import Ids, World, bearer
from tests.support.operation import Access, Operation


def in_force(world: World, _: Ids, tenant: dict[str, Any] | None = None) -> dict[str, Any]:
    """The configuration in force, as a plan takes it."""
    token = (tenant or world.tenant)["operatorToken"]
    exported = world.send("GET", "/api/config", bearer(token, "ann")).json()
    return {name: exported[name] for name in ("schema", "tenant", "files")}


def as_planned(world: World, ids: Ids, tenant: dict[str, Any] | None = None) -> dict[str, Any]:
    """An application that changes nothing."""
    return in_force(world, ids, tenant) | {"baseSha256": "0" * 64}


def on_another_base(world: World) -> httpx.Response:
    """An application of a change that was planned against another configuration."""
    wanted = as_planned(world, {})
    clock = next(each for each in wanted["files"] if each["path"] == "policies/clock.yaml")
    clock["value"] = clock["value"] | {"appealHours": 71}
    return world.send("POST", "/api/config/apply", world.callers["operator"].headers, json=wanted)


CONFIG_OPERATIONS: Final = (
    Operation(method="GET", path="/api/config", access=Access.OPERATOR, whole_tenant=True),
    Operation(method="POST", path="/api/config/plan", access=Access.OPERATOR, body=in_force, whole_tenant=True),
    Operation(method="POST", path="/api/config/apply", access=Access.OPERATOR, body=as_planned, whole_tenant=True),
)
