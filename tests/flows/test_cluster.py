"""The service on a Redis Cluster: the log's slot is followed to a promoted replica, and to another primary."""

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import ResponseError

from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.tagged import SLOT, TAG
from tests.api.cli.test_mixed_up import refusal
from tests.flows.test_failover import Poster, in_log, in_tables
from tests.flows.test_named_redis import PASSWORD, rules
from tests.support.callers import TRANSFER
from tests.support.console import use_console
from tests.support.redis_cluster import Cluster, redis_cluster, tagged_key
from tests.support.redis_replicas import RedisProcess
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, wait_until_committed
from tests.support.waiting import eventually

TAGGED: list[str] = [rule.replace("~", f"~{TAG.decode()}") for rule in rules()]
CLUSTER_RIGHTS = ("+cluster|info", "+cluster|slots")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with redis_cluster(tmp_path / "cluster") as cluster:
        for node in cluster.nodes:
            let_in(cluster, node)
        yield cluster


def let_in(cluster: Cluster, node: RedisProcess) -> None:
    """Create the service's user again: this node has no file of users, so a restart loses them."""
    cluster.ask(node, "ACL", "SETUSER", "clearhold", *TAGGED, *CLUSTER_RIGHTS)


@pytest.fixture
def environment(cluster: Cluster) -> dict[str, str]:
    url = cluster.url.replace("://", f"://clearhold:{PASSWORD}@", 1)
    return {"CLEARHOLD_REDIS_URL": url, "CLEARHOLD_REDIS_REPLICAS": "1"}


def is_ready(bank: RunningBank) -> bool:
    return httpx.get(f"{bank.url}/readyz", timeout=30).status_code == http.client.OK


def preflight(bank: RunningBank) -> int:
    body: dict[str, Any] = {"programId": bank.program["id"], "transfer": TRANSFER}
    return httpx.post(f"{bank.url}/api/preflight", json=body, headers=bank.headers, timeout=30).status_code


def test_given_the_slots_primary_is_killed_then_its_replica_has_all_that_was_confirmed_and_answers_come_again(
    cluster: Cluster, environment: dict[str, str], tmp_path: Path
) -> None:
    first = cluster.owner()
    with RunningService(tmp_path / "data", "--scorers", "1", environment=environment) as service:
        bank = RunningBank(service, "payroll")
        poster = Poster(bank)
        with poster.running():
            eventually(lambda: len(poster.confirmed()) > 20)
            assert preflight(bank) == http.client.CREATED
            killed_at = time.monotonic()
            first.kill()
            eventually(lambda: cluster.owner() is not first)
            first.again()  # as the replica of the promoted one: with k = 1 a write needs one
            let_in(cluster, first)
            eventually(lambda: len(poster.confirmed(killed_at)) > 20)
        confirmed = poster.confirmed()
        wait_until_committed(service, bank.token, confirmed[-1])
        eventually(lambda: is_ready(bank))
        assert preflight(bank) == http.client.CREATED
        use_console(service.port, bank.token)
        stream = tagged_key(f"out:{bank.program['id']}")
        eventually(lambda: cluster.ask(cluster.owner(), "XLEN", stream) >= len(confirmed))
    stored = in_tables(tmp_path / "data")
    with RunningService(tmp_path / "data", "--scorers", "1", environment=environment) as service:
        assert service.ask("GET", f"/api/transfers/{confirmed[-1]}", bank.headers)["id"] == confirmed[-1]
    with closing(connect_sync(environment["CLEARHOLD_REDIS_URL"])) as client:
        log = in_log(client)

    assert {*confirmed} <= {*stored} <= log
    assert len(stored) == len({*stored})
    assert {key for key in cluster.stored() if not key.startswith(TAG)} == set()
    refusals = [each for node in cluster.nodes for each in cluster.ask(node, "ACL", "LOG")]
    assert {each[b"reason"] for each in refusals} <= {b"auth"}  # of the killed node, before it had its user again


def by_keys(cluster: Cluster, to: RedisProcess) -> None:
    cluster.move_slot(to)


def at_once(cluster: Cluster, to: RedisProcess) -> None:
    """As Valkey 9 can: the entries are copied first, and the slot changes in one step."""
    source = cluster.owner()
    try:
        cluster.ask(source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", SLOT, SLOT, "NODE", cluster.id_of(to))
    except ResponseError as error:
        if "unknown subcommand" not in str(error).lower():
            raise
        pytest.skip("CLUSTER MIGRATESLOTS is of Valkey 9; this server is another or an older one")
    eventually(lambda: cluster.is_owned_by(to))


@pytest.mark.parametrize("move", [by_keys, at_once])
def test_given_a_slot_that_is_moved_to_another_primary_then_the_service_follows_it_and_nothing_is_lost(
    cluster: Cluster, environment: dict[str, str], tmp_path: Path, move: Any
) -> None:
    with RunningService(tmp_path / "data", "--scorers", "1", environment=environment) as service:
        bank = RunningBank(service, "payroll")
        poster = Poster(bank)
        with poster.running():
            eventually(lambda: len(poster.confirmed()) > 20)
            former, latter = cluster.owner(), cluster.others()[0]
            move(cluster, latter)
            moved_at = time.monotonic()
            eventually(lambda: len(poster.confirmed(moved_at)) > 20)
        confirmed = poster.confirmed()
        wait_until_committed(service, bank.token, confirmed[-1])
        eventually(lambda: is_ready(bank))
        assert preflight(bank) == http.client.CREATED
    stored = in_tables(tmp_path / "data")
    with closing(connect_sync(environment["CLEARHOLD_REDIS_URL"])) as client:
        log = in_log(client)

    assert cluster.owner() is latter
    assert cluster.ask(former, "DBSIZE") == 0
    assert {*confirmed} <= {*stored} <= log
    assert len(stored) == len({*stored})


def test_given_nodes_that_run_and_are_no_cluster_or_do_not_run_then_the_start_is_refused_with_a_sentence(
    tmp_path: Path,
) -> None:
    with ExitStack() as opened:
        server = RedisProcess(tmp_path / "redis")
        opened.callback(server.kill)
        server.wait()
        alone = refusal(tmp_path / "one", {"CLEARHOLD_REDIS_URL": f"redis+cluster://127.0.0.1:{server.port}"})
    gone = refusal(tmp_path / "two", {"CLEARHOLD_REDIS_URL": f"redis+cluster://127.0.0.1:{server.port}"})

    assert "cluster support disabled" in alone
    assert f"No node of 127.0.0.1:{server.port} names the primary of slot {SLOT}" in gone
