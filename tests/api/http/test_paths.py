"""Ids in paths are the bank's own strings, and a program's id is a UUID: over every route of the documents."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec
import pytest
from litestar import Litestar

from clearhold.api.openapi.document import document_of
from clearhold.features.core.canonical import path_segment
from tests.support.alerting import outgoing, party
from tests.support.callers import World, bearer, running_world
from tests.support.connector import Assistant
from tests.support.operations import OPERATIONS, Access, Operation, Place, ids_for
from tests.support.running_app import BASE_URL, assert_refused

IDS: Final = (
    "inv/7",
    "/",
    "/inv",
    "inv/",
    "a//b",
    "50%",
    "100%25",
    "%2F",
    "a%2Fb",
    "what?#now",
    "..",
    ".",
    "../../keys",
    "two\nlines",
    "\N{PILE OF POO}é",
    " a b ",
    "%",
)
BANKS_IDS: Final = {"transferId", "eventId", "entityId", "counterpartyId", "actorId", "accountId", "subjectId"}
"""The parameters of paths that are the bank's own strings; this service mints the others, or a policy names them."""
MINTED: Final = {("GET", "/api/agents/{entityId}"), ("GET", "/api/agents/{entityId}/explain")}
"""An agent's id is made from the scan index: none of them is hostile."""
PROGRAM_IDS: Final = {"program", "wide program", "simulated program", "spare"}
NO_UUID: Final = ("payroll", "0b0c4a53-0000-4000-8000-00000000000", "x" * 300)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("paths")) as running:
        yield running


@cache
def documents(app: Litestar) -> tuple[dict[str, Any], dict[str, Any]]:
    public, administration = (
        msgspec.json.decode(document_of(app, base_url=BASE_URL, administration=each)) for each in (False, True)
    )
    return public, administration


def documented(world: World) -> dict[str, Any]:
    """The paths of both documents."""
    public, administration = documents(world.api.app)
    return dict(public["paths"]) | dict(administration["paths"])


def components(world: World) -> dict[str, Any]:
    public, administration = documents(world.api.app)
    kinds = public["components"].keys() | administration["components"].keys()
    return {kind: administration["components"].get(kind, {}) | public["components"].get(kind, {}) for kind in kinds}


def anonymous(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


def routes_with_ids_of_the_bank(world: World) -> set[tuple[str, str]]:
    return {
        (method.upper(), path)
        for path, methods in documented(world).items()
        for method in methods
        if any(f"{{{each}}}" in path for each in BANKS_IDS)
    }


def deliver_everything_as(world: World, hostile: str) -> str:
    """Parties, an account and a transfer with this id; the id of an event, which takes no control characters."""
    event_id = f"evnt {hostile}".replace("\n", " ")
    transfer = msgspec.json.decode(outgoing(hostile, counterparty_id=hostile)) | {"id": event_id}
    parties = [msgspec.json.decode(party(family, hostile)) for family in ("identity", "counterparty", "account")]
    for number, event in enumerate(parties):
        event["id"] = f"{event_id} of party {number}"
    for event in (*parties, transfer):
        assert world.api.deliver(world.payroll, msgspec.json.encode(event)).status_code == 200
    world.api.catch_up()
    return event_id


def ids_read(world: World, hostile: str) -> dict[tuple[str, str], str]:
    """The id in the answer of each route with an id of the bank in its path, by method and path of the documents."""
    event_id = deliver_everything_as(world, hostile)
    operator, segment = bearer(world.tenant["operatorToken"], "ann"), path_segment(hostile)

    def read(path: str) -> dict[str, Any]:
        answer = world.send("GET", path, operator)
        assert answer.status_code == 200, (path, answer.text)
        first: dict[str, Any] = msgspec.json.decode(answer.content.split(b"\n", 1)[0])
        return first

    event = f"/api/events/{path_segment(event_id)}"
    account = f"/api/admin/programs/{world.payroll['id']}/accounts/{segment}"
    owned = world.send("PUT", account, list(world.api.admin.items()), json={"entityId": "enti_0"})
    assert owned.status_code == 200, owned.text
    return {
        ("GET", "/api/transfers/{transferId}"): read(f"/api/transfers/{segment}")["id"],
        ("GET", "/api/transfers/{transferId}/explain"): read(f"/api/transfers/{segment}/explain")["transferId"],
        ("GET", "/api/events/{eventId}"): read(event)["id"].replace(event_id, hostile),
        ("GET", "/api/entities/{entityId}"): read(f"/api/entities/{segment}")["id"],
        ("GET", "/api/entities/{entityId}/explain"): read(f"/api/entities/{segment}/explain")["id"],
        ("GET", "/api/entities/{entityId}/export"): read(f"/api/entities/{segment}/export")["row"]["subject"]["id"],
        ("GET", "/api/counterparties/{counterpartyId}"): read(f"/api/counterparties/{segment}")["id"],
        ("GET", "/api/counterparties/{counterpartyId}/explain"): read(f"/api/counterparties/{segment}/explain")["id"],
        ("GET", "/api/counterparties/{counterpartyId}/export"): read(f"/api/counterparties/{segment}/export")["row"][
            "subject"
        ]["id"],
        ("GET", "/api/reports/actor/{actorType}/{actorId}"): read(f"/api/reports/actor/counterparty/{segment}")["id"],
        ("GET", "/api/accounts/{accountId}"): read(f"/api/accounts/{segment}")["id"],
        ("GET", "/api/timeline/{subjectType}/{subjectId}"): read(f"/api/timeline/transfer/{segment}?kind=money")[
            "data"
        ][0]["ids"]["transferId"],
        ("PUT", "/api/admin/programs/{programId}/accounts/{accountId}"): owned.json()["accountId"],
    }


@pytest.mark.parametrize("hostile", IDS)
def test_given_an_id_of_the_bank_when_it_is_in_a_path_then_every_route_reads_it_unchanged(
    world: World, hostile: str
) -> None:
    read = ids_read(world, hostile)

    assert read.keys() == routes_with_ids_of_the_bank(world) - MINTED
    assert set(read.values()) == {hostile}


@pytest.mark.parametrize("hostile", IDS)
def test_given_an_id_that_no_agent_has_when_it_is_in_a_path_then_the_agent_is_unknown(
    world: World, hostile: str
) -> None:
    operator, path = bearer(world.tenant["operatorToken"], "ann"), f"/api/agents/{path_segment(hostile)}"

    for answer in (world.send("GET", each, operator) for each in (path, f"{path}/explain")):
        assert_refused(answer, 404)
        assert answer.json()["code"] == "agent_not_found"


@pytest.mark.parametrize(("hostile", "is_plain"), [("inv/8", True), ("8%2F", False), ("..", True), ("why 8?#", False)])
def test_given_an_id_when_the_connector_reports_on_it_then_it_is_that_actor(
    world: World, hostile: str, *, is_plain: bool
) -> None:
    """An id of letters, digits and marks of ids is in the report; any other is quoted beside it."""
    deliver_everything_as(world, hostile)
    assistant = Assistant(world.api, world.api.operator(world.tenant))

    result = assistant.call("actor_report", type="entity", id=hostile)

    quoted = result["untrusted"]["fields"].get("id")
    assert (result.get("id"), quoted) == ((hostile, None) if is_plain else (None, hostile))


@pytest.mark.parametrize("path", ["/api//transfers", "/api/transfers//acht_0", "/api/entities//export", "//api/rules"])
def test_given_an_empty_segment_when_called_then_no_other_route_or_id_is_meant(world: World, path: str) -> None:
    answer = world.send("GET", path, bearer(world.tenant["operatorToken"], "ann"))

    assert_refused(answer, 404)


def test_given_a_slash_at_the_end_when_called_then_the_route_is_the_same(world: World) -> None:
    answer = world.send("GET", "/api/transfers/acht_0/", bearer(world.tenant["operatorToken"], "ann"))

    assert answer.status_code == 200
    assert answer.json()["id"] == "acht_0"


def places_of_programs(world: World) -> Iterator[tuple[str, str, Place]]:
    """Method, path and place of each programId that the documents know."""
    for path, methods in documented(world).items():
        for method, described in methods.items():
            if "{programId}" in path:
                yield method.upper(), path, Place.PATH
            if any(each.get("in") == "query" for each in parameters_named(world, described, "programId")):
                yield method.upper(), path, Place.QUERY
            if "programId" in properties_of_body(world, described):
                yield method.upper(), path, Place.BODY


def parameters_named(world: World, described: dict[str, Any], name: str) -> list[dict[str, Any]]:
    parameters = [resolved(world, each) for each in described.get("parameters", [])]
    return [each for each in parameters if each["name"] == name]


def properties_of_body(world: World, described: dict[str, Any]) -> dict[str, Any]:
    content = described.get("requestBody", {}).get("content", {})
    schema = resolved(world, content.get("application/json", {}).get("schema", {}))
    properties: dict[str, Any] = schema.get("properties", {})
    return properties


def resolved(world: World, part: dict[str, Any]) -> dict[str, Any]:
    for name in part.get("$ref", "#").split("/")[1:]:
        part = components(world) if name == "components" else part[name]
    return part


def wrong_program(world: World, operation: Operation, place: Place, value: str) -> Any:
    """The operation's call, with this value as the programId in one place."""
    ids, content = ids_for(world, operation), dict[str, Any]()
    url = operation.url(ids)
    if place is Place.PATH:
        (name,) = PROGRAM_IDS & set(operation.fills)
        url = operation.url(ids | {name: value})
    if place is Place.QUERY:
        url += f"{'&' if '?' in url else '?'}programId={value}"
    if operation.body is not None:
        body = operation.body(world, ids) | ({"programId": value} if place is Place.BODY else {})
        content = {"json": body}
    if operation.access is Access.SIGNATURE:
        content = {"content": b"{}"}
    caller = {Access.ADMIN: "admin"}.get(operation.access, "test key" if operation.sandbox else "operator")
    return world.send(operation.method, url, world.callers[caller].headers, extra=operation.sends, **content)


@pytest.mark.parametrize("value", NO_UUID)
def test_given_a_program_that_is_no_uuid_when_named_anywhere_then_400_with_its_path(world: World, value: str) -> None:
    operations = {operation.route: operation for operation in reversed(OPERATIONS)}
    walked = list(places_of_programs(world))

    for method, path, place in walked:
        answer = wrong_program(world, operations[method, anonymous(path)], place, value)

        assert answer.status_code == 400, (method, path, place, answer.text)
        assert [field["path"].removesuffix("[0]") for field in answer.json()["fields"]] == ["programId"], (path, place)
    assert {place for _, _, place in walked} == set(Place)
    assert len(walked) > 50
