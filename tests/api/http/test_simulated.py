"""What belongs to a simulated program says so wherever it is shown, and nothing else does."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import json

from tests.support.callers import TRANSFER, World, running_world
from tests.support.running_app import RunningApp


class TwoKinds(World):
    """The world, with a label on a transfer of each of the tenant's programs and every clock run out."""

    def __init__(self, api: RunningApp) -> None:
        super().__init__(api)
        for number, program in enumerate((self.payroll, self.lending, self.simulated)):
            body = {"transferId": f"acht_{number}", "label": "ok", "reason": "It was fine.", "programId": program["id"]}
            answer = self.send("POST", "/api/labels", self.operator_of(program), json=body)
            assert answer.status_code == 201, answer.text
            assert answer.json().get("simulated", "absent") == of(self, program)
            self.waiting_alert(program)
            self.action_on(program, self.alerts[program["id"]])
        api.clock.advance(40 * 86_400_000_000)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoKinds]:
    with running_world(tmp_path_factory.mktemp("simulated"), TwoKinds) as running:
        assert isinstance(running, TwoKinds)
        yield running


def of(world: World, program: dict[str, Any]) -> bool | str:
    return True if program["id"] == world.simulated["id"] else "absent"


def read(world: World, path: str) -> Any:
    answer = world.send("GET", path, world.callers["operator"].headers)
    assert answer.status_code == 200, answer.text
    return answer


def marks(items: list[dict[str, Any]]) -> set[tuple[str, bool | str]]:
    return {(item["programId"], item.get("simulated", "absent")) for item in items}


def all_marks(world: World) -> set[tuple[str, bool | str]]:
    return {(program["id"], of(world, program)) for program in (world.payroll, world.lending, world.simulated)}


@pytest.mark.parametrize(
    "path",
    [
        "/api/transfers?limit=100",
        "/api/alerts?limit=100",
        "/api/alerts/summaries?limit=100",
        "/api/accounts?limit=100",
        "/api/preflight?limit=100",
        "/api/labels",
        "/api/actions?limit=100",
        "/api/kri/snapshots",
    ],
)
def test_given_programs_of_both_kinds_when_listed_then_simulated_ones_alone_are_marked(world: World, path: str) -> None:
    assert marks(read(world, path).json()["data"]) == all_marks(world)


@pytest.mark.parametrize("path", ["/api/transfers/export", "/api/alerts/export"])
def test_given_programs_of_both_kinds_when_exported_then_simulated_ones_alone_are_marked(
    world: World, path: str
) -> None:
    lines = read(world, path).text.splitlines()
    table = csv.DictReader(io.StringIO(read(world, f"{path}?format=csv").text))

    assert marks([json.decode(line) for line in lines]) == all_marks(world)
    in_cells = {(program, "true" if mark is True else "") for program, mark in all_marks(world)}
    assert {(row["programId"], row["simulated"]) for row in table} == in_cells


def test_given_decisions_of_both_kinds_when_listed_and_exported_then_those_of_simulated_ones_alone_are_marked(
    world: World,
) -> None:
    expected = {
        world.dispositions[program["id"]]: of(world, program)
        for program in (world.payroll, world.lending, world.simulated)
    }
    listed = read(world, "/api/dispositions?limit=100").json()["data"]
    lines = [json.decode(line) for line in read(world, "/api/dispositions/export").text.splitlines()]
    table = csv.DictReader(io.StringIO(read(world, "/api/dispositions/export?format=csv").text))

    for items in (listed, lines):
        assert {each["id"]: each.get("simulated", "absent") for each in items}.items() >= expected.items()
    cells = {row["id"]: row["simulated"] for row in table}
    assert {each: cells[each] for each in expected} == {
        each: "true" if mark is True else "" for each, mark in expected.items()
    }


def test_given_overdue_alerts_of_both_kinds_when_read_then_simulated_ones_are_counted_where_they_are_named(
    world: World,
) -> None:
    real = read(world, "/api/clocks/overdue").json()
    named = read(world, f"/api/clocks/overdue?programId={world.simulated['id']}").json()

    assert marks(real["alerts"]) == {(program["id"], "absent") for program in (world.payroll, world.lending)}
    assert (real["count"], "simulated" in real) == (len(real["alerts"]), False)
    assert marks(named["alerts"]) == {(world.simulated["id"], True)}
    assert (named["count"], named["simulated"]) == (len(named["alerts"]), True)
    both = f"/api/clocks/overdue?programId={world.simulated['id']},{world.payroll['id']}"
    assert world.send("GET", both, world.callers["operator"].headers).status_code == 400


@pytest.mark.parametrize("kind", ["bank", "simulated"])
def test_given_a_program_when_one_thing_of_it_is_read_then_only_a_simulated_one_is_marked(
    world: World, kind: str
) -> None:
    program, number = (world.simulated, 2) if kind == "simulated" else (world.payroll, 0)
    mark = of(world, program)
    paths = (
        f"/api/transfers/acht_{number}",
        f"/api/preflight/{world.preflights[program['id']]}",
        f"/api/dispositions/{world.dispositions[program['id']]}",
        f"/api/kri/snapshots/{world.snapshots[program['id']]}",
        f"/api/entities/enti_{number}",
        f"/api/counterparties/cpty_of_{number}",
        f"/api/events/evnt_acht_{number}",
    )
    for path in paths:
        assert read(world, path).json().get("simulated", "absent") == mark, path
    detail = read(world, f"/api/alerts/{world.closed_alert(program)}").json()
    assert {each.get("simulated", "absent") for each in (detail["alert"], detail["transfer"])} == {mark}
    assert [each.get("simulated", "absent") for each in detail["dispositions"]] == [mark]
    acted = read(world, f"/api/alerts/{world.alerts[program['id']]}").json()["actions"]
    assert [each.get("simulated", "absent") for each in acted] == [mark]
    decisions = read(world, f"/api/alerts/{detail['alert']['id']}/dispositions").json()
    assert [each.get("simulated", "absent") for each in decisions] == [mark]


@pytest.mark.parametrize("kind", ["bank", "simulated"])
def test_given_a_preflight_when_answered_and_replayed_then_only_that_of_a_simulated_program_is_marked(
    world: World, kind: str
) -> None:
    program = world.simulated if kind == "simulated" else world.payroll
    body = {"programId": program["id"], "transfer": TRANSFER, "idempotencyKey": f"of {kind}"}

    answers = [world.send("POST", "/api/preflight", world.callers["operator"].headers, json=body) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 200]
    assert {answer.json().get("simulated", "absent") for answer in answers} == {of(world, program)}


def test_given_a_key_that_a_test_key_used_when_a_live_program_is_asked_under_it_then_it_has_an_answer_of_its_own(
    world: World,
) -> None:
    def answer_to(caller: str, program: dict[str, Any], amount: str) -> Any:
        body = {
            "programId": program["id"],
            "idempotencyKey": "invoice-1",
            "transfer": TRANSFER | {"amountCents": amount},
        }
        return world.send("POST", "/api/preflight", world.callers[caller].headers, json=body)

    planted = answer_to("test key", world.simulated, "100")
    of_operator = answer_to("operator", world.payroll, "99999999")
    of_key = answer_to("live key", world.lending, "99999999")

    answers = [planted, of_operator, of_key]
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    programs = (world.simulated, world.payroll, world.lending)
    assert [answer.json()["programId"] for answer in answers] == [program["id"] for program in programs]
    assert len({answer.json()["preflightId"] for answer in answers}) == 3


@pytest.mark.parametrize("kind", ["bank", "simulated"])
def test_given_an_alert_when_decided_and_appealed_then_only_that_of_a_simulated_program_is_marked(
    world: World, kind: str
) -> None:
    program = world.simulated if kind == "simulated" else world.payroll
    alert_id, headers = world.waiting_alert(program), world.operator_of(program)

    decided = world.send(
        "POST",
        f"/api/alerts/{alert_id}/decide",
        headers,
        json={"decision": "close", "narrative": "It was explained to us."},
    )
    appealed = world.send("POST", f"/api/alerts/{alert_id}/appeal", headers, json={"reason": "It was not."})

    assert {each.json().get("simulated", "absent") for each in (decided, appealed)} == {of(world, program)}
