"""A history that came in another order and was rescored has the vectors of the history in order, and its scores."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import LogEntry
from tests.oracle.comparing import differences
from tests.oracle.effort import STREAMS
from tests.oracle.late import SPLITS, expected_of, history, own_time, tardy_history
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
    """A program that is told the events, each at its own time or all at one instant."""
    program = api.create_program(tenant, slug=slug)
    for entry in events:
        api.clock.at = own_time(entry) if at is None else at
        assert api.deliver(program, entry.body).status_code == 200
    api.catch_up()
    return program


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
        for id_, one in first.items():
            other = second[id_]
            names = ("score", "scoreBand", "scoreN", "scoreConfidence", "scoreInputs")
            lines += [f"{id_}.{name}: {other[name]} is not {one[name]}" for name in names if one[name] != other[name]]
        if lines:
            found[seed] = lines

    assert not found, f"{len(found)} streams differ, the first: {next(iter(found.items()))}"


@pytest.mark.parametrize("split", SPLITS)
def test_given_owners_and_transfers_that_are_told_late_when_both_orders_are_rescored_then_they_are_equal(
    api: RunningApp, tenant: dict[str, Any], split: str
) -> None:
    found: dict[int, list[str]] = {}
    for seed in range(max(1, STREAMS // len(SPLITS))):
        events = tardy_history(seed, HAPPENINGS)
        after = own_time(events[-1]) + DAY_US
        programs = [
            told(api, tenant, f"{split[:3]}-{number}-{seed}", order, at=after)
            for number, order in enumerate((events, SPLITS[split](Random(seed), events)))
        ]
        api.clock.at = after
        for program in programs:
            rescored(api, tenant, program)

        first, second = (transfers_of(api, tenant, program) for program in programs)
        names = ("entityId", "score", "scoreBand", "scoreN", "scoreConfidence", "scoreInputs")
        lines = [
            f"{id_}.{name}: {second[id_][name]} is not {one[name]}"
            for id_, one in first.items()
            for name in names
            if one[name] != second[id_][name]
        ]
        if lines:
            found[seed] = lines

    assert not found, f"{len(found)} streams differ, the first: {next(iter(found.items()))}"
