"""A full import reads everything again, and is never answered with another import's result."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from clearhold.demo.scan_index import ScanAnswer
from clearhold.features.core.instants import HOUR_US
from tests.api.agents.conftest import Agents
from tests.support.clock import T0
from tests.support.running_app import assert_refused
from tests.support.scan_items import a_profile, a_settlement, an_agent, transfer_of, wallet_of
from tests.support.waiting import eventually

FULL = {"full": True}


def imported(agents: Agents, settlements: int = 5) -> None:
    agents.index.put("agents", an_agent())
    agents.index.put("profiles", a_profile(wallet_of(22)))
    first = T0 - 40 * 24 * HOUR_US
    agents.index.put(
        "settlements", *(a_settlement(each, first + each * 8 * 24 * HOUR_US) for each in range(settlements))
    )
    agents.run_import()


def appended(agents: Agents) -> list[str]:
    """The kinds of the program's items in the log."""
    ours = [entry.kind for entry in agents.api.entries() if entry.program_id == agents.program["id"]]
    return [kind for kind in ours if kind in {"agent", "profile", "settlement"}]


@pytest.mark.parametrize("body", [None, {}, {"full": False}])
def test_given_an_ordinary_import_when_done_again_then_it_reads_the_newest_alone(agents: Agents, body: object) -> None:
    imported(agents)
    items = len(appended(agents))

    again = agents.run_import(body)

    assert (again["settlementsScanned"], again["transfers"], len(appended(agents))) == (1, 0, items)


def test_given_an_import_when_it_is_done_again_in_full_then_all_is_read_and_written_and_nothing_is_new(
    agents: Agents,
) -> None:
    imported(agents)
    items = appended(agents)

    full = agents.run_import(FULL)

    assert (full["settlementsScanned"], full["transfers"], full["counterparties"]) == (5, 0, 0)
    assert sorted(appended(agents)) == sorted(items * 2)
    assert agents.run_import()["settlementsScanned"] == 1, "the next one reads on from the newest"


def test_given_an_old_settlement_that_the_index_has_late_when_imported_in_full_then_it_is_there(agents: Agents) -> None:
    imported(agents)
    late = a_settlement(99, T0 - 39 * 24 * HOUR_US)
    agents.index.put("settlements", late)
    assert agents.counts() == (0, 0, 0)

    assert agents.run_import(FULL)["transfers"] == 1
    assert agents.transfer(transfer_of(late))["status"] == "CONFIRMED"


def test_given_a_full_import_that_fails_when_an_item_is_as_it_was_then_the_next_import_takes_it(agents: Agents) -> None:
    imported(agents)
    was = list(agents.index.items["agents"])
    agents.index.replace("agents", [an_agent(name="Another", updatedAt="2026-03-01T00:00:00.001Z")])
    agents.index.answer_next("settlements", ScanAnswer(403))
    assert_refused(agents.post(body=FULL), 502)
    written = appended(agents).count("agent")

    agents.index.replace("agents", was)
    agents.run_import()

    assert appended(agents).count("agent") == written + 1


def test_given_an_import_under_way_when_a_full_one_is_wanted_then_it_waits_and_runs_and_others_join_theirs(
    agents: Agents,
) -> None:
    imported(agents)
    agents.index.requests.clear()
    reached, released = Event(), Event()

    def hold(name: str) -> None:
        if name == "settlements" and not reached.is_set():
            reached.set()
            assert released.wait(30)

    agents.index.on_page = hold
    importer = agents.api.resources.agent_importer
    try:
        with ThreadPoolExecutor(4) as callers:
            ordinary = callers.submit(agents.run_import)
            assert reached.wait(30)
            full = [callers.submit(agents.run_import, FULL) for _ in range(2)]
            eventually(lambda: len(importer._under_way) == 2)  # type: ignore[attr-defined]
            joined = callers.submit(agents.run_import)
            released.set()
            results = [each.result(60)["settlementsScanned"] for each in (ordinary, joined, *full)]
    finally:
        released.set()
        agents.index.on_page = lambda _: None

    assert results == [1, 1, 5, 5]
    assert sum(path.startswith("/v1/settlements") for path in agents.index.requests) == 2
    assert agents.state()["stage"] == "done"


@pytest.mark.parametrize("body", [{"full": "yes"}, {"full": None}, {"all": True}, []])
def test_given_a_body_that_is_another_when_sent_then_it_is_refused(agents: Agents, body: object) -> None:
    assert_refused(agents.post(body=body), 400)
