"""Kill -9 of the service, its scorers, its Redis, and all of them, under load: nothing is lost, nothing doubled."""

import threading
import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.instants import DAY_US
from clearhold.store.redis_log.connect import connect_sync
from tests.support.running_bank import RunningBank
from tests.support.running_service import (
    RunningService,
    post_in_batches,
    post_until_taken,
    tables_of,
    wait_until_committed,
)
from tests.support.told_owners import owners_told

UNTIL = 1_780_000_000_000_000
KILLS = 12
EVENTS = 5_400
WITHIN_S = 240.0


def bodies_of_one_program() -> list[bytes]:
    bank = SimulatedBank(11)
    history = [delivery.body for delivery in bank.history(UNTIL) if delivery.program == "remittance"]
    return [*owners_told(bank, "remittance", at=UNTIL - 120 * DAY_US), *history[:EVENTS]]


def the_last_transfer(bodies: list[bytes]) -> str:
    """The newest transfer id that a body names."""
    marker = b'"data":{"id":"'
    for body in reversed(bodies):
        if marker in body and b'"amount":' in body:
            return body.split(marker)[1].split(b'"')[0].decode()
    raise AssertionError(bodies)


class Killer:
    """Kills the service, scorers, Redis or all, at random moments, and starts again what does not start by itself."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self.posting = threading.Event()
        self.under_load = 0
        self.redis_killed = self.scorers_killed = 0

    def run(self, service: RunningService) -> None:
        for turn in range(KILLS):
            time.sleep(self._chance.uniform(0.02, 0.5))  # The moment must not depend on the service's state.
            what = ("service", "redis", "scorers", "all")[turn % 4]
            self.under_load += self.posting.is_set()
            if what in ("redis", "all"):
                self.redis_killed += service.kill_redis()
            if what in ("scorers", "all"):
                self.scorers_killed += service.kill_scorers()
            if what in ("service", "all"):
                service.kill()
                service.start()


def post_under_kills(service: RunningService, program: dict[str, Any], bodies: list[bytes], killer: Killer) -> None:
    killing = threading.Thread(target=killer.run, args=(service,))
    killer.posting.set()
    killing.start()
    post_until_taken(service, program, bodies, within_s=WITHIN_S)
    killer.posting.clear()
    killing.join(WITHIN_S)
    assert not killing.is_alive()


def a_run(
    folder: Path, bodies: list[bytes], killer: Killer | None = None, *, scorers: int
) -> dict[str, list[tuple[Any, ...]]]:
    """Post everything, in batches or one by one under kills; the tables after a clean stop."""
    folder.mkdir()
    with RunningService(folder / "data", "--scorers", str(scorers)) as service:
        bank = RunningBank(service)
        program = bank.create_program("remittance", declaredRails=["realtime"])
        bank.rule_in_force(
            "acts", action="alert", severity="low", when=[{"field": "amountCents", "op": "gte", "value": 80_000}]
        )
        bank.rule_in_testing("tries", when=[{"field": "velocity24hCount", "op": "gte", "value": 2}])
        if killer is None:
            post_in_batches(service, program, bodies)
        else:
            post_under_kills(service, program, bodies, killer)
        wait_until_committed(service, bank.token, the_last_transfer(bodies))
        service.stop()
    return tables_of(folder / "data")


def test_given_kills_at_random_moments_when_all_is_posted_then_the_record_is_that_of_a_run_never_killed(
    tmp_path: Path,
) -> None:
    bodies = bodies_of_one_program()

    undisturbed = a_run(tmp_path / "undisturbed", bodies, scorers=0)
    killer = Killer(seed=4)
    killed = a_run(tmp_path / "killed", bodies, killer, scorers=2)

    assert killer.under_load == KILLS
    assert killer.redis_killed >= KILLS // 3
    assert killer.scorers_killed >= KILLS // 3
    assert undisturbed["quarantine"] == []
    assert len(undisturbed["features"]) > EVENTS // 5
    assert {(rule, mode) for rule, mode, *_ in undisturbed["rule_matches"]} == {("tries", "shadow")}
    assert [key for key, *_ in undisturbed["alerts"] if "rule:acts" in key]
    for table, rows in undisturbed.items():
        assert killed[table] == rows, table


def test_given_a_log_that_is_no_log_any_more_when_the_flow_ends_then_the_service_ends_too_and_says_so(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data") as service, closing(connect_sync(service.data / "redis.sock")) as client:
        client.delete("log:0")
        client.set("log:0", "no stream")

        assert service.ended_with(within_s=60) != 0

    assert "The flow ended unexpectedly" in (tmp_path / "service.log").read_text()
