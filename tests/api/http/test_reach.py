"""What each caller reaches of each program: lists are narrowed, the rest is 403 on this tenant and 404 on another.

To a key of one program the objects of the others of its mode are 404 as well.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import json

from tests.support.callers import TRANSFER, World, bearer, running_world
from tests.support.running_app import assert_refused

OF_FIRST: Final = ("payroll", "lending", "simulated")
OF_SECOND: Final = ("theirs", "their_simulated")
PROGRAMS: Final = (*OF_FIRST, *OF_SECOND)
SHARED: Final = "shared_1"

SEE_AGENTS: Final = {"operator", "live key", "operator of another tenant", "key of another tenant"}
"""Who reaches the program of their tenant's agents, too; it has no transfers."""
REACH: Final = {
    "operator": {"payroll", "lending", "simulated"},
    "live key": {"payroll", "lending"},
    "test key": {"simulated"},
    "key of the program": {"payroll"},
    "key of another program": {"lending"},
    "key of the simulated program": {"simulated"},
    "operator of another tenant": {"theirs", "their_simulated"},
    "key of another tenant": {"theirs"},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("reach")) as running:
        running.actions = {
            id_of(running, program): running.action_on(getattr(running, program)) for program in PROGRAMS
        }
        yield running


def id_of(world: World, program: str) -> str:
    return str(getattr(world, program)["id"])


def transfer_of(program: str) -> str:
    return f"acht_{PROGRAMS.index(program)}"


def get(world: World, caller: str, path: str) -> Any:
    return world.send("GET", path, world.callers[caller].headers)


@pytest.mark.parametrize("caller", REACH)
def test_given_a_list_when_read_then_it_holds_what_the_caller_reaches_and_nothing_else(
    world: World, caller: str
) -> None:
    programs = get(world, caller, "/api/programs").json()
    transfers, alerts = (
        get(world, caller, f"/api/{name}?limit=100").json()["data"] for name in ("transfers", "alerts")
    )
    dispositions = get(world, caller, "/api/dispositions?limit=100").json()["data"]
    actions = get(world, caller, "/api/actions?limit=100").json()["data"]

    reached = {id_of(world, program) for program in REACH[caller]}
    assert {program["id"] for program in programs if program["slug"] != "agents"} == reached
    assert [program["slug"] for program in programs].count("agents") == (caller in SEE_AGENTS)
    assert {transfer["programId"] for transfer in transfers} == reached
    assert {alert["programId"] for alert in alerts} == reached
    assert {action["programId"] for action in actions} == reached
    assert {each["id"] for each in dispositions} == {world.dispositions[program_id] for program_id in reached}


@pytest.mark.parametrize("caller", REACH)
@pytest.mark.parametrize("name", ["transfers", "alerts", "dispositions"])
def test_given_an_export_when_read_then_it_holds_what_the_caller_reaches_and_nothing_else(
    world: World, name: str, caller: str
) -> None:
    exported = get(world, caller, f"/api/{name}/export")

    lines = exported.content.split(b"\n")
    assert exported.status_code == 200
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    assert exported.headers["content-disposition"].startswith("attachment")
    assert lines.pop() == b""
    known = {
        "transfers": {transfer_of(program): program for program in PROGRAMS},
        "alerts": {world.alerts[id_of(world, program)]: program for program in PROGRAMS},
        "dispositions": {world.dispositions[id_of(world, program)]: program for program in PROGRAMS},
    }[name]
    exports = [json.decode(line) for line in lines]
    assert {known[each["id"]] for each in exports if each["id"] in known} == REACH[caller]
    if name != "dispositions":
        assert {each["programId"] for each in exports} == {id_of(world, program) for program in REACH[caller]}


def status_for(caller: str, program: str) -> int:
    if program in REACH[caller]:
        return 200
    return 403 if (program in OF_SECOND) is ("another tenant" in caller) else 404


def status_in(caller: str, program: str) -> int:
    """The status of an object of the program, which itself is not named."""
    of_mode = REACH["live key"] if caller in {"key of the program", "key of another program"} else set()
    return 404 if program in of_mode - REACH[caller] else status_for(caller, program)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("caller", REACH)
def test_given_a_program_when_its_export_is_asked_for_then_reach_decides(
    world: World, caller: str, program: str
) -> None:
    answer = get(world, caller, f"/api/transfers/export?programId={id_of(world, program)}")

    assert answer.status_code == status_for(caller, program), answer.text


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("caller", REACH)
def test_given_a_program_and_what_is_in_it_when_named_then_reach_decides(
    world: World, caller: str, program: str
) -> None:
    program_id = id_of(world, program)
    status, inside = status_for(caller, program), status_in(caller, program)
    body = {"transfer": TRANSFER}

    answers = {
        path: get(world, caller, path)
        for path in (
            f"/api/programs/{program_id}",
            f"/api/transfers?programId={program_id}",
            f"/api/transfers/{transfer_of(program)}",
            f"/api/transfers/{transfer_of(program)}?programId={program_id}",
            f"/api/preflight/{world.preflights[program_id]}",
            f"/api/alerts?programId={program_id}",
            f"/api/alerts/{world.alerts[program_id]}",
            f"/api/alerts/{world.alerts[program_id]}/dispositions",
            f"/api/dispositions/{world.dispositions[program_id]}",
            f"/api/actions?programId={program_id}",
            f"/api/actions/{world.actions[program_id]}",
            f"/api/labels?programId={program_id}",
            f"/api/kri/snapshots?programId={program_id}",
            f"/api/kri/snapshots/{world.snapshots[program_id]}",
        )
    }
    asked = [
        world.send("POST", "/api/preflight", world.callers[caller].headers, json=body | named)
        for named in ({"programId": program_id}, {"programSlug": getattr(world, program)["slug"]})
    ]
    label = {"transferId": transfer_of(program), "label": "ok", "reason": "It stayed."}
    asked.append(world.send("POST", "/api/labels", world.callers[caller].headers, json=label))

    wanted = {path: status if program_id in path else inside for path in answers}
    assert {path: answer.status_code for path, answer in answers.items()} == wanted
    assert [answer.status_code for answer in asked] == ([201] * 3 if status == 200 else [status, status, inside])
    for answer in (*answers.values(), *asked):
        if answer.status_code >= 400:
            assert_refused(answer, answer.status_code)


@pytest.mark.parametrize("caller", [name for name in REACH if name != "operator"])
@pytest.mark.parametrize("name", ["transfers", "alerts"])
def test_given_a_cursor_of_a_wider_caller_when_used_then_it_opens_nothing(world: World, name: str, caller: str) -> None:
    cursor = get(world, "operator", f"/api/{name}?limit=1").json()["nextCursor"]

    answer = get(world, caller, f"/api/{name}?limit=100&cursor={cursor}")

    if answer.status_code == 400:
        assert_refused(answer, 400, "cursor")
    else:
        seen = {each["programId"] for each in answer.json()["data"]}
        assert answer.status_code == 200
        assert seen <= {id_of(world, program) for program in REACH[caller]}


def test_given_the_keys_of_two_tenants_when_listed_then_neither_sees_the_others(world: World) -> None:
    listed = [
        {key["id"] for key in world.send("GET", "/api/keys", bearer(tenant["operatorToken"], "ann")).json()}
        for tenant in (world.tenant, world.other)
    ]

    assert listed[0]
    assert listed[1]
    assert not listed[0] & listed[1]


def test_given_a_key_when_it_names_its_tenant_or_another_then_only_its_own_is_confirmed(world: World) -> None:
    own, other, unknown = (
        get(world, "live key", f"/api/programs?tenant={slug}") for slug in ("first-bank", "second-bank", "no-bank")
    )

    assert own.status_code == 200
    assert_refused(other, 401)
    assert_refused(unknown, 401)
    assert other.json()["error"] == unknown.json()["error"]


def test_given_one_transfer_id_in_two_programs_when_read_then_a_key_gets_the_one_that_it_reaches(world: World) -> None:
    for program in (world.payroll, world.lending, world.theirs):
        world.land(program, SHARED)
    world.api.catch_up()

    for caller, program in (("key of the program", world.payroll), ("key of another program", world.lending)):
        answer = get(world, caller, f"/api/transfers/{SHARED}")
        assert (answer.status_code, answer.json()["programId"]) == (200, program["id"])
    assert_refused(get(world, "test key", f"/api/transfers/{SHARED}"), 403)
