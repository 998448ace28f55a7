"""A service that cannot commit says so: nothing is answered as done, nothing is lost, and it goes on once it can."""

from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.support.running_service import ADMIN_TOKEN, COMMAND, RunningService
from tests.support.waiting import eventually

FAULTY: Final = """
from pathlib import Path
from clearhold.store.duck.database import BatchWriter

commit = BatchWriter.commit
def committed(self, *args, **kwargs):
    if Path({fault!r}).exists():
        raise OSError("No space left on device")
    return commit(self, *args, **kwargs)
BatchWriter.commit = committed
"""


@pytest.mark.parametrize("scorers", ["0", "1"])
def test_given_commits_that_fail_when_asked_then_the_flow_is_down_until_they_succeed(
    tmp_path: Path, scorers: str
) -> None:
    fault = tmp_path / "fault"
    options = ("--scorers", scorers, "--metrics-port", "0")
    command = FAULTY.format(fault=str(fault)) + COMMAND
    admin = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}
    with (
        RunningService(tmp_path / "data", *options, command=command) as service,
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
