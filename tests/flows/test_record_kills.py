"""The chain is whole, in the tables and in its file, wherever between the log and the answer the process ends."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import duckdb
import httpx
import pytest

from clearhold.store.record.chain import links_of
from clearhold.store.record.chain_file import line_of
from tests.support.alerting import ALERTING, DETECTOR, NARRATIVE, outgoing
from tests.support.running_service import COMMAND, RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

PARALLEL: Final = 50
PROGRAMS: Final = ("payroll", "lending", "remittance", "cards", "wages")

# Each lets the first append to a chain's file end the process, at another moment.
FAULTS: Final = {
    "before the append": "",
    "in the middle of the append": "append(path, content[: len(content) // 2]);",
    "after the append": "append(path, content);",
}
FAULTY: Final = """
import os
from clearhold.store.record import chain_file
append = chain_file.append_durably
def die(path, content):
    {fault}
    os._exit(9)
chain_file.append_durably = die
"""


class Bank:
    """A tenant with a program in each of several shards."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        self.headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
        self.token = tenant["operatorToken"]
        self.programs = [
            service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": slug, "name": slug})
            for slug in PROGRAMS
        ]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.service.port}", timeout=60, headers=self.headers)

    def alerts(self, count: int) -> list[str]:
        """Open alerts, on as many programs as there are."""
        for number in range(count):
            program, name = self.programs[number % len(self.programs)], f"acht_{number}"
            alone = {"bank_account_id": f"bacc_{number}", "counterparty_id": f"cpty_{number}"}
            post_until_taken(self.service, program, [outgoing(name, **ALERTING, **alone)], within_s=60)
        for number in range(max(0, count - len(self.programs)), count):
            wait_until_committed(self.service, self.token, f"acht_{number}")
        with self.client() as client:
            listed = client.get("/api/alerts", params={"detector": DETECTOR, "limit": 100}).json()["data"]
        assert len(listed) == count
        return [alert["id"] for alert in listed]

    def decide(self, client: httpx.Client, alert_id: str) -> httpx.Response:
        body = {"decision": "close", "narrative": NARRATIVE}
        return client.post(f"/api/alerts/{alert_id}/decide", json=body, headers={"Idempotency-Key": alert_id})

    def report(self) -> dict[str, Any]:
        with self.client() as client:
            report: dict[str, Any] = client.get("/api/record/verify").json()
        return report


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    with RunningService(tmp_path / "data") as running:
        yield running


def assert_whole(data: Path, links: int) -> None:
    """One unforked chain, and the same in the file, of a service that has stopped."""
    (path,) = (data / "record").glob("*/dispositions.ndjson")
    with contextlib.closing(duckdb.connect(str(data / "clearhold.duckdb"), read_only=True)) as database:
        key = (path.parent.name, "dispositions")
        rows = [row for page in links_of(database.cursor(), key, 0, links + 10) for row in page]
    assert [row.seq for row in rows] == list(range(links))
    assert [row.prev_hash for row in rows] == [None, *(row.hash for row in rows[:-1])]
    assert len({row.id for row in rows}) == links
    assert path.read_bytes() == b"".join(map(line_of, rows))


def test_given_fifty_decisions_at_once_in_several_shards_when_made_then_there_is_one_unforked_chain(
    service: RunningService,
) -> None:
    bank = Bank(service)
    alerts = bank.alerts(PARALLEL)
    before = bank.report()["checked"]
    ready = threading.Barrier(PARALLEL)
    with bank.client() as client, ThreadPoolExecutor(PARALLEL) as pool:

        def call(alert_id: str) -> httpx.Response:
            ready.wait(60)
            return bank.decide(client, alert_id)

        answers = list(pool.map(call, alerts))

    assert {answer.status_code for answer in answers} == {201}
    report = bank.report()
    assert report["ok"]
    assert report["checked"] == before + PARALLEL
    assert len({answer.json()["hash"] for answer in answers}) == PARALLEL
    with bank.client() as client:  # The service signs a chain that has not been signed before without being asked.
        eventually(lambda: client.get("/api/record/checkpoints").json()["data"])
    service.stop()
    assert_whole(service.data, before + PARALLEL)


@pytest.mark.parametrize("fault", FAULTS)
def test_given_a_process_that_ends_around_the_append_when_started_and_asked_again_then_the_link_is_there_once(
    service: RunningService, fault: str
) -> None:
    bank = Bank(service)
    alerts = bank.alerts(3)
    before = bank.report()["checked"]
    service.stop()

    service.command = FAULTY.format(fault=FAULTS[fault]) + COMMAND
    service.start()
    with bank.client() as client, contextlib.suppress(httpx.TransportError):
        assert bank.decide(client, alerts[0]).status_code != 201
    assert service.ended_with(within_s=60) == 9
    service.command = COMMAND
    service.start()
    with bank.client() as client:
        first, again = bank.decide(client, alerts[0]), bank.decide(client, alerts[0])
        second = bank.decide(client, alerts[1])

    assert (first.status_code, again.status_code, second.status_code) == (201, 201, 201)
    assert first.json() == again.json()
    assert second.json()["prevHash"] == first.json()["hash"]
    report = bank.report()
    assert report["ok"]
    assert report["checked"] == before + 2
    service.stop()
    assert_whole(service.data, before + 2)
