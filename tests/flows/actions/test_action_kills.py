"""A service that ends at any step between an approval, the bank and the outcome acts once and forgets nothing."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from clearhold.demo.bank_api import TEST_KEY, BankApi, TakenAction
from clearhold.flows.running.bank_http import ANSWER_WITHIN_S
from tests.support.running_service import ADMIN_TOKEN, COMMAND, RunningService
from tests.support.waiting import eventually

PARALLEL: Final = 50
WITHIN_S: Final = 60.0

# Where the process ends while the file of that name is there, and how often the bank was asked by then.
STEPS: Final = {"approval": 0, "send": 0, "answer": 1, "outcome": 1, "committed": 1}
FAULTY: Final = """
import os
from pathlib import Path
from clearhold.api.actions.service import ActionService
from clearhold.features.core.log_entry import EntryKind
from clearhold.flows.actions.outcomes import BankActions
from clearhold.flows.actions.executor import ActionExecutor
from clearhold.store.redis_log.appender import LogAppender

def end_at(step):
    if (Path({folder!r}) / step).exists():
        os._exit(9)

def ending_before(owner, name, step):
    function = getattr(owner, name)
    async def wrapped(*args, **kwargs):
        end_at(step)
        return await function(*args, **kwargs)
    setattr(owner, name, wrapped)

ending_before(BankActions, "send", "send")
ending_before(BankActions, "_answer", "answer")

append = LogAppender.append
async def appended(self, shard, kind, *rest):
    offset = await append(self, shard, kind, *rest)
    if kind in (EntryKind.APPROVAL, EntryKind.OUTCOME):
        end_at(kind)
    return offset
LogAppender.append = appended

conclude = ActionExecutor.conclude
async def concluded(self, *args, **kwargs):
    await conclude(self, *args, **kwargs)
    end_at("committed")
ActionExecutor.conclude = concluded
"""


class Service:
    """One service for this module, beside a bank, with a tenant that has a key and a program."""

    def __init__(self, running: RunningService, bank: BankApi, faults: Path) -> None:
        self.running, self.bank, self.faults = running, bank, faults
        tenant = running.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        program = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
        self.program = running.admin("/api/admin/programs", program)
        self.token = tenant["operatorToken"]
        admin = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}
        with self.client("ann") as client:
            key = client.put(f"/api/admin/tenants/{tenant['id']}/bank-key", json={"key": TEST_KEY}, headers=admin)
        assert key.status_code == 204

    def client(self, operator: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}", "X-Operator": operator}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.running.port}", timeout=WITHIN_S, headers=headers)

    def request(self, target: str, type_: str = "freeze_account", **headers: str) -> httpx.Response:
        kind = "account" if type_ == "freeze_account" else "transfer"
        body = {"programId": self.program["id"], "type": type_, "targetType": kind, "targetId": target}
        with self.client("ann") as client:
            return client.post("/api/actions", json=body, headers=headers)

    def approve(self, action_id: str, **headers: str) -> httpx.Response:
        with self.client("bob") as client:
            return client.post(f"/api/actions/{action_id}/approve", headers=headers)

    def read(self, path: str) -> Any:
        with self.client("ann") as client:
            answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def taken(self, target: str) -> list[TakenAction]:
        """What the bank was asked to do to a target."""
        return [each for each in self.bank.actions if f"/{target}/" in each.path]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("kills")
    with BankApi() as bank:
        environment = {"CLEARHOLD_BANK_URL": bank.url, "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}
        command = FAULTY.format(folder=str(folder)) + COMMAND
        options = ("--scorers", "0", "--metrics-port", "0")
        with RunningService(
            folder / "data", *options, command=command, patches_loaded=True, environment=environment
        ) as running:
            yield Service(running, bank, folder)


@pytest.mark.parametrize("step", STEPS)
def test_given_a_service_that_ends_at_a_step_when_started_again_then_the_effect_is_one_and_nothing_is_forgotten(
    service: Service, step: str
) -> None:
    frozen, canceled = f"bacc_{step}", f"acht_{step}"
    waiting = service.request(frozen).json()
    (service.faults / step).touch()
    with contextlib.suppress(httpx.TransportError):
        answer = service.approve(waiting["id"], **{"Idempotency-Key": step})
        assert answer.status_code >= 500, answer.text
    assert service.running.ended_with(within_s=WITHIN_S) == 9
    assert len(service.taken(frozen)) == STEPS[step]

    (service.faults / step).unlink()
    service.running.start()
    eventually(lambda: service.read(f"/api/actions/{waiting['id']}")["status"] == "executed", within_s=WITHIN_S)

    assert service.approve(waiting["id"], **{"Idempotency-Key": step}).json()["status"] == "executed"
    taken = service.taken(frozen)
    assert {each.idempotency_key for each in taken} == {waiting["id"]}  # one effect, by the bank's own rule
    assert len(taken) == (2 if step == "answer" else 1)
    assert service.request(canceled, "cancel_transfer").json()["status"] == "executed"
    assert len(service.taken(canceled)) == 1
    assert service.read("/api/record/verify")["ok"]


def test_given_fifty_approvals_at_once_when_sent_then_the_action_is_carried_out_once(service: Service) -> None:
    waiting = service.request("bacc_many").json()
    ready = threading.Barrier(PARALLEL)

    def approve(_: int) -> httpx.Response:
        ready.wait(WITHIN_S)
        return service.approve(waiting["id"])

    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = list(pool.map(approve, range(PARALLEL)))

    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["status"] for answer in answers} <= {"approved", "executed"}
    assert [each.idempotency_key for each in service.taken("bacc_many")] == [waiting["id"]]
    assert service.read(f"/api/actions/{waiting['id']}")["status"] == "executed"
    report = service.read("/api/record/verify")
    assert report["ok"]
    with service.client("ann") as client:
        links = [line for line in client.get("/api/record/export").text.splitlines() if waiting["id"] in line]
    assert len(links) == 3


def test_given_a_bank_that_hangs_when_the_service_is_stopped_then_it_stops_in_time_and_goes_on_after_the_start(
    service: Service,
) -> None:
    service.bank.hang_next(method="POST")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(service.request, "acht_stop", "cancel_transfer")
        eventually(lambda: service.taken("acht_stop"), within_s=WITHIN_S)
        assert service.running.stop() < ANSWER_WITHIN_S  # of the bank, which hangs
        refused = answer.result(WITHIN_S)
    assert (refused.status_code, refused.json()["code"]) == (503, "not_confirmed")

    service.running.start()
    executed = "/api/actions?status=executed"
    eventually(lambda: "acht_stop" in [each["targetId"] for each in service.read(executed)["data"]])

    assert len({each.idempotency_key for each in service.taken("acht_stop")}) == 1
