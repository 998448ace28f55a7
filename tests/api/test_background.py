"""Background work of a real service: an error of it is logged, counted and shown, and the work goes on."""

import json
import threading
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from clearhold.api.background import WorkName
from clearhold.demo.scan_index import ScanIndex
from clearhold.features.core.instants import format_instant
from clearhold.store.clock import SystemClock
from tests.support.running_bank import RunningBank
from tests.support.running_service import COMMAND, RunningService
from tests.support.scan_items import an_agent
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver

FIRST_RUNS_FAIL: Final = """
import asyncio, sys
from pathlib import Path
from clearhold.flows.running import supervision

supervision.STEADY_AFTER_S = 3_600
folder = Path({folder!r})
original = supervision.Supervision.__init__

def failing(name, work):
    async def run():
        if not (folder / f"{{name}}.failed").exists():
            (folder / f"{{name}}.failed").touch()
            raise OSError(f"The first run of {{name}} fails.")
        (folder / f"{{name}}.again").touch()
        while not (folder / "released").exists():
            await asyncio.sleep(0.01)
        await work.run()
    return supervision.Work(run, work.may_finish)

def faulty(self, works, **over):
    original(self, {{name: failing(name, work) for name, work in works.items()}}, **over)

supervision.Supervision.__init__ = faulty
"""
"""Each piece of work fails once. Its second run waits until it is released, and is the real one then. Work stays
degraded for an hour, however slow the machine is.
"""

FAULTY_READS: Final = """
import duckdb
from clearhold.flows.running import supervision
from clearhold.flows.webhooks.dispatcher import WebhookDispatcher
from clearhold.store.duck.parties import AgentImports

def failing_once(owner, name):
    original, failures = getattr(owner, name), [duckdb.IOException("The disk does not answer.")]
    def call(*arguments, **named):
        if failures:
            raise failures.pop()
        return original(*arguments, **named)
    setattr(owner, name, call)

supervision.STEADY_AFTER_S = 3_600
failing_once(AgentImports, "newest")
failing_once(WebhookDispatcher, "_is_sent_to")
"""
"""The first look at the imports of agents fails, and the first round of webhooks that has an endpoint."""

MAY_FINISH: Final = {
    WorkName.AGENTS,
    WorkName.BACKFILLS,
    WorkName.DIRECTORY,
    WorkName.LOST_POLICIES,
    WorkName.WAITING_ALERTS,
}
"""The work that ends in a service without a bank, a scan index and unfinished backfills."""

LOCAL: Final = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}


def logged(service: RunningService, event: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, service.log_lines) if line["event"] == event]


def ended_work(service: RunningService) -> list[str]:
    return [line["work"] for line in logged(service, "background_work_ended")]


def readiness(service: RunningService) -> dict[str, Any]:
    answer = httpx.get(f"http://127.0.0.1:{service.port}/readyz").raise_for_status()
    report: dict[str, Any] = answer.json()
    return report


def periodic_review(bank: RunningBank) -> dict[str, Any]:
    sent = {"programId": bank.program["id"], "type": "periodic_review", "targetType": "program"}
    action: dict[str, Any] = bank.ask("POST", "/api/actions", sent | {"targetId": bank.program["id"]}, expect=201)
    return action


class Series:
    """The metrics of background work, each by the work's name."""

    def __init__(self, service: RunningService) -> None:
        address = logged(service, "metrics_on")[-1]["address"]
        self._lines = httpx.get(address).raise_for_status().text.splitlines()

    def by_work(self, name: str) -> dict[str, float]:
        lines = [line for line in self._lines if line.startswith(f"clearhold_background_work_{name}{{")]
        return {line.split('"')[1]: float(line.split()[-1]) for line in lines}


class AfterFailures:
    """A service of which each piece of background work has failed once, and runs again."""

    def __init__(self, folder: Path) -> None:
        with (
            WebhookReceiver() as receiver,
            RunningService(
                folder / "data",
                "--scorers",
                "0",
                command=FIRST_RUNS_FAIL.format(folder=str(folder)) + COMMAND,
                environment=LOCAL,
            ) as service,
        ):
            eventually(lambda: all((folder / f"{name}.again").exists() for name in WorkName))
            self.readiness, self.degraded = readiness(service), Series(service).by_work("degraded")
            (folder / "released").touch()
            eventually(lambda: not MAY_FINISH & {*readiness(service)["degradedWork"]})
            bank = RunningBank(service, "payroll")
            self.action = periodic_review(bank)
            bank.ask("POST", f"/api/webhooks/{bank.register(receiver.url)['id']}/test")
            self.deliveries = len(receiver.wait_for(1))
            self.released, self.failures = readiness(service), Series(service).by_work("failures_total")
            self.stopped_in_s = service.stop()
            self.ended = ended_work(service)


@pytest.fixture(scope="module")
def after_failures(tmp_path_factory: pytest.TempPathFactory) -> AfterFailures:
    return AfterFailures(tmp_path_factory.mktemp("background"))


@pytest.mark.parametrize("name", WorkName)
def test_given_work_that_fails_once_then_it_is_logged_counted_shown_and_begun_again(
    after_failures: AfterFailures, name: WorkName
) -> None:
    assert after_failures.ended.count(name) == 1
    assert after_failures.failures[name] == 1
    assert name in after_failures.readiness["degradedWork"]
    assert after_failures.degraded[name] == 1
    assert (name in after_failures.released["degradedWork"]) is (name not in MAY_FINISH)


def test_given_work_that_failed_then_all_of_it_has_a_name_and_the_service_is_ready_and_does_its_work(
    after_failures: AfterFailures,
) -> None:
    assert {*after_failures.ended} == {*WorkName} == {*after_failures.failures}
    assert (after_failures.readiness["status"], after_failures.readiness["components"]) == (
        "ready",
        dict.fromkeys(("database", "redis", "flow", "preflights", "log", "clock"), "up") | {"background": "degraded"},
    )
    assert after_failures.action["status"] == "executed"
    assert after_failures.deliveries == 1


def test_given_tables_that_cannot_be_read_once_then_agents_are_imported_and_webhooks_delivered(tmp_path: Path) -> None:
    with ScanIndex(as_of=format_instant(SystemClock().now())) as index, WebhookReceiver() as receiver:
        environment = LOCAL | {"CLEARHOLD_SCAN_INDEX_URL": index.url}
        with RunningService(tmp_path / "data", "--scorers", "0", environment=environment) as service:
            bank = RunningBank(service, "agents")
            endpoint = bank.register(receiver.url)
            service.stop()
            index.put("agents", an_agent())
            service.command = FAULTY_READS + COMMAND
            service.start()
            eventually(lambda: {*ended_work(service)} == {WorkName.AGENTS, WorkName.WEBHOOKS})
            eventually(lambda: bank.ask("GET", "/api/agents"))
            bank.ask("POST", f"/api/webhooks/{endpoint['id']}/test")
            receiver.wait_for(1)
            shown, failures = readiness(service), Series(service).by_work("failures_total")

    assert (shown["components"]["background"], {*shown["degradedWork"]}) == (
        "degraded",
        {WorkName.AGENTS, WorkName.WEBHOOKS},
    )
    assert {name for name, count in failures.items() if count} == {WorkName.AGENTS, WorkName.WEBHOOKS}
    assert sorted(ended_work(service)) == [WorkName.AGENTS, WorkName.WEBHOOKS]


def test_given_a_scorer_that_is_killed_as_soon_as_it_is_ready_when_an_action_is_requested_then_it_is_executed(
    tmp_path: Path,
) -> None:
    """The start then asks a scorer that is gone whether policies in force were lost."""

    def kill_first_scorer() -> None:
        eventually(lambda: len(logged(service, "scorer_ready")) > ready_before)
        killed.append(service.kill_scorers())

    killed: list[int] = []
    with RunningService(tmp_path / "data", "--scorers", "1") as service:
        bank = RunningBank(service, "payroll")
        clock = {"autoHours": 1, "standardHours": 8, "complexHours": 48.5, "appealHours": 48}
        policy = bank.ask("POST", "/api/policies", {"version": "clock-v2", "body": clock}, expect=201)
        action = bank.ask("POST", f"/api/policies/{policy['id']}/activate", {"note": "As agreed."}, expect=201)
        bank.ask("POST", f"/api/actions/{action['id']}/approve", {"approverId": "ben"})
        service.stop()
        ready_before = len(logged(service, "scorer_ready"))
        killing = threading.Thread(target=kill_first_scorer)
        killing.start()
        service.start()
        killing.join()
        eventually(lambda: len(logged(service, "scorer_ready")) == ready_before + 2)
        eventually(lambda: readiness_status(service) == "ready")

        executed = periodic_review(bank)

        assert executed["status"] == "executed"
        assert killed == [1]
        assert {*ended_work(service)} <= {WorkName.LOST_POLICIES}


def readiness_status(service: RunningService) -> str:
    status: str = httpx.get(f"http://127.0.0.1:{service.port}/readyz").json()["status"]
    return status
