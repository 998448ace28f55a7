"""A service that cannot commit says so: nothing is answered as done, nothing is lost, and it goes on once it can."""

from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.support.alerting import outgoing
from tests.support.running_bank import RunningBank
from tests.support.running_service import ADMIN_TOKEN, COMMAND, RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

FAULTY: Final = """
import duckdb
from pathlib import Path
from clearhold.store.duck.database import BatchWriter

commit = BatchWriter.commit
def committed(self, *args, **kwargs):
    if Path({fault!r}).exists():
        raise {error}
    return commit(self, *args, **kwargs)
BatchWriter.commit = committed
"""


@pytest.mark.parametrize("scorers", ["0", "1"])
def test_given_commits_that_fail_when_asked_then_the_flow_is_down_until_they_succeed(
    tmp_path: Path, scorers: str
) -> None:
    fault = tmp_path / "fault"
    options = ("--scorers", scorers, "--metrics-port", "0")
    command = FAULTY.format(fault=str(fault), error="OSError('No space left on device')") + COMMAND
    admin = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}
    with (
        RunningService(tmp_path / "data", *options, command=command, patches_loaded=True) as service,
        httpx.Client(base_url=f"http://127.0.0.1:{service.port}", headers=admin, timeout=30) as client,
    ):

        def flow() -> str:
            state: str = client.get("/readyz").json()["components"]["flow"]
            return state

        assert flow() == "up"
        fault.touch()
        tenant = client.post("/api/admin/tenants", json={"slug": "bank", "name": "Bank"}).json()
        wanted = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
        assert client.post("/api/admin/programs", json=wanted).status_code == 201

        eventually(lambda: flow() == "down")
        assert client.get("/readyz").status_code == 503
        fault.unlink()
        eventually(lambda: flow() == "up")


def test_given_a_database_that_must_be_opened_again_then_the_service_ends_and_the_next_one_has_what_was_taken(
    tmp_path: Path,
) -> None:
    fault = tmp_path / "fault"
    command = FAULTY.format(fault=str(fault), error="duckdb.FatalException('database has been invalidated')") + COMMAND
    with RunningService(tmp_path / "data", command=command, patches_loaded=True) as service:
        bank = RunningBank(service, "payroll")
        fault.touch()
        post_until_taken(service, bank.program, [outgoing("acht_1")], within_s=60)

        assert service.ended_with(within_s=60) != 0
        fault.unlink()
        service.start()
        wait_until_committed(service, bank.token, "acht_1")
        assert bank.ask("GET", "/api/record/verify")["ok"]
