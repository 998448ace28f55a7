"""A service states each link in Redis before it commits it, wherever it ends; a rebuild takes the order from there."""

import contextlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import httpx
import msgspec
import pytest
from redis import Redis

from clearhold.store.record.places import PlacedLink
from clearhold.store.redis_log.links import LINKS
from tests.flows.test_record_kills import Bank, assert_whole
from tests.support.redis_replicas import RedisProcess, replicated_redis
from tests.support.running_service import COMMAND, RunningService
from tests.support.waiting import eventually
from tests.support.warm import ran

# Each lets the first link that is stated end the process, before Redis has it or before the commit.
FAULTS: Final = {"before it is stated": "", "after it is stated": "append(self, after, entries);"}
FAULTY: Final = """
import os
from clearhold.store.redis_log.links import RedisLinks
append = RedisLinks.append
def die(self, after, entries):
    {fault}
    os._exit(9)
RedisLinks.append = die
"""
UNSIGNED: Final = """
from clearhold.store.record.checkpoints import RecordCheckpoints
RecordCheckpoints.sign_due = lambda self: None
"""
"""Signs no checkpoint by itself, which would be an entry behind the newest link."""

LINKS_OF: Final = (
    'SELECT tenant_id, chain, seq, shard, "offset", id, hash FROM record_chain ORDER BY tenant_id, chain, seq'
)


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisProcess]:
    with replicated_redis(tmp_path, 1) as (primary, _):
        yield primary


@pytest.fixture
def environment(redis_server: RedisProcess) -> dict[str, str]:
    return {
        "CLEARHOLD_REDIS_URL": redis_server.url,
        "CLEARHOLD_REDIS_REPLICAS": "1",
        "CLEARHOLD_METRICS_PORT": "0",
    }


@pytest.fixture
def service(tmp_path: Path, environment: dict[str, str]) -> Iterator[RunningService]:
    with RunningService(tmp_path / "data", patches_loaded=True, environment=environment) as running:
        yield running


def stated(client: Redis) -> list[PlacedLink]:
    """The links in Redis, in the order of the chains."""
    entries: Any = client.xrange(LINKS)
    links = [link for _, fields in entries for link in msgspec.json.decode(fields[b"l"], type=list[PlacedLink])]
    return sorted(links, key=lambda link: (link.tenant_id, link.chain, link.seq))


def committed(data: Path) -> list[PlacedLink]:
    """The links in the tables of a service that has stopped."""
    with closing(duckdb.connect(str(data / "clearhold.duckdb"), read_only=True)) as database:
        return [PlacedLink(*row) for row in database.execute(LINKS_OF).fetchall()]


@pytest.mark.parametrize("fault", FAULTS)
def test_given_a_process_that_ends_while_it_states_a_link_when_started_again_then_the_link_is_there_once(
    service: RunningService, redis_server: RedisProcess, fault: str
) -> None:
    bank = Bank(service)
    alerts = bank.alerts(3)
    before = bank.report()["checked"]
    service.stop()

    service.command = UNSIGNED + FAULTY.format(fault=FAULTS[fault]) + COMMAND
    service.start()
    with bank.client() as client, contextlib.suppress(httpx.TransportError):
        assert bank.decide(client, alerts[0]).status_code != 201
    assert service.ended_with(within_s=60) == 9
    service.command = UNSIGNED + COMMAND
    service.start()
    with bank.client() as client:
        answers = [bank.decide(client, alerts[0]), bank.decide(client, alerts[0]), bank.decide(client, alerts[1])]

    assert [answer.status_code for answer in answers] == [201] * 3
    assert answers[0].json() == answers[1].json()
    assert answers[2].json()["prevHash"] == answers[0].json()["hash"]
    report = bank.report()
    assert (report["ok"], report["checked"]) == (True, before + 2)
    with closing(redis_server.client()) as client:
        eventually(lambda: client.xlen(LINKS) == 1, within_s=60)  # all else is committed on every member
        (newest,) = stated(client)
    service.stop()
    assert_whole(service.data, before + 2)
    assert newest == [link for link in committed(service.data) if link.chain == newest.chain][-1]


def test_given_a_database_and_ends_of_files_that_are_lost_when_rebuilt_then_the_order_is_that_of_the_links(
    service: RunningService, redis_server: RedisProcess, environment: dict[str, str]
) -> None:
    bank = Bank(service)
    service.stop()
    service.command = "import clearhold.flows.engine as e\ne._MAINTENANCE_EVERY_S = 600\n" + COMMAND  # trims nothing
    service.start()
    alerts = bank.alerts(10)
    with bank.client() as client:
        answers = [bank.decide(client, alert) for alert in alerts]
        assert {answer.status_code for answer in answers} == {201}
        exported = client.get("/api/record/export").content
    service.stop()
    links = committed(service.data)
    with closing(redis_server.client()) as client:
        assert stated(client) == links
    checked = ran("check", "--data", service.data, environment=environment)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with closing(duckdb.connect(str(service.data / "clearhold.duckdb"))) as database:
        database.execute("UPDATE record_chain SET hash = repeat('0', 64) WHERE seq = 3")
    checked = ran("check", "--data", service.data, environment=environment)
    assert "differs from the log of links at seq 3" in checked.stderr
    for path in service.data.glob("clearhold.duckdb*"):
        path.unlink()
    for path in (service.data / "record").glob("*/*.ndjson"):
        if path.name != "checkpoints.ndjson":
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))

    run = ran("rebuild", "--data", service.data, environment=environment)

    assert run.returncode == 0, run.stderr
    assert committed(service.data) == links
    service.start()
    with bank.client() as client:
        eventually(lambda: client.get("/api/record/verify").json()["ok"])
        assert client.get("/api/record/export").content == exported
