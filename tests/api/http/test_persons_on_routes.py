"""Under an operator token that was issued to a person, no route of the document takes another name."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.callers import World, bearer, running_world
from tests.support.running_app import assert_refused

METHODS: Final = {"get", "put", "post", "delete", "patch"}
ROUTES_AT_LEAST: Final = 60


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("persons")) as running:
        yield running


def operator_routes(world: World) -> list[tuple[str, str]]:
    """Method and path of every route that takes the tenant's operator token, with the program in place of each id."""
    paths: dict[str, Any] = world.api.client.get("/openapi.json").json()["paths"]
    return [
        (method.upper(), re.sub(r"\{[^}]*\}", world.payroll["id"], path))
        for path, item in paths.items()
        for method in METHODS & item.keys()
        if any("operatorToken" in way for way in item[method]["security"])
    ]


@pytest.mark.parametrize(
    ("named", "status", "code"),
    [
        ("bob", 403, "operator_mismatch"),
        ("ann lee 2", 403, "operator_mismatch"),
        ("policy:platform", 400, "operator_invalid"),
        ("", 400, "operator_invalid"),
    ],
)
def test_given_a_persons_token_when_any_route_is_called_in_another_name_then_it_is_refused_and_nothing_is_written(
    world: World, named: str, status: int, code: str
) -> None:
    headers = bearer(world.person_token(world.tenant, "Ann Lee")["token"], named)
    routes, before = operator_routes(world), world.stored()
    assert len(routes) > ROUTES_AT_LEAST

    answers = {route: world.send(*route, headers) for route in routes}

    of_the_sandbox = {route for route in routes if route[1].startswith("/api/sandbox/")}
    for route, answer in answers.items():
        if route in of_the_sandbox:
            assert_refused(answer, 403)  # An operator token is not enough there.
            continue
        assert (answer.status_code, answer.json()["code"]) == (status, code), route
    assert world.stored() == before


@pytest.mark.parametrize("path", ["/api/skoor/backfill/{}", "/api/skoor/actors/backfill/{}", "/api/kri/snapshot/{}"])
def test_given_the_owners_routes_when_called_by_a_person_then_the_own_name_or_none_is_taken(
    world: World, path: str
) -> None:
    token = world.person_token(world.tenant, "Ann Lee")["token"]
    url = path.format(world.payroll["id"])

    for name in (None, "Ann Lee", " ann  LEE "):
        assert world.send("POST", url, bearer(token, name)).status_code == 200, name
    assert world.send("POST", url, bearer(world.tenant["operatorToken"], "anyone")).status_code == 200
