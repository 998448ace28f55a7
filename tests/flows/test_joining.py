"""``clearhold join`` beside a service that writes: a further node's directory, and the members of the log."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pytest

from clearhold.features.core.log_entry import shard_of
from clearhold.store.data_dir import DEFAULT_SHARDS, LAYOUT, MASTER_KEY, RESTORING, read_layout
from clearhold.store.nodes.joined import is_joined, mark_joined
from clearhold.store.nodes.members import leave, members_of
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import TRIMMED, LogReader, shard_key, stream_id_of
from tests.support.alerting import outgoing
from tests.support.redis_process import redis_of_its_own
from tests.support.redis_replicas import replicated_redis
from tests.support.running_service import ADMIN_TOKEN, RunningService, post_until_taken, wait_until_committed
from tests.support.used_bank import ALONE, Bank
from tests.support.waiting import eventually
from tests.support.warm import ran

ENVIRONMENT = {"CLEARHOLD_ADMIN_TOKEN": ADMIN_TOKEN, "CLEARHOLD_METRICS_PORT": "0"}


class NodesOfALog:
    """An owner with a named Redis and a used bank, and its master key as an operator keeps it."""

    def __init__(self, folder: Path, redis_url: str) -> None:
        self.redis_url = redis_url
        self.environment = ENVIRONMENT | {"CLEARHOLD_REDIS_URL": redis_url, "CLEARHOLD_REDIS_REPLICAS": "1"}
        self.bank = Bank(folder / "owner", self.environment)
        self.owner = RunningService(self.bank.data, *ALONE, environment=self.environment)
        self.key = folder / "kept.key"
        shutil.copyfile(self.bank.data / MASTER_KEY, self.key)

    def join(self, data: Path, *, key: Path | None = None, **changed: str | None) -> "tuple[int, str]":
        environment = {name: value for name, value in (self.environment | changed).items() if value is not None}
        url = f"http://127.0.0.1:{self.owner.port}"
        command = ("join", "--from", url, "--data", data, "--master-key", key or self.key)
        result = ran(*command, environment=environment)
        return result.returncode, result.stdout + result.stderr


@contextmanager
def owned_log(folder: Path) -> Iterator[NodesOfALog]:
    with replicated_redis(folder, 1) as (primary, _):
        nodes = NodesOfALog(folder, primary.url)
        with nodes.owner:
            yield nodes


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesOfALog]:
    with owned_log(tmp_path_factory.mktemp("joining")) as nodes:
        yield nodes


@pytest.fixture
def harmed(tmp_path: Path) -> Iterator[NodesOfALog]:
    """A log for one test, which harms it."""
    with owned_log(tmp_path) as nodes:
        yield nodes


def test_given_an_owner_that_runs_when_a_node_joins_then_its_directory_has_the_same_log_record_and_tables(
    log: NodesOfALog, tmp_path: Path
) -> None:
    post_until_taken(log.owner, log.bank.program, [outgoing("acht_more")], within_s=60)
    wait_until_committed(log.owner, log.bank.token, "acht_more")
    code, text = log.join(tmp_path / "second")

    assert code == 0, text
    assert "clearhold serve --data" in text
    second, owner = tmp_path / "second", log.bank.data
    assert (second / LAYOUT).read_bytes() == (owner / LAYOUT).read_bytes()
    assert is_joined(second)
    assert not (second / RESTORING).exists()
    assert not [each for each in tmp_path.iterdir() if each != second]  # the received backup is removed
    assert not list(owner.glob("backup.*"))
    for chain in sorted((owner / "record").glob("*/dispositions.jsonl")):
        assert (second / chain.relative_to(owner)).read_bytes() == chain.read_bytes()
    with closing(duckdb.connect(second / "clearhold.duckdb", read_only=True)) as database:
        ids = {row[0] for row in database.execute("SELECT id FROM transfers").fetchall()}
    assert {"acht_0", "acht_more"} <= ids
    assert (second / "admin.token").read_text().strip() == ADMIN_TOKEN


def test_given_members_when_listed_then_each_has_its_role_and_a_member_can_be_dropped(
    log: NodesOfALog, tmp_path: Path
) -> None:
    code, text = log.join(tmp_path / "third")
    assert code == 0, text
    with closing(connect_sync(log.redis_url)) as client:
        eventually(lambda: {each.report.role for each in members_of(client)} >= {"owner", "joining"})
        newest = max(members_of(client), key=lambda each: each.seen_at * (each.report.role == "joining")).node

    listed = ran("nodes", environment=log.environment)
    assert listed.returncode == 0
    lines = listed.stdout.splitlines()
    assert lines[0].split() == ["node", "role", "address", "version", "seen", "behind"]
    assert [line for line in lines if " owner " in line and f":{log.owner.port}" in line]
    assert [line for line in lines if newest in line and " joining " in line]

    assert newest not in ran("nodes", "--drop", newest, environment=log.environment).stdout
    again = ran("nodes", "--drop", newest, environment=log.environment)
    assert again.returncode == 2
    assert "has no member" in again.stderr


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ("another key", "another master key"),
        ("a token that is not the owner's", "gives no backup: 401"),
        ("no token", "CLEARHOLD_ADMIN_TOKEN is not set"),
        ("no redis", "CLEARHOLD_REDIS_URL is not set"),
        ("a full folder", "is not empty"),
    ],
)
def test_given_a_mistake_when_a_node_joins_then_it_says_so_and_leaves_nothing_behind(
    log: NodesOfALog, tmp_path: Path, mistake: str, sentence: str
) -> None:
    data, key = tmp_path / "failed", tmp_path / "key"
    key.write_bytes(bytes(32) if mistake == "another key" else log.key.read_bytes())
    environments: dict[str, dict[str, str | None]] = {
        "a token that is not the owner's": {"CLEARHOLD_ADMIN_TOKEN": "adm_of_nobody_at_all"},
        "no token": {"CLEARHOLD_ADMIN_TOKEN": None},
        "no redis": {"CLEARHOLD_REDIS_URL": None},
    }
    changed = environments.get(mistake, {})
    if mistake == "a full folder":
        data.mkdir()
        (data / "letter.txt").write_text("mine")
    with closing(connect_sync(log.redis_url)) as client:
        before = [each.node for each in members_of(client)]
        code, text = log.join(data, key=key, **changed)
        after = [each.node for each in members_of(client)]

    assert code == 2
    assert sentence in text
    assert "Traceback" not in text
    assert after == before
    left = [] if not data.exists() else [each.name for each in data.iterdir()]
    assert left == (["letter.txt"] if mistake == "a full folder" else [])


def test_given_a_backup_for_a_node_when_read_without_the_master_key_then_it_shows_nothing(log: NodesOfALog) -> None:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "ann"}
    with closing(log.owner.connect()) as connection:
        connection.request("GET", "/api/admin/backup", headers=headers)
        answer = connection.getresponse()
        body = answer.read()

    assert answer.status == 200
    assert answer.getheader("content-type") == "application/octet-stream"
    assert len(body) > 10_000
    assert b"layout.json" not in body
    assert read_layout(log.bank.data).log_id.encode() not in body
    assert not list(log.bank.data.glob("backup.*"))


def test_given_a_node_that_was_silent_too_long_when_started_then_it_says_that_it_must_join_again(
    harmed: NodesOfALog, tmp_path: Path
) -> None:
    code, text = harmed.join(tmp_path / "late")
    assert code == 0, text
    post_until_taken(harmed.owner, harmed.bank.program, [outgoing("acht_while_it_was_silent")], within_s=60)
    with closing(connect_sync(harmed.redis_url)) as client:
        node = max(members_of(client), key=lambda each: each.seen_at * (each.report.role == "joining")).node
        assert leave(client, node)  # as the owner drops it after a day
        shard = shard_of(harmed.bank.program["id"], DEFAULT_SHARDS)
        end = LogReader(client, [shard]).tail(shard)
        client.hset(TRIMMED, str(shard), end)
        client.xtrim(shard_key(shard), minid=stream_id_of(end + 1))

    refused = ran("serve", "--data", tmp_path / "late", "--port", "0", environment=harmed.environment)
    assert refused.returncode == 2
    assert "join again" in refused.stderr
    assert "Traceback" not in refused.stderr

    with closing(harmed.owner.connect()) as connection:  # its segments lack the entry that was trimmed
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "ann"}
        connection.request("GET", "/api/admin/backup", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 503
        assert b"has a hole" in answer.read()


def test_given_a_log_without_replicas_then_no_node_joins_it_because_the_order_of_its_record_is_nowhere(
    tmp_path: Path,
) -> None:
    with redis_of_its_own(tmp_path / "redis"):
        environment = ENVIRONMENT | {"CLEARHOLD_REDIS_URL": f"unix://{tmp_path / 'redis' / 'redis.sock'}"}
        with RunningService(tmp_path / "owner", *ALONE, environment=environment) as owner:
            url, key = f"http://127.0.0.1:{owner.port}", owner.data / MASTER_KEY
            command = ("join", "--from", url, "--data", tmp_path / "second", "--master-key", key)
            refused = ran(*command, environment=environment)
            mark_joined(shutil.copytree(owner.data, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock")))
            standby = ran("serve", "--data", tmp_path / "copy", "--port", "0", environment=environment)

    for result in (refused, standby):
        assert result.returncode == 2
        assert "CLEARHOLD_REDIS_REPLICAS of 1 or more" in result.stderr
    assert not (tmp_path / "second").exists()
