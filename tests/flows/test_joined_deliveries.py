"""Deliveries that wait on the owner when a node joins are known to that node, and made by it after a take-over."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import pytest

from clearhold.store.data_dir import MASTER_KEY
from tests.support.alerting import ALERTING, outgoing
from tests.support.redis_replicas import replicated_redis
from tests.support.running_bank import RunningBank
from tests.support.running_service import ADMIN_TOKEN, RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually
from tests.support.warm import ran
from tests.support.webhook_receiver import WebhookReceiver

ENVIRONMENT: Final = {
    "CLEARHOLD_REDIS_REPLICAS": "1",
    "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1",
    "CLEARHOLD_ADMIN_TOKEN": ADMIN_TOKEN,
    "CLEARHOLD_METRICS_PORT": "0",
}


@pytest.mark.parametrize("posts_meanwhile", [False, True])
def test_given_deliveries_that_wait_when_a_node_joins_then_it_makes_them_and_no_earlier_one_after_a_take_over(
    tmp_path: Path, *, posts_meanwhile: bool
) -> None:
    is_open = [True]
    with (
        WebhookReceiver(lambda *_: 200 if is_open[0] else 503) as receiver,
        replicated_redis(tmp_path, 1) as (primary, _),
        ExitStack() as opened,
    ):
        environment = ENVIRONMENT | {"CLEARHOLD_REDIS_URL": primary.url}
        one = opened.enter_context(RunningService(tmp_path / "one", "--scorers", "0", environment=environment))
        bank = RunningBank(one, "payroll")
        endpoint = bank.register(receiver.url, "alert.opened")
        path = f"/api/webhooks/{endpoint['id']}/deliveries"
        listed = f"{path}?limit=100"
        post_until_taken(one, bank.program, [outgoing("acht_before", **ALERTING)], within_s=60)
        eventually(lambda: {each["status"] for each in bank.ask("GET", listed)} == {"delivered"})
        earlier = {each.header("Score-Delivery") for each in receiver.received}

        is_open[0] = False
        waits = ["acht_a", "acht_b"]
        post_until_taken(one, bank.program, [outgoing(each, **ALERTING) for each in waits], within_s=60)
        with posting(bank, waits) if posts_meanwhile else nullcontext():
            join = ("join", "--from", bank.url, "--data", tmp_path / "two", "--master-key", one.data / MASTER_KEY)
            joined = ran(*join, environment=environment)
            assert joined.returncode == 0, joined.stderr
        two = opened.enter_context(RunningService(tmp_path / "two", "--scorers", "0", environment=environment))
        eventually(lambda: {each["attempts"] for each in bank.ask("GET", listed)} == {1})
        for each in waits:
            wait_until_committed(one, bank.token, each)
        waiting = {each["id"]: each for each in known(bank, listed) if each["status"] != "delivered"}
        assert waiting
        one.kill()
        refused = len(receiver.received)
        is_open[0] = True

        post_until_taken(two, bank.program, [outgoing("acht_after", **ALERTING)], within_s=60)
        on_two = RunningBank(two, tenant=bank.tenant)
        eventually(lambda: len(receiver.received) > refused)
        on_new_owner = {each["id"]: each for each in known(on_two, listed)}
        assert {name: on_new_owner.get(name) for name in waiting} == waiting
        for each in waiting:
            on_two.ask("POST", f"{path}/{each}/redeliver", {})
        eventually(lambda: {each["status"] for each in on_two.ask("GET", listed)} == {"delivered"})
        made = [each.header("Score-Delivery") for each in receiver.received[refused:]]
    assert {*waiting} < {*made}
    assert len(made) == len({*made})
    assert not earlier & {*made}


def known(bank: RunningBank, path: str) -> list[dict[str, Any]]:
    """The deliveries of a list, without the time at which each node made them."""
    return [{name: value for name, value in each.items() if name != "createdAt"} for each in bank.ask("GET", path)]


@contextmanager
def posting(bank: RunningBank, posted: list[str]) -> Iterator[None]:
    """Post events that open alerts, one after the other, until the block ends; ``posted`` gets their transfers."""
    ending = threading.Event()

    def post() -> None:
        while not ending.wait(0.25):
            name = f"acht_{len(posted)}"
            post_until_taken(bank.service, bank.program, [outgoing(name, **ALERTING)], within_s=60)
            posted.append(name)

    thread = threading.Thread(target=post)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
