"""Every scenario against a running service, in an empty program and in one with months of history."""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from clearhold.demo.bank import SimulatedBank
from clearhold.features.sandbox.scenarios import SCENARIOS, ScenarioName
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, post_in_batches, wait_until_committed

HISTORY = "payroll"  # with few rare pairs, so that the first transfer of two strangers counts for much
SEED = 7


class Sandbox(NamedTuple):
    """A bank with both programs, and the headers of a test key."""

    bank: RunningBank
    programs: dict[str, str]
    key: dict[str, str]

    def run(self, where: str, body: dict[str, Any]) -> Any:
        return self.bank.ask(
            "POST", f"/api/sandbox/{self.programs[where]}/scenario", body, headers=self.key, expect=201
        )

    def detectors_of(self, result: dict[str, Any]) -> list[str]:
        """By name; each alert is the only one of its detector on its subject."""
        paths = [f"/api/alerts/{each}" for each in result["alertIds"]]
        alerts = [self.bank.ask("GET", path, headers=self.key)["alert"] for path in paths]
        subjects = {(alert["detector"], alert["subjectType"], alert["subjectId"]) for alert in alerts}
        assert len(subjects) == len(result["alertIds"])
        return sorted({alert["detector"] for alert in alerts})


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with RunningService(tmp_path_factory.mktemp("sandbox") / "data", "--scorers", "0") as service:
        bank = RunningBank(service)
        programs = {slug: bank.create_program(slug, source="simulated") for slug in ("empty", HISTORY)}
        deliveries = SimulatedBank(SEED).history(time.time_ns() // 1_000, days=45)
        history = [each for each in deliveries if each.program == HISTORY]
        post_in_batches(service, programs[HISTORY], [each.body for each in history])
        newest = [each.transfer_id for each in history if each.transfer_id is not None][-1]
        wait_until_committed(service, bank.token, newest)
        yield Sandbox(bank, {slug: each["id"] for slug, each in programs.items()}, bank.key(mode="test"))


@pytest.mark.parametrize("where", ["empty", HISTORY])
@pytest.mark.parametrize("name", list(ScenarioName))
def test_given_a_scenario_when_it_is_run_twice_then_each_opens_exactly_the_alerts_that_it_states(
    sandbox: Sandbox, name: ScenarioName, where: str
) -> None:
    results = [sandbox.run(where, {"scenario": name.value, "seed": SEED}) for _ in range(2)]

    for result in results:
        assert result["committed"] is True
        assert sandbox.detectors_of(result) == list(SCENARIOS[name].expects)
    assert not set(results[0]["events"]) & set(results[1]["events"])
    assert bool(set(results[1]["alertIds"]) - set(results[0]["alertIds"])) is bool(SCENARIOS[name].expects)
