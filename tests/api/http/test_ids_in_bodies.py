"""An id that this service makes has one form in every body: that of paths, with hyphens."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest
from litestar.routes import HTTPRoute

from clearhold.api.http.fields import MUST_BE_UUID
from clearhold.api.http.operation import OPT
from clearhold.api.http.request_schema import RequestSchema
from tests.support.callers import Headers, World, running_world
from tests.support.operations import WRITES, Access, Operation, call, ids_for
from tests.support.running_app import assert_refused

FORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "without hyphens": lambda text: text.replace("-", ""),
    "in capitals without hyphens": lambda text: text.replace("-", "").upper(),
    "in braces": lambda text: f"{{{text}}}",
    "as a URN": lambda text: f"urn:uuid:{text}",
    "with one hyphen": lambda text: text.replace("-", "", 3),
    "with a space": lambda text: f" {text}",
}
BODIES_WITH_IDS_AT_LEAST: Final = 8


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("ids")) as running:
        yield running


def schemas(world: World) -> list[RequestSchema[Any]]:
    """Of every body that a route takes."""
    routes = [route for route in world.api.app.routes if isinstance(route, HTTPRoute)]
    operations = [handler.opt[OPT] for route in routes for handler in route.route_handlers if OPT in handler.opt]
    return [operation.body for operation in operations if operation.body is not None]


def ids_in(schema: Any) -> int:
    """How many values of the schema are ids, at any depth."""
    if isinstance(schema, list):
        return sum(map(ids_in, schema))
    if not isinstance(schema, dict):
        return 0
    return (schema.get("format") == "uuid") + sum(map(ids_in, schema.values()))


def ids_of(schema: RequestSchema[Any]) -> list[str]:
    return [name for name, each in schema.properties.items() if ids_in(each)]


def caller_of(world: World, operation: Operation) -> Headers:
    if operation.sandbox:
        return world.callers["test key"].headers
    return world.callers["admin" if operation.access is Access.ADMIN else "operator"].headers


def test_given_the_bodies_of_all_routes_then_each_id_is_a_property_of_the_body_itself(world: World) -> None:
    with_ids = [each for each in schemas(world) if ids_of(each)]

    assert len(with_ids) >= BODIES_WITH_IDS_AT_LEAST
    for schema in with_ids:
        assert ids_in(msgspec.json.schema(schema.struct)) == len(ids_of(schema)), schema.struct


@pytest.mark.parametrize("form", FORMS)
def test_given_an_id_in_another_form_than_in_paths_when_sent_in_any_body_then_400_with_its_path(
    world: World, form: str
) -> None:
    tried = 0
    for operation in WRITES:
        if operation.body is None:
            continue
        ids = ids_for(world, operation)
        body = operation.body(world, ids)
        for name, value in body.items():
            if name not in {"programId", "alertId", "tenantId"} or value is None:
                continue
            before = world.stored()

            answer = call(world, operation, caller_of(world, operation), ids, json=body | {name: FORMS[form](value)})

            assert_refused(answer, 400, f"{name} {MUST_BE_UUID}")
            assert name in [field["path"] for field in answer.json()["fields"]], operation.title
            assert world.stored() == before
            tried += 1
    assert tried >= BODIES_WITH_IDS_AT_LEAST
