"""Filters of lists: several values are any of them, however they are written, and every named program is looked at."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from clearhold.api.actions.schemas import ActionsQuery
from clearhold.api.alerts.schemas import AlertsQuery
from clearhold.api.dispositions.routes import DispositionFilters
from clearhold.api.events.routes import EventsQuery
from clearhold.api.http.fields import FILTER_LIMIT
from clearhold.api.kris.routes import SnapshotsQuery
from clearhold.api.labels.routes import LabelsQuery
from clearhold.api.transfers.service import TransferFilters
from clearhold.store.duck.alerts import ActionFilter, AlertFilter, DispositionFilter, LabelFilter
from clearhold.store.duck.inputs import EventFilter
from clearhold.store.duck.reports.scores import SnapshotFilter
from clearhold.store.duck.transfers import TransferFilter
from tests.support.bank_events import an_account, an_event
from tests.support.callers import UNKNOWN_ID, World, running_world
from tests.support.openapi import without_references
from tests.support.running_app import assert_refused

LISTS: Final = (
    "alerts",
    "alerts/export",
    "dispositions",
    "dispositions/export",
    "labels",
    "transfers",
    "transfers/export",
    "policies",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("filters")) as running:
        for number in range(2):
            body = {"transferId": f"acht_{number}", "label": "ok", "reason": "It stayed."}
            answer = running.send("POST", "/api/labels", running.callers["operator"].headers, json=body)
            assert answer.status_code == 201, answer.text
        yield running


def get(world: World, path: str, query: str, caller: str = "operator") -> Any:
    return world.send("GET", f"/api/{path}?{query}", world.callers[caller].headers)


def found(answer: Any, name: str = "id") -> set[str]:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return {str(each[name]) for each in (body if isinstance(body, list) else body["data"])}


def written(name: str, values: list[str]) -> tuple[str, str]:
    """A filter by several values in both ways."""
    return "&".join(f"{name}={value}" for value in values), f"{name}={','.join(values)}"


@pytest.mark.parametrize("path", ["alerts", "dispositions", "labels", "transfers"])
def test_given_several_programs_when_listed_then_what_any_of_them_has_is_there(world: World, path: str) -> None:
    first, second = world.payroll["id"], world.lending["id"]
    each = [found(get(world, path, f"limit=100&programId={program}")) for program in (first, second)]

    assert all(each)
    for query in (*written("programId", [first, second]), *written("programId", [second, first.upper(), second])):
        assert found(get(world, path, f"limit=100&{query}")) == each[0] | each[1]


@pytest.mark.parametrize(
    ("path", "name", "values", "shown", "there"),
    [
        ("alerts", "subjectId", ["acht_alerting_0", "acht_alerting_1"], "subjectId", 2),
        ("alerts", "transferId", ["acht_alerting_0", "acht_alerting_1", "acht_99"], "programId", 2),
        ("labels", "transferId", ["acht_1", "acht_0"], "transferId", 2),
        ("dispositions", "decidedBy", ["operator:ann", "policy:policy-v1"], "decidedBy", 1),
        ("transfers", "counterpartyId", ["cpty_9", "cpty_1"], "counterpartyId", 1),
        ("policies", "prefix", ["clock", "ladder"], "version", 2),
        ("programs", "source", ["bank", "simulated"], "source", 2),
    ],
)
def test_given_several_values_when_listed_then_any_of_them_is_found(
    world: World, path: str, name: str, values: list[str], shown: str, there: int
) -> None:
    limit = "" if path in {"policies", "programs"} else "limit=100&"
    each = [found(get(world, path, f"{limit}{name}={value}")) for value in values]
    listed = [get(world, path, f"{limit}{query}") for query in written(name, values)]

    assert found(listed[0]) == found(listed[1]) == set().union(*each) != set()
    assert len(found(listed[0], shown)) == there


def test_given_several_alerts_when_their_decisions_are_listed_then_those_of_each_are_there(world: World) -> None:
    alerts = [world.closed_alert(world.payroll) for _ in range(2)]

    for query in written("alertId", alerts):
        assert found(get(world, "dispositions", query), "alertId") == set(alerts)


def test_given_entities_when_transfers_are_listed_then_those_of_any_of_them_are_there(world: World) -> None:
    for name in ("x", "y", "z"):
        account = an_event(
            "account.created", an_account(id=f"bacc_{name}", owners=[f"enti_{name}"]), event_id=f"e_{name}"
        )
        assert world.api.deliver(world.payroll, account).status_code == 200
        world.land(world.payroll, f"acht_{name}", bank_account_id=f"bacc_{name}")
    world.api.catch_up()

    for query in written("entityId", ["enti_x", "enti_z"]):
        assert found(get(world, "transfers", query)) == {"acht_x", "acht_z"}


@pytest.mark.parametrize("path", LISTS)
def test_given_a_program_that_is_not_there_among_others_when_listed_then_404(world: World, path: str) -> None:
    for unknown in (UNKNOWN_ID, world.theirs["id"]):
        for query in written("programId", [world.payroll["id"], unknown]):
            assert_refused(get(world, path, query), 404, "Unknown program on this tenant.")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("caller", "within", "beyond"),
    [("key of the program", "payroll", "lending"), ("live key", "lending", "simulated")],
)
def test_given_a_key_and_a_program_out_of_its_reach_among_others_when_listed_then_403_before_validation(
    world: World, path: str, caller: str, within: str, beyond: str
) -> None:
    mine, out = (getattr(world, name)["id"] for name in (within, beyond))

    assert get(world, path, f"programId={mine}", caller).status_code == 200
    for query in written("programId", [mine, out]):
        assert_refused(get(world, path, f"{query}&x=1", caller), 403, "program")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("alerts", "programId"),
        ("alerts", "subjectId"),
        ("alerts", "transferId"),
        ("dispositions", "alertId"),
        ("dispositions", "decidedBy"),
        ("labels", "transferId"),
        ("transfers", "entityId"),
        ("transfers", "counterpartyId"),
        ("policies", "prefix"),
        ("programs", "source"),
        ("record/checkpoints", "chain"),
    ],
)
def test_given_a_value_that_is_empty_when_listed_then_400_names_it(world: World, path: str, name: str) -> None:
    for text in ("", "a,"):
        assert_refused(get(world, path, f"{name}={text}"), 400, f"{name}[")


def with_periods() -> list[str]:
    """Every path of the document that takes a period, without those of one thing."""
    committed = msgspec.json.decode((Path(__file__).parents[3] / "docs" / "openapi.json").read_bytes())
    document = without_references(committed)
    return [
        path.removeprefix("/api/")
        for path, operations in document["paths"].items()
        if "{" not in path
        and {"from", "to"} <= {each.get("name") for each in operations.get("get", {}).get("parameters", ())}
    ]


@pytest.mark.parametrize("path", with_periods())
def test_given_a_period_that_ends_before_it_begins_when_read_then_400_and_no_empty_list(
    world: World, path: str
) -> None:
    for start, end in (("2026-03-02", "2026-03-01"), ("2026-03-02", "2026-03-02")):
        answer = get(world, path, f"from={start}&to={end}")
        assert_refused(answer, 400, "from must be before to")
        assert answer.json()["fields"] == [{"path": "from", "code": "conflicting"}]
    assert get(world, path, "from=2026-03-01&to=2026-03-02").status_code == 200


def test_given_lists_that_are_full_when_listed_then_they_are_read_and_one_value_more_is_too_many(world: World) -> None:
    full = {
        "programId": [world.payroll["id"]] * FILTER_LIMIT,
        "subjectId": [f"enti_{number}" for number in range(FILTER_LIMIT)],
        "transferId": [f"acht_{number}" for number in range(FILTER_LIMIT)],
    }
    repeated = "&".join(written(name, values)[0] for name, values in full.items())

    assert found(get(world, "alerts", repeated)) == set()
    assert_refused(get(world, "alerts", f"{repeated}&subjectId=x"), 400, f"subjectId must have at most {FILTER_LIMIT}")


@pytest.mark.parametrize(
    ("path", "one", "same"),
    [
        ("alerts", "status=open,closed", "status=closed&status=open&status=closed"),
        ("transfers", "counterpartyId=cpty_1,cpty_2", "counterpartyId=cpty_2,cpty_1,cpty_1"),
        ("dispositions", "decision=close,hold", "decision=hold,close"),
        ("labels", "transferId=acht_0,acht_1", "transferId=acht_1,acht_0,acht_1"),
    ],
)
def test_given_a_cursor_when_the_same_is_asked_for_in_other_words_then_it_goes_on(
    world: World, path: str, one: str, same: str
) -> None:
    first = get(world, path, f"limit=1&{one}").json()

    rest = get(world, path, f"limit=100&{same}&cursor={first['nextCursor']}")

    whole = get(world, path, f"limit=100&{one}").json()["data"]
    assert rest.status_code == 200, rest.text
    assert [first["data"][0], *rest.json()["data"]] == whole
    other = get(world, path, f"limit=1&{one.partition(',')[0]}&cursor={first['nextCursor']}")
    assert_refused(other, 400, "cursor")


def test_given_both_chains_when_checkpoints_are_listed_then_those_of_both_are_there(world: World) -> None:
    for chain in ("dispositions", "actions"):
        assert get(world, "record/checkpoint", f"chain={chain}").status_code == 200

    assert found(get(world, "record/checkpoints", "chain=actions"), "chain") == {"actions"}
    for query in written("chain", ["dispositions", "actions"]):
        assert found(get(world, "record/checkpoints", query), "chain") == {"dispositions", "actions"}


@pytest.mark.parametrize(
    ("request_type", "stored"),
    [
        (ActionsQuery, ActionFilter),
        (AlertsQuery, AlertFilter),
        (DispositionFilters, DispositionFilter),
        (EventsQuery, EventFilter),
        (LabelsQuery, LabelFilter),
        (SnapshotsQuery, SnapshotFilter),
        (TransferFilters, TransferFilter),
    ],
)
def test_given_a_list_when_its_parameters_are_compared_with_the_filters_of_the_store_then_none_gets_lost(
    request_type: type[msgspec.Struct], stored: type[msgspec.Struct]
) -> None:
    parameters = set(request_type.__struct_encode_fields__) - {"limit", "cursor"}

    assert parameters == set(stored.__struct_encode_fields__) - {"now"}
