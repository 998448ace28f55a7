"""An owner that stops under load and goes on later: its successor has all, and it does nothing more itself."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from clearhold.demo.bank_api import TEST_KEY, BankApi
from clearhold.store.redis_log.owner import FENCED_EXIT
from tests.support.redis_replicas import replicated_redis
from tests.support.running_service import ADMIN_TOKEN
from tests.support.two_nodes import TwoNodes, ids_in, under_load
from tests.support.waiting import eventually
from tests.support.webhook_receiver import Received, WebhookReceiver

STOPPED_S: Final = float(os.environ.get("CLEARHOLD_TEST_STOPPED_S", "8"))
"""At least the time in which the other node takes the log."""

_ADMIN: Final = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}


class Scene:
    """Two nodes, a receiver of webhooks, and the bank that is to carry out actions."""

    def __init__(self, two: TwoNodes, bank: BankApi, receiver: WebhookReceiver) -> None:
        self.two, self.bank, self.receiver = two, bank, receiver

    def act(self, node: int, target: str) -> str:
        """Request an action that is carried out at once; returns its id."""
        body = {"programId": self.two.bank.program["id"], "type": "cancel_transfer", "targetType": "transfer"}
        url = f"http://127.0.0.1:{self.two.nodes[node].port}/api/actions"
        answer = httpx.post(url, json=body | {"targetId": target}, headers=self.two.bank.headers, timeout=30)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return str(answer.json()["id"])


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as opened:
        bank, receiver = opened.enter_context(BankApi()), opened.enter_context(WebhookReceiver())
        primary, _ = opened.enter_context(replicated_redis(tmp_path, 2))
        environment = {"CLEARHOLD_REDIS_URL": primary.url, "CLEARHOLD_REDIS_REPLICAS": "1"}
        environment |= {"CLEARHOLD_BANK_URL": bank.url, "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}
        two = TwoNodes(tmp_path, environment, "--scorers", "1")
        opened.callback(two.end)
        path = f"{two.bank.url}/api/admin/tenants/{two.bank.tenant['id']}/bank-key"
        assert httpx.put(path, json={"key": TEST_KEY}, headers=_ADMIN, timeout=30).status_code == 204
        two.bank.register(receiver.url, "alert.opened")
        two.join()
        yield Scene(two, bank, receiver)


def deliveries(received: list[Received]) -> Counter[str]:
    return Counter(each.header("Score-Delivery") for each in received)


def test_given_an_owner_that_was_stopped_under_load_when_it_goes_on_then_it_is_fenced_and_does_nothing_more(
    scene: Scene,
) -> None:
    two, (former, latter) = scene.two, scene.two.nodes
    with under_load(two) as load:
        eventually(lambda: scene.receiver.received and load.decisions)
        requested = [scene.act(0, f"acht_before_{number}") for number in range(3)]
        stopped_at = time.monotonic()
        pids = [former.pid, *former.scorers()]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        ready = f"http://127.0.0.1:{latter.port}/readyz"
        eventually(lambda: httpx.get(ready, timeout=30).status_code == httpx.codes.OK, within_s=60)
        eventually(partial(load.first_event_after, time.monotonic()))
        confirmed_before = len(load.events)
        received_before = len(scene.receiver.received)
        requested += [scene.act(1, f"acht_after_{number}") for number in range(3)]
        time.sleep(max(0.0, STOPPED_S - (time.monotonic() - stopped_at)))
        received_until_then = len(scene.receiver.received)
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)
        assert former.ended_with(within_s=60) == FENCED_EXIT
        continued_at = time.monotonic()
        eventually(partial(load.first_event_after, continued_at))
        eventually(lambda: len(scene.receiver.received) > received_until_then)
        executed = partial(executed_of, two, requested)
        eventually(lambda: executed() == {"executed"})
    print(f"first 200 {load.first_event_after(stopped_at):.1f} s after the stop")
    latter.stop()

    events_since = {*load.events[confirmed_before:]}
    assert events_since
    assert events_since.isdisjoint(ids_in(former.data, "transfers"))
    assert {*load.events} == {*ids_in(latter.data, "transfers")}
    assert {*load.decisions} <= {*ids_in(latter.data, "dispositions")}
    repeated = {each for each, count in deliveries(scene.receiver.received[received_before:]).items() if count > 1}
    assert repeated == set()
    keys = Counter(each.idempotency_key for each in scene.bank.actions)
    assert {each: keys[each] for each in requested} == dict.fromkeys(requested, 1)


def executed_of(two: TwoNodes, requested: list[str]) -> set[Any]:
    """The states of actions, by the node that took the log."""
    url = f"http://127.0.0.1:{two.nodes[1].port}/api/actions"
    answers = [httpx.get(f"{url}/{each}", headers=two.bank.headers, timeout=30) for each in requested]
    return {each.json()["status"] for each in answers if each.status_code == httpx.codes.OK}
