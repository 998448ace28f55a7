"""A Redis that answers and takes nothing, or could lose what it takes: callers and readiness say so, and it passes."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import httpx
import pytest
from redis import Redis, RedisError

from clearhold.store.redis_log.connect import connect_sync
from tests.support.alerting import outgoing
from tests.support.redis_process import redis_of_its_own
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

_Command = tuple[str, ...]

REFUSES_WRITES: Final[dict[str, tuple[_Command, _Command]]] = {
    "is at its limit": (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    "became a replica": (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    "lacks its replicas": (
        ("CONFIG", "SET", "min-replicas-to-write", "1"),
        ("CONFIG", "SET", "min-replicas-to-write", "0"),
    ),
    "runs a script": (("EVAL", "while true do end", "0"), ("SCRIPT", "KILL")),
}
CAN_LOSE: Final = {
    "maxmemory-policy": ("allkeys-lru", "noeviction"),
    "appendfsync": ("everysec", "always"),
    "appendonly": ("no", "yes"),
}


class Used:
    """A service with a Redis of its own."""

    def __init__(self, service: RunningService, client: Redis) -> None:
        self.service, self.client = service, client
        self.bank = RunningBank(service, "payroll")
        self._number = 0

    @property
    def redis(self) -> str:
        answer = httpx.get(f"{self.bank.url}/readyz", timeout=30)
        state: str = answer.json()["components"]["redis"]
        assert answer.status_code == (http.client.SERVICE_UNAVAILABLE if state == "down" else http.client.OK)
        return state

    def send(self, command: _Command) -> None:
        """Send it to Redis; one that does not end is left to a thread."""
        sending = threading.Thread(target=self._send, args=(command,), daemon=True)
        sending.start()
        sending.join(0.3)

    def _send(self, command: _Command) -> None:
        with suppress(RedisError):
            self.client.execute_command(*command)

    def post(self) -> str:
        """The id of the transfer of a new event, which is taken."""
        self._number += 1
        transfer = f"acht_{self._number}"
        post_until_taken(self.service, self.bank.program, [outgoing(transfer)], within_s=60)
        return transfer

    def refuses(self) -> bool:
        """Whether a write is answered 503."""
        tenant = {"slug": f"bank-{self._number}", "name": "Bank"}
        answer = httpx.post(
            f"{self.bank.url}/api/keys", json={"name": tenant["slug"], "mode": "live"}, headers=self.bank.headers
        )
        return answer.status_code == http.client.SERVICE_UNAVAILABLE

    def assert_kept(self, transfers: list[str]) -> None:
        for transfer in transfers:
            wait_until_committed(self.service, self.bank.token, transfer)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    folder: Path = tmp_path_factory.mktemp("unfit")
    url = f"unix://{folder / 'own' / 'redis.sock'}"
    with (
        redis_of_its_own(folder / "own"),
        RunningService(folder / "data", "--scorers", "1", environment={"CLEARHOLD_REDIS_URL": url}) as service,
        closing(connect_sync(url)) as client,
    ):
        client.config_set("busy-reply-threshold", 100)
        yield Used(service, client)


@pytest.mark.parametrize("fault", REFUSES_WRITES)
def test_given_a_redis_that_refuses_writes_then_readiness_is_down_until_it_takes_them_and_what_was_taken_is_kept(
    used: Used, fault: str
) -> None:
    broken, mended = REFUSES_WRITES[fault]
    scorers, taken = used.service.scorers(), [used.post()]
    used.send(broken)
    try:
        eventually(lambda: used.redis == "down")
        assert used.refuses()
    finally:
        used.send(mended)
    eventually(lambda: used.redis == "up")
    taken.append(used.post())

    used.assert_kept(taken)
    assert used.service.scorers() == scorers
    assert not used.refuses()
    lines = "\n".join(used.service.log_lines)
    assert "redis_does_not_keep_entries" in lines
    assert "scorer_ended" not in lines


@pytest.mark.parametrize("setting", CAN_LOSE)
def test_given_a_redis_whose_settings_change_so_that_it_can_lose_entries_then_readiness_is_down_until_they_are_back(
    used: Used, setting: str
) -> None:
    wrong, right = CAN_LOSE[setting]
    taken = [used.post()]
    used.client.config_set(setting, wrong)
    try:
        eventually(lambda: used.redis == "down")
        assert any(f"{setting} is {wrong}" in line for line in used.service.log_lines)
    finally:
        used.client.config_set(setting, right)
    eventually(lambda: used.redis == "up")
    taken.append(used.post())

    used.assert_kept(taken)
