"""A history that came out of order and was rescored has the vectors and scores of the history in order."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import LogEntry
from tests.oracle.comparing import differences
from tests.oracle.effort import STREAMS
from tests.oracle.late import SPLITS, expected_of, history, mixed_history, own_time, tardy_history
from tests.support.running_app import RunningApp

HAPPENINGS = 15


def transfers_of(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    query: dict[str, Any] = {"programId": program["id"], "limit": 100}
    while True:
        page = api.client.get("/api/transfers", params=query, headers=api.operator(tenant)).json()
        found |= {transfer["id"]: transfer for transfer in page["data"]}
        if not page["hasMore"]:
            return found
        query["cursor"] = page["nextCursor"]


def told(
    api: RunningApp, tenant: dict[str, Any], slug: str, events: Iterable[LogEntry], *, at: int | None = None
) -> dict[str, Any]:
    """A program to which the events are delivered, each at its own time or all at one instant."""
    program = api.create_program(tenant, slug=slug)
    for entry in events:
        api.clock.at = own_time(entry) if at is None else at
        assert api.deliver(program, entry.body).status_code == 200
    api.catch_up()
    return program


def unequal(transfer_id: str, one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """A line for each thing in which the scores of two transfers differ."""
    names = ("entityId", "score", "scoreBand", "scoreN", "scoreConfidence")
    parts: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({name: one[name] for name in names}, other),
        (one["scoreInputs"]["features"], other["scoreInputs"]["features"]),
        ({name: value for name, value in one["scoreInputs"].items() if name != "features"}, other["scoreInputs"]),
    ]
    return [
        f"{transfer_id}.{name}: {second[name]} is not {value}"
        for first, second in parts
        for name, value in first.items()
        if second[name] != value
    ]


def rescored(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {tenant['operatorToken']}"}
    assert api.client.post(f"/api/skoor/backfill/{program['id']}", headers=headers).status_code == 200
    api.catch_up()


@pytest.mark.parametrize("split", SPLITS)
def test_given_histories_in_another_order_when_rescored_then_all_is_as_in_order(
    api: RunningApp, tenant: dict[str, Any], split: str
) -> None:
    found: dict[int, list[str]] = {}
    for seed in range(max(1, STREAMS // len(SPLITS))):
        events = history(seed, HAPPENINGS)
        after = own_time(events[-1]) + DAY_US
        in_order = told(api, tenant, f"{split[:3]}-a-{seed}", events)
        late = told(api, tenant, f"{split[:3]}-b-{seed}", SPLITS[split](Random(seed), events), at=after)
        api.clock.at = after
        rescored(api, tenant, late)

        first, second = (transfers_of(api, tenant, program) for program in (in_order, late))
        lines = [
            line
            for id_, expected in expected_of(events).items()
            for program in (first, second)
            for line in differences(program[id_]["scoreInputs"]["features"], expected)
        ]
        lines += [line for id_, one in first.items() for line in unequal(id_, one, second[id_])]
        if lines:
            found[seed] = lines

    assert not found, f"{len(found)} streams differ, the first: {next(iter(found.items()))}"


@pytest.mark.parametrize("story", [tardy_history, mixed_history])
@pytest.mark.parametrize("split", SPLITS)
def test_given_what_is_told_late_or_spelled_in_many_ways_when_both_orders_are_rescored_then_they_are_equal(
    api: RunningApp, tenant: dict[str, Any], split: str, story: Callable[[int, int], list[LogEntry]]
) -> None:
    found: dict[int, list[str]] = {}
    for seed in range(max(1, STREAMS // len(SPLITS))):
        events = story(seed, HAPPENINGS)
        after = own_time(events[-1]) + DAY_US
        programs = [
            told(api, tenant, f"{split[:3]}-{number}-{seed}", order, at=after)
            for number, order in enumerate((events, SPLITS[split](Random(seed), events)))
        ]
        api.clock.at = after
        for program in programs:
            rescored(api, tenant, program)

        first, second = (transfers_of(api, tenant, program) for program in programs)
        lines = [line for id_, one in first.items() for line in unequal(id_, one, second[id_])]
        if lines:
            found[seed] = lines

    assert not found, f"{len(found)} streams differ, the first: {next(iter(found.items()))}"
