"""Operator tokens that were issued to persons: how they are refused, for the table of errors."""

from typing import Any, Final

import pytest

from clearhold.features.core.instants import SECOND_US, format_instant
from tests.support.callers import Headers, World, bearer

Answer = tuple[int, bytes]

EXPIRES: Final = "2026-06-01"


def issued(world: World, name: str, **over: Any) -> dict[str, Any]:
    """A person's token at the second bank, with its secret."""
    path = f"/api/admin/tenants/{world.other['id']}/operator-tokens"
    body = {"name": name, "expiresAt": EXPIRES} | over
    answer = world.send("POST", path, list(world.api.admin.items()), json=body)
    assert answer.status_code == 201, answer.text
    token: dict[str, Any] = answer.json()
    return token


def read_with(world: World, headers: Headers) -> Answer:
    answer = world.send("GET", "/api/programs", headers)
    return answer.status_code, answer.content


def expired(world: World, _: pytest.MonkeyPatch) -> Answer:
    token = issued(world, "ann", expiresAt=format_instant(world.api.clock.now() + 3 * SECOND_US))
    for _attempt in range(3):
        status, body = read_with(world, bearer(token["token"]))
    return status, body


def revoked(world: World, _: pytest.MonkeyPatch) -> Answer:
    token, admin = issued(world, "ann"), list(world.api.admin.items())
    path = f"/api/admin/tenants/{world.other['id']}/operator-tokens/{token['id']}"
    assert world.send("DELETE", path, admin).status_code == 200
    return read_with(world, bearer(token["token"]))


def of_another(world: World, _: pytest.MonkeyPatch) -> Answer:
    return read_with(world, bearer(issued(world, "ann")["token"], "bob"))


def approved_by_claim(world: World, _: pytest.MonkeyPatch) -> Answer:
    ann = bearer(issued(world, "ann")["token"])
    body = {"programId": world.theirs["id"], "type": "freeze_account", "targetType": "account", "targetId": "bacc_1"}
    action = world.send("POST", "/api/actions", ann, json=body).json()["id"]
    answer = world.send("POST", f"/api/actions/{action}/approve", bearer(world.other["operatorToken"], "bob"))
    return answer.status_code, answer.content
