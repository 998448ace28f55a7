"""Before the log of the start is replayed nobody is told that an event is new, and ``/readyz`` says how far it is."""

import contextlib
import hashlib
import hmac
import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.support.alerting import outgoing
from tests.support.running_service import ADMIN_TOKEN, COMMAND, RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

EVENTS: Final = 60
A_ENTRY_S: Final = 0.5
SLOWLY: Final = f"""
import time
from pathlib import Path
from clearhold.features.shard.shard import ShardState
apply = ShardState.apply
def slowly(self, entry, emit, **options):
    walks = entry.kind == "bank" and not Path(__file__).with_name("run").exists()
    time.sleep({A_ENTRY_S} if walks else 0)
    apply(self, entry, emit, **options)
ShardState.apply = slowly
"""


def answer_of(service: RunningService, method: str, path: str, body: bytes | None = None, **headers: str) -> Any:
    """Status, Retry-After and decoded body; None while nobody listens."""
    try:
        with contextlib.closing(service.connect()) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers["Retry-After"], msgspec.json.decode(answer.read())
    except (OSError, http.client.HTTPException):
        return None


def replay_of(service: RunningService) -> dict[str, Any]:
    """How far the log is replayed, of the service's own account; nothing while nobody listens."""
    answer = answer_of(service, "GET", "/readyz")
    return {} if answer is None else answer[2].get("replay", {})


@contextlib.contextmanager
def replaying_slowly(service: RunningService, folder: Path, scorers: str) -> Iterator[None]:
    """The service started again, listening, with its log replayed at a walk, until there is a file ``run``."""
    (folder / "sitecustomize.py").write_text(SLOWLY)  # scorers are processes of their own
    arguments = ["serve", "--data", str(service.data), "--port", str(service.port), "--scorers", scorers]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"CLEARHOLD_ADMIN_TOKEN": ADMIN_TOKEN, "PYTHONPATH": str(folder)},
    )
    try:
        eventually(lambda: replay_of(service).get("shardsBehind") == 1)  # more, until a scorer has said what it holds
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("scorers", ["0", "1"])
def test_given_a_log_that_is_being_replayed_when_an_event_comes_again_then_503_and_later_it_is_a_duplicate(
    tmp_path: Path, scorers: str
) -> None:
    service = RunningService(tmp_path / "data", "--scorers", scorers)
    with service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        program = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"})
        bodies = [outgoing(f"acht_{number}") for number in range(EVENTS)]
        post_until_taken(service, program, bodies, within_s=60)
        wait_until_committed(service, tenant["operatorToken"], f"acht_{EVENTS - 1}")
        service.kill()  # all is committed, and there is no snapshot
    signature = hmac.new(program["ingestSecret"].encode(), bodies[-1], hashlib.sha256).hexdigest()
    path = f"/api/ingest/bank/{program['id']}"

    with replaying_slowly(service, tmp_path, scorers):
        status, retry_after, _ = answer_of(service, "POST", path, bodies[-1], **{"Bank-Signature": signature})
        unready, _, report = answer_of(service, "GET", "/readyz")
        assert (status, retry_after) == (503, "1")
        assert (unready, report["status"], report["components"]["flow"]) == (503, "unavailable", "down")
        assert (report["replay"]["shards"], report["replay"]["shardsBehind"]) == (16, 1)
        assert (report["replay"]["replayedUntil"] or "") < report["replay"]["logUntil"]

        (tmp_path / "run").touch()
        eventually(lambda: answer_of(service, "GET", "/readyz")[0] == 200)
        status, _, taken = answer_of(service, "POST", path, bodies[-1], **{"Bank-Signature": signature})
        assert (status, taken) == (200, {"received": True, "duplicate": True})
        assert "replay" not in answer_of(service, "GET", "/readyz")[2]
