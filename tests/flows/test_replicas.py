"""A service whose log's replicas must confirm each write, while they stop, go on and are lost."""

import hashlib
import hmac
import http.client
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.api.cli.test_mixed_up import refusal
from tests.support.alerting import outgoing
from tests.support.redis_replicas import RedisProcess, replicated_redis
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

Servers = tuple[RedisProcess, list[RedisProcess]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with replicated_redis(tmp_path_factory.mktemp("replicated"), 1) as opened:
        yield opened


def redis_state(bank: RunningBank) -> tuple[int, str]:
    answer = httpx.get(f"{bank.url}/readyz", timeout=30)
    return answer.status_code, answer.json()["components"]["redis"]


def post(bank: RunningBank, body: bytes) -> int:
    """The status of one attempt."""
    signature = hmac.new(bank.program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
    headers = {"Bank-Signature": signature, "Content-Type": "application/json"}
    url = f"{bank.url}/api/ingest/bank/{bank.program['id']}"
    return httpx.post(url, content=body, headers=headers, timeout=30).status_code


def is_in_tables(bank: RunningBank, transfer: str) -> bool:
    answer = httpx.get(f"{bank.url}/api/transfers/{transfer}", headers=bank.headers, timeout=30)
    return answer.status_code == http.client.OK


def test_given_one_replica_when_it_stops_then_writes_are_refused_and_nothing_unconfirmed_is_in_the_tables(
    servers: Servers, tmp_path: Path
) -> None:
    primary, (replica,) = servers
    environment = {"CLEARHOLD_REDIS_URL": primary.url, "CLEARHOLD_REDIS_REPLICAS": "1"}
    with RunningService(tmp_path / "data", "--scorers", "1", environment=environment) as service:
        bank = RunningBank(service, "payroll")
        post_until_taken(service, bank.program, [outgoing("acht_1")], within_s=60)
        wait_until_committed(service, bank.token, "acht_1")
        replica.stop()
        try:
            key = {"name": "reader", "mode": "live"}
            refused = httpx.post(f"{bank.url}/api/keys", json=key, headers=bank.headers, timeout=30)
            assert refused.status_code == http.client.SERVICE_UNAVAILABLE
            eventually(lambda: redis_state(bank) == (http.client.SERVICE_UNAVAILABLE, "down"), within_s=20)
            assert post(bank, outgoing("acht_2")) == http.client.SERVICE_UNAVAILABLE
            with closing(primary.client()) as client:
                streams = [str(client.xrevrange(name, count=1)) for name in client.scan_iter("log:[0-9]*")]
            assert any("acht_2" in text for text in streams), "Redis has the entry, and the replica lacks it"
            assert not is_in_tables(bank, "acht_2")
        finally:
            replica.go_on()
        wait_until_committed(
            service, bank.token, "acht_2"
        )  # refused, and in the log nevertheless: tried again, it is one
        post_until_taken(service, bank.program, [outgoing("acht_2"), outgoing("acht_3")], within_s=60)
        wait_until_committed(service, bank.token, "acht_3")
        eventually(lambda: redis_state(bank) == (http.client.OK, "up"), within_s=20)
    assert "at CLEARHOLD_REDIS_URL" in refusal(tmp_path / "data", environment | {"CLEARHOLD_REDIS_REPLICAS": "2"})
