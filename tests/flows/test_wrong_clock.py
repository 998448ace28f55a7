"""A real service whose machine's clock is set while it runs, and between two runs."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.support.alerting import ALERTING, DETECTOR, NARRATIVE, outgoing
from tests.support.running_bank import RunningBank
from tests.support.running_service import COMMAND, RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

DAY_S: Final = 24 * 60 * 60
YEAR_S: Final = 365 * DAY_S
SET: Final = """
import mmap, struct, time
real, file = time.time_ns, open({path!r}, "r+b")
ahead = mmap.mmap(file.fileno(), 8)
time.time_ns = lambda: real() + struct.unpack("q", ahead)[0]
from clearhold.store import clock
clock.HOLD_US = {hold_us}
"""


class Machine:
    """A service whose clock is set by this test; a jump has to last for ``hold_us`` to count."""

    def __init__(self, folder: Path, *, hold_us: int = 300_000_000) -> None:
        self._ahead = folder / "ahead"
        self.set_ahead(0)
        command = SET.format(path=str(self._ahead), hold_us=hold_us) + COMMAND
        self.service = RunningService(folder / "data", command=command, patches_loaded=True)

    def set_ahead(self, seconds: int) -> None:
        with self._ahead.open("r+b" if self._ahead.exists() else "wb") as file:
            file.write(struct.pack("q", seconds * 1_000_000_000))

    @property
    def is_doubtful(self) -> bool:
        report = httpx.get(f"http://127.0.0.1:{self.service.port}/readyz").raise_for_status().json()
        assert report["status"] == "ready"
        return bool(report["components"]["clock"] == "degraded")


class Used:
    """A bank with open alerts, which decides about them."""

    def __init__(self, service: RunningService) -> None:
        self.bank = RunningBank(service, "payroll")

    def alert(self, number: int) -> dict[str, Any]:
        transfer, alone = f"acht_{number}", {"bank_account_id": f"bacc_{number}", "counterparty_id": f"cpty_{number}"}
        post_until_taken(self.bank.service, self.bank.program, [outgoing(transfer, **ALERTING, **alone)], within_s=60)
        wait_until_committed(self.bank.service, self.bank.token, transfer)
        listed = self.bank.ask("GET", f"/api/alerts?detector={DETECTOR}&limit=100")["data"]
        found: dict[str, Any] = next(alert for alert in listed if alert["transferId"] == transfer)
        return found

    def decide(self, alert: dict[str, Any]) -> dict[str, Any]:
        body = {"decision": "close", "narrative": NARRATIVE}
        decided: dict[str, Any] = self.bank.ask("POST", f"/api/alerts/{alert['id']}/decide", body, expect=201)
        return decided


def is_now(text: str, *, ahead_s: int = 0) -> bool:
    return abs(datetime.fromisoformat(text) - datetime.now(UTC) - timedelta(seconds=ahead_s)) < timedelta(minutes=5)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    with machine.service:
        yield machine


@pytest.mark.parametrize("jump_s", [YEAR_S, -DAY_S])
def test_given_a_jump_while_serving_when_it_is_corrected_then_it_was_reported_and_every_time_is_right(
    machine: Machine, jump_s: int
) -> None:
    used = Used(machine.service)
    before = used.alert(1)
    machine.set_ahead(jump_s)
    eventually(lambda: machine.is_doubtful)
    during = used.alert(2)
    decided = [used.decide(before), used.decide(during)]
    overdue = used.bank.ask("GET", "/api/clocks/overdue")
    machine.set_ahead(0)
    eventually(lambda: not machine.is_doubtful)
    decided.append(used.decide(used.alert(3)))

    assert [is_now(each["openedAt"]) for each in (before, during)] == [True] * 2
    assert [is_now(each["createdAt"]) for each in decided] == [True] * 3
    assert (overdue["count"], is_now(overdue["asOf"])) == (0, True)
    assert [each["createdAt"] for each in decided] == sorted(each["createdAt"] for each in decided)
    assert used.bank.ask("GET", "/api/record/verify")["ok"]
    lines = "\n".join(machine.service.log_lines)
    assert ("clock_jumped" in lines, "clock_is_right_again" in lines, "clock_jump_counts" in lines) == (
        True,
        True,
        False,
    )


def test_given_a_year_that_counted_when_the_clock_is_set_back_then_nothing_waits_for_the_year_to_pass(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, hold_us=300_000)
    with machine.service as service:
        used = Used(service)
        used.decide(used.alert(1))
        machine.set_ahead(YEAR_S)
        eventually(lambda: is_now(used.bank.ask("GET", "/api/clocks/overdue")["asOf"], ahead_s=YEAR_S))
        assert is_now(used.decide(used.alert(2))["createdAt"], ahead_s=YEAR_S)
        checkpoint = f"{used.bank.url}/api/record/checkpoint?chain=dispositions"
        httpx.get(checkpoint, headers=used.bank.headers).raise_for_status()
        machine.set_ahead(0)
        eventually(lambda: is_now(used.bank.ask("GET", "/api/clocks/overdue")["asOf"]))
        last = used.decide(used.alert(3))
        sizes = {"dispositions": used.bank.ask("GET", "/api/record/verify")["checked"]}
        eventually(
            lambda: (
                {each["size"] for each in used.bank.ask("GET", "/api/record/checkpoints")["data"]} & {*sizes.values()}
            )
        )

        assert is_now(last["createdAt"])
        assert used.bank.ask("GET", "/api/record/verify")["ok"]


def test_given_a_start_with_a_clock_a_day_behind_when_it_is_corrected_then_it_was_reported_and_counts_at_once(
    machine: Machine,
) -> None:
    used = Used(machine.service)
    first = used.decide(used.alert(1))
    machine.service.stop()
    machine.set_ahead(-DAY_S)
    machine.service.start()

    assert machine.is_doubtful
    assert is_now(used.alert(2)["openedAt"], ahead_s=-DAY_S)
    machine.set_ahead(0)
    eventually(lambda: not machine.is_doubtful)
    last = used.decide(used.alert(3))
    assert first["createdAt"] < last["createdAt"]
    assert is_now(last["createdAt"])
    assert used.bank.ask("GET", "/api/record/verify")["ok"]
    assert any("clock_is_behind_the_log" in line for line in machine.service.log_lines)


def test_given_a_start_with_a_clock_a_year_ahead_then_no_alert_runs_out_before_it_can_be_corrected(
    machine: Machine,
) -> None:
    used = Used(machine.service)
    alert = used.alert(1)
    machine.service.stop()
    machine.set_ahead(YEAR_S)
    machine.service.start()

    assert machine.is_doubtful
    machine.set_ahead(0)
    eventually(lambda: not machine.is_doubtful)
    assert alert in used.bank.ask("GET", "/api/alerts?status=open")["data"]
    assert alert["escalatedAt"] is None
    assert used.bank.ask("GET", "/api/clocks/overdue")["count"] == 0
    assert any("clock_is_far_ahead_of_the_log" in line for line in machine.service.log_lines)
