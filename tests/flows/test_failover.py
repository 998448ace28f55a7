"""The primary of the log is killed, or cut off with the service on its side: confirmed events stay, and no row
rests on anything else.
"""

import hashlib
import hmac
import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import pytest
import redis

from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader
from tests.flows.test_named_redis import PASSWORD, rules
from tests.support.alerting import outgoing
from tests.support.network_hosts import linked_hosts
from tests.support.redis_replicas import RedisProcess, replicated_redis, sentinels
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, tables_of, wait_until_committed
from tests.support.waiting import eventually

SHARDS: Final = 16
ANSWERS_WITHIN_S: Final = 15.0
"""After the loss of the primary."""


class Answer(NamedTuple):
    """One event that was posted once."""

    transfer: str
    began: float
    status: int


class Poster:
    """Posts an event after the other, each with a new transfer, once."""

    def __init__(self, bank: RunningBank) -> None:
        self._bank = bank
        self.answers: list[Answer] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._post, daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ending.set()
            self._thread.join(30)

    def confirmed(self, after: float = 0.0) -> list[str]:
        """The transfers of events that were posted after a time and answered 200."""
        return [each.transfer for each in self.answers if each.status == http.client.OK and each.began > after]

    def _post(self) -> None:
        bank = self._bank
        with httpx.Client(base_url=bank.url, timeout=30) as client:
            while not self._ending.wait(0.02):
                transfer, began = f"acht_{len(self.answers)}", time.monotonic()
                body = outgoing(transfer)
                signature = hmac.new(bank.program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
                headers = {"Bank-Signature": signature, "Content-Type": "application/json"}
                answer = client.post(f"/api/ingest/bank/{bank.program['id']}", content=body, headers=headers)
                self.answers.append(Answer(transfer, began, answer.status_code))


def in_log(client: redis.Redis) -> set[str]:
    """The transfers of the events in a log."""
    reader = LogReader(client, range(SHARDS))
    bodies = [entry.body for shard in range(SHARDS) for entry in reader.entries(shard, 0, 2**62, page=500)]
    return {name for body in bodies for name in body.decode(errors="replace").split('"') if name.startswith("acht_")}


def in_tables(data: Path) -> list[str]:
    """The transfers in the tables of a stopped service, in order."""
    return sorted(cell for row in tables_of(data)["transfers"] for cell in row if str(cell).startswith("acht_"))


def test_given_sentinels_when_the_primary_is_killed_then_answers_come_again_and_nothing_confirmed_is_lost(
    tmp_path: Path,
) -> None:
    with replicated_redis(tmp_path, 2) as (primary, replicas), sentinels(tmp_path, primary, "log") as url:
        for each in (primary, *replicas):
            with closing(each.client()) as client:
                client.execute_command("ACL", "SETUSER", "clearhold", *rules())
        as_user = url.replace("://", f"://clearhold:{PASSWORD}@", 1)
        environment = {"CLEARHOLD_REDIS_URL": as_user, "CLEARHOLD_REDIS_REPLICAS": "1"}
        with RunningService(tmp_path / "data", "--scorers", "1", environment=environment) as service:
            bank = RunningBank(service, "payroll")
            poster = Poster(bank)
            with poster.running():
                eventually(lambda: len(poster.confirmed()) > 20, within_s=60)
                killed_at = time.monotonic()
                primary.kill()
                eventually(lambda: poster.confirmed(killed_at), within_s=ANSWERS_WITHIN_S)
                eventually(lambda: len(poster.confirmed(killed_at)) > 20, within_s=60)
            confirmed = poster.confirmed()
            for transfer in confirmed[-1:]:
                wait_until_committed(service, bank.token, transfer)
            eventually(lambda: httpx.get(f"{bank.url}/readyz", timeout=30).status_code == http.client.OK, within_s=30)
            assert service.is_running
        stored = in_tables(tmp_path / "data")
        with closing(connect_sync(url)) as client:
            log = in_log(client)

    assert primary.port not in {each.port for each in replicas}
    assert {*confirmed} <= log
    assert {*confirmed} <= {*stored} <= log
    assert len(stored) == len({*stored})


def test_given_a_primary_that_is_cut_off_with_the_service_then_nothing_is_confirmed_and_no_row_is_left_of_it(
    tmp_path: Path,
) -> None:
    with linked_hosts() as hosts:
        primary = RedisProcess(tmp_path / "one", host=hosts.one.address, netns=hosts.one.name)
        announced = ("--replica-announce-ip", hosts.two.address)
        replica = RedisProcess(tmp_path / "two", *announced, host=hosts.two.address, netns=hosts.two.name)
        try:
            primary.wait()
            replica.wait()
            replica.follow(primary, at=hosts.one.link_address)
            environment = {"CLEARHOLD_REDIS_URL": primary.url, "CLEARHOLD_REDIS_REPLICAS": "1"}
            with RunningService(tmp_path / "data", "--scorers", "1", environment=environment) as service:
                poster = Poster(RunningBank(service, "payroll"))
                with poster.running():
                    eventually(lambda: len(poster.confirmed()) > 20, within_s=60)
                    hosts.cut()
                    cut_at = time.monotonic()
                    eventually(lambda: len(poster.answers) > len(poster.confirmed()) + 2, within_s=30)
                with closing(primary.client()) as client:
                    on_the_cut_side = in_log(client)
                service.kill()
            with closing(replica.client()) as client:
                client.replicaof("NO", "ONE")
                log = in_log(client)
            stored = in_tables(tmp_path / "data")
            hosts.heal()
            primary.follow(replica, at=hosts.two.link_address)
            with closing(primary.client()) as client:
                healed = in_log(client)
        finally:
            primary.kill()
            replica.kill()

    assert poster.confirmed(cut_at) == []
    assert {*poster.confirmed()} <= log
    assert on_the_cut_side - log, "the primary took entries that the replica lacks"
    assert {*stored} <= log
    assert healed == log


def test_given_a_machine_without_namespaces_then_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1_000)
    with pytest.raises(pytest.skip.Exception, match="need root"), linked_hosts():
        raise AssertionError
