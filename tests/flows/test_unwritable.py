"""A disk or a log that takes nothing: the service goes on, callers are told, and it ends without a restart."""

import http.client
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.support.alerting import ALERTING, DETECTOR, NARRATIVE, outgoing
from tests.support.running_bank import RunningBank
from tests.support.running_service import ADMIN_TOKEN, COMMAND, RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

SMALL_BYTES: Final = 64
ADMIN: Final = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}
UNWRITABLE: Final = {
    "a full disk": "os.open('/dev/full', os.O_WRONLY)",
    "a pipe without a reader": "without_reader()",
}
WATCHED: Final = """
import os, threading, time
def without_reader():
    reading, writing = os.pipe()
    os.close(reading)
    return writing
def watch():
    usual = os.dup(2)
    while not os.path.exists({fault!r}):
        time.sleep(0.01)
    os.dup2({output}, 2)
    while os.path.exists({fault!r}):
        time.sleep(0.01)
    os.dup2(usual, 2)
threading.Thread(target=watch, daemon=True).start()
"""


class Used:
    """A service with alerts to decide about."""

    def __init__(self, service: RunningService) -> None:
        self.service, self.bank = service, RunningBank(service, "payroll")
        self.transfers: list[str] = []
        self.post()
        alerts = self.bank.ask("GET", f"/api/alerts?detector={DETECTOR}")["data"]
        self.alert: str = alerts[0]["id"]

    def post(self) -> None:
        self.transfers.append(f"acht_{len(self.transfers)}")
        post_until_taken(self.service, self.bank.program, [outgoing(self.transfers[-1], **ALERTING)], within_s=60)
        if len(self.transfers) == 1:
            self.assert_kept()

    def assert_kept(self) -> None:
        for transfer in self.transfers:
            wait_until_committed(self.service, self.bank.token, transfer)

    def answer(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        with httpx.Client(base_url=self.bank.url, headers=headers or self.bank.headers, timeout=30) as client:
            return client.request(method, path, json=body)

    def decide(self) -> httpx.Response:
        return self.answer("POST", f"/api/alerts/{self.alert}/decide", {"decision": "close", "narrative": NARRATIVE})


@pytest.mark.parametrize("output", UNWRITABLE)
def test_given_a_log_that_cannot_be_written_then_the_service_goes_on_and_counts_the_lost_lines(
    tmp_path: Path, output: str
) -> None:
    fault = tmp_path / "fault"
    command = WATCHED.format(fault=str(fault), output=UNWRITABLE[output]) + COMMAND
    with RunningService(tmp_path / "data", "--scorers", "1", command=command, patches_loaded=True) as service:
        used = Used(service)
        fault.touch()
        lines = len(service.log_lines)
        while len(service.log_lines) > lines:
            lines = len(service.log_lines)
        used.post()
        decided = used.decide()
        checkpoint = used.answer("GET", "/api/record/checkpoint?chain=dispositions")
        scorers = service.scorers()
        service.kill_scorers()
        eventually(lambda: service.scorers() not in ([], scorers))
        used.post()
        used.assert_kept()
        fault.unlink()
        eventually(
            lambda: (
                used.answer("GET", "/api/alerts").is_success
                and any("log_lines_lost" in each for each in service.log_lines)
            )
        )

    assert (decided.status_code, checkpoint.status_code) == (201, 200)


class Disk:
    """The files of a service, which can be kept from growing."""

    def __init__(self, service: RunningService) -> None:
        self._service = service

    def limit(self, most_bytes: int) -> None:
        resource.prlimit(self._service.pid, resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Used]:
    with RunningService(tmp_path / "data", "--scorers", "1") as service:
        yield Used(service)


def test_given_a_disk_that_takes_nothing_then_nothing_is_confirmed_and_callers_may_try_again_until_it_does(
    used: Used,
) -> None:
    disk = Disk(used.service)
    disk.limit(SMALL_BYTES)
    answers = [
        used.decide(),
        used.answer("GET", "/api/record/checkpoint?chain=dispositions"),
        used.answer("POST", "/api/admin/signing-keys", {"purpose": "checkpoint"}, ADMIN),
    ]
    eventually(lambda: used.answer("GET", "/readyz").status_code == http.client.SERVICE_UNAVAILABLE)
    taken = used.answer("GET", "/api/alerts")
    disk.limit(resource.RLIM_INFINITY)
    eventually(lambda: used.answer("GET", "/readyz").status_code == http.client.OK)

    assert [(each.status_code, each.headers.get("retry-after") is not None) for each in answers] == [(503, True)] * 3
    assert taken.status_code == http.client.OK
    used.post()
    used.assert_kept()
    assert used.answer("GET", "/api/record/checkpoint?chain=dispositions").status_code == http.client.OK
    key = used.answer("POST", "/api/admin/signing-keys", {"purpose": "checkpoint"}, ADMIN)
    assert key.status_code == http.client.CREATED
    assert used.bank.ask("GET", "/api/record/verify")["ok"]
