"""Two services for one log in a named Redis: one owns it, a copy is refused, and a former owner does nothing more."""

import contextlib
import hashlib
import hmac
import http.client
import itertools
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
import httpx
import pytest
from redis import Redis

from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import shard_of
from clearhold.store.redis_log.owner import FENCED_EXIT
from clearhold.store.redis_log.reader import SEQ_BITS, TRIMMED
from clearhold.store.redis_log.writes import OWNER
from tests.api.cli.test_mixed_up import refusal
from tests.flows.test_backups import run
from tests.support.alerting import outgoing
from tests.support.redis_process import redis_of_its_own
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.waiting import eventually

_STOPPED_S: Final = 10.0
SHARDS: Final = 16


class Pair:
    """A service with events in its tables, in a Redis of its own, and a copy of its stopped directory."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.environment = environment
        self.first = RunningService(folder / "one" / "data", "--scorers", "1", environment=environment)
        (folder / "one").mkdir()
        with self.first:
            self.bank = RunningBank(self.first, "payroll")
            self.post(self.first, "acht_1", "acht_2")
        self.copy = folder / "two" / "data"
        shutil.copytree(folder / "one" / "data", self.copy)

    def end(self) -> None:
        """Kill the first service if a test left it behind."""
        if self.first.is_running:
            self.first.kill()

    def second(self, *options: str) -> RunningService:
        """The service on the copy."""
        return RunningService(self.copy, "--scorers", "1", *options, environment=self.environment)

    def post(self, service: RunningService, *transfers: str) -> None:
        """Post, and wait for the tables."""
        post_until_taken(service, self.bank.program, [outgoing(each) for each in transfers], within_s=60)
        for each in transfers:
            wait_until_committed(service, self.bank.token, each)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with redis_of_its_own(tmp_path / "redis"):
        yield {"CLEARHOLD_REDIS_URL": f"unix://{tmp_path / 'redis' / 'redis.sock'}"}


@pytest.fixture
def pair(tmp_path: Path, environment: dict[str, str]) -> Iterator[Pair]:
    pair = Pair(tmp_path, environment)
    with contextlib.ExitStack() as ending:
        ending.callback(pair.end)
        yield pair


@pytest.fixture
def client(tmp_path: Path, environment: dict[str, str]) -> Iterator[Redis]:  # noqa: ARG001 - the server has to run
    with closing(Redis(unix_socket_path=str(tmp_path / "redis" / "redis.sock"))) as client:
        yield client


def transfers_in(data: Path) -> list[str]:
    """The transfers in the tables of a service that has ended."""
    with closing(duckdb.connect(str(data / "clearhold.duckdb"), read_only=True)) as database:
        return [each for (each,) in database.execute("SELECT DISTINCT id FROM transfers ORDER BY 1").fetchall()]


def readiness(service: RunningService) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{service.port}/readyz", timeout=30)


def test_given_a_copy_of_a_directory_whose_service_runs_when_started_then_it_is_refused_with_node_and_address(
    pair: Pair, client: Redis
) -> None:
    with pair.first:
        sentence = refusal(pair.copy, pair.environment)
        address, node = client.hget(OWNER, "address"), client.hget(OWNER, "node")
        pair.post(pair.first, "acht_3")

    assert isinstance(address, bytes)
    assert isinstance(node, bytes)
    assert "has an owner, which renewed it " in sentence
    assert f"{node.decode()} at {address.decode()}" in sentence
    assert str(pair.first.port) in sentence
    assert "--take-over" in sentence
    assert transfers_in(pair.copy) == ["acht_1", "acht_2"]


def test_given_a_log_whose_service_runs_when_a_copy_is_rebuilt_then_it_is_refused_and_nothing_changes(
    pair: Pair,
) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLEARHOLD_")}
    with pair.first:
        rebuilt = run("rebuild", "--data", pair.copy, environment=own | pair.environment)
        pair.post(pair.first, "acht_3")
    assert rebuilt.returncode != 0
    assert "has an owner, which renewed it " in rebuilt.stderr

    again = run("rebuild", "--data", pair.copy, environment=own | pair.environment)
    assert again.returncode == 0, again.stderr
    assert transfers_in(pair.copy) == ["acht_1", "acht_2", "acht_3"]


def test_given_a_take_over_when_the_first_service_runs_then_it_stops_with_a_sentence_and_the_other_has_all_of_the_log(
    pair: Pair,
) -> None:
    pair.first.start()
    pair.post(pair.first, "acht_3")
    with pair.second("--take-over") as second:
        assert pair.first.ended_with(within_s=60) == FENCED_EXIT
        wait_until_committed(second, pair.bank.token, "acht_3")
        pair.post(second, "acht_4")

    assert f"http://127.0.0.1:{second.port}" in pair.first.log_lines[-1]
    assert "was taken by node_" in pair.first.log_lines[-1]
    assert transfers_in(pair.copy) == ["acht_1", "acht_2", "acht_3", "acht_4"]


def test_given_an_owner_that_was_stopped_when_it_goes_on_then_it_is_fenced_and_has_written_no_row_since(
    pair: Pair,
) -> None:
    pair.first.start()
    pair.post(pair.first, "acht_3")
    first = [pair.first.pid, *pair.first.scorers()]
    for pid in first:
        os.kill(pid, signal.SIGSTOP)
    stopped_at = time.monotonic()
    with pair.second() as second:  # it waits for the owner's silence
        pair.post(second, "acht_4", "acht_5")
        time.sleep(max(0.0, stopped_at + _STOPPED_S - time.monotonic()))
        for pid in first:
            os.kill(pid, signal.SIGCONT)
        assert pair.first.ended_with(within_s=60) == FENCED_EXIT
        pair.post(second, "acht_6")

    assert transfers_in(pair.first.data) == ["acht_1", "acht_2", "acht_3"]
    assert transfers_in(pair.copy) == ["acht_1", "acht_2", "acht_3", "acht_4", "acht_5", "acht_6"]


@pytest.mark.parametrize("way", ["taken over", "stopped"])
def test_given_events_without_a_pause_when_another_service_takes_the_log_then_each_that_was_answered_is_in_its_tables(
    pair: Pair, way: str
) -> None:
    pair.first.start()
    first = [pair.first.pid, *pair.first.scorers()]
    answered: list[str] = []
    posting = threading.Thread(target=post_until_refused, args=(pair, answered))
    posting.start()
    eventually(lambda: len(answered) > 50)
    if way == "stopped":
        for pid in first:
            os.kill(pid, signal.SIGSTOP)
    with pair.second(*(["--take-over"] if way == "taken over" else [])) as second:
        pair.post(second, "acht_later")
        for pid in first if way == "stopped" else ():
            os.kill(pid, signal.SIGCONT)
        assert pair.first.ended_with(within_s=60) == FENCED_EXIT
        posting.join(60)
        assert not posting.is_alive()

    of_first, of_second = transfers_in(pair.first.data), transfers_in(pair.copy)
    assert set(answered) <= set(of_second)
    assert set(of_first) < set(of_second)
    assert "acht_later" not in of_first


def post_until_refused(pair: Pair, answered: list[str]) -> None:
    """Post events one after the other until the service is gone; ``answered`` gets those that it took."""
    with contextlib.suppress(OSError, http.client.HTTPException), closing(pair.first.connect()) as connection:
        for number in itertools.count():
            body, transfer = outgoing(f"acht_load_{number}"), f"acht_load_{number}"
            signature = hmac.new(pair.bank.program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
            headers = {"Bank-Signature": signature, "Content-Type": "application/json"}
            connection.request("POST", f"/api/ingest/bank/{pair.bank.program['id']}", body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status == http.client.OK:
                answered.append(transfer)


def test_given_a_service_that_was_killed_when_started_again_then_it_does_not_wait_for_itself(
    pair: Pair, client: Redis
) -> None:
    pair.first.start()
    pair.post(pair.first, "acht_3")
    before = int(client.hget(OWNER, "epoch") or 0)
    pair.first.kill()
    client.hset(OWNER, "seen", 1 << 52)  # not to be taken for dead
    pair.first.start()

    assert not [line for line in pair.first.log_lines if "owner_watched" in line]
    assert int(client.hget(OWNER, "epoch") or 0) > before
    pair.post(pair.first, "acht_4")
    pair.first.stop()
    assert client.hget(OWNER, "seen") == b"0"


def test_given_entries_that_were_trimmed_unread_then_scoring_ends_with_both_offsets_and_the_service_is_not_ready(
    pair: Pair, client: Redis
) -> None:
    pair.first.start()
    pair.post(pair.first, "acht_3")
    shard = shard_of(pair.bank.program["id"], SHARDS)
    ahead = time.time_ns() // 1_000_000 + 60_000
    client.hset(TRIMMED, str(shard), ahead << SEQ_BITS)
    eventually(lambda: readiness(pair.first).status_code == http.client.SERVICE_UNAVAILABLE)

    assert readiness(pair.first).json()["components"]["flow"] == "down"
    gap = f"LogGapError: Redis has the log of shard {shard} from "  # of offsets, a log line has the times alone
    until = f" to {format_instant(ahead * 1_000)}. "
    eventually(lambda: any(gap in line and until in line for line in pair.first.log_lines))
