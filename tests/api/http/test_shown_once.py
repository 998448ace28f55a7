"""A secret is shown in the first answer only, never when the request is repeated."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from litestar.routes import HTTPRoute
from msgspec.structs import fields

from clearhold.api.http.operation import OPT
from tests.support.callers import World, running_world
from tests.support.operations import OPERATIONS, Access, Operation, call, ids_for

SECRETS: Final = {"secret", "token", "operatorToken", "ingestSecret"}
PROOF: Final = "issueProof"
"""Its token is not a secret: receivers get it."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("shown-once")) as running:
        yield running


def declared(world: World) -> dict[tuple[str, str], Any]:
    """The operations of the routes whose answer has a field named like a secret, by method and anonymous path."""
    handlers = [
        (str(method), anonymous(route.path_format), handler)
        for route in world.api.app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
    ]
    return {
        (method, path): operation
        for method, path, handler in handlers
        if (operation := handler.opt.get(OPT)) is not None and secrets_in(operation) and operation.id != PROOF
    }


def secrets_in(operation: Any) -> set[str]:
    answers = [answer for status, answer in operation.answers.items() if status < 300]
    structs = [answer for answer in answers if hasattr(answer, "__struct_fields__")]
    return {field.encode_name for struct in structs for field in fields(struct)} & SECRETS


def anonymous(path: str) -> str:
    parts = path.split("{")
    return "{}".join([parts[0], *(part.partition("}")[2] for part in parts[1:])])


def twice(world: World, operation: Operation, *, forgets: bool) -> tuple[Any, Any]:
    """The same call twice under one key; ``forgets``: the stored answer is lost in between, the effect is not."""
    caller = world.callers["admin" if operation.access is Access.ADMIN else "operator"].headers
    ids, key = ids_for(world, operation), world.fresh()
    content = b"" if operation.body is None else None
    body = None if operation.body is None else operation.body(world, ids)
    headers = [*caller, ("Idempotency-Key", key)]
    sent = {"content": content} if body is None else {"json": body}
    first = call(world, operation, headers, ids, **sent)
    if forgets:
        for name in world.api.sync_redis.keys("idem:*"):
            world.api.sync_redis.delete(name)
    return first, call(world, operation, headers, ids, **sent)


@pytest.mark.parametrize("forgets", [False, True])
def test_given_an_answer_with_a_secret_when_its_request_is_repeated_then_the_secret_is_null(
    world: World, *, forgets: bool
) -> None:
    operations = {operation.route: operation for operation in reversed(OPERATIONS)}
    walked = declared(world)

    for route, declaration in walked.items():
        first, again = twice(world, operations[route], forgets=forgets)

        assert first.status_code == again.status_code == 201, (route, again.text)
        assert set(declaration.shown_once) == secrets_in(declaration), route
        assert ("idempotent-replayed" in again.headers) is not forgets, route
        shown, repeated = first.json(), again.json()
        for secret in declaration.shown_once:
            assert shown.pop(secret), route
            assert repeated.pop(secret) is None, route
        assert repeated == shown, route
    assert len(walked) >= 7
