"""Which services have a log of links, and how one ends, or signs nothing, when that log says otherwise."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import pytest
from redis import Redis

from clearhold.features.core.canonical import Chain
from clearhold.features.core.errors import UnavailableError
from clearhold.flows.commit.linking import followed_link_log, opened_link_log, publish_checkpoints
from clearhold.store.duck.database import open_database
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record.chain import EMPTY
from clearhold.store.record.chain_file import RecordCheckpointRow
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.linked_chains import LINKS_EXIT
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.links import LINKS
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from tests.support.clock import T0, FrozenClock
from tests.support.principals import an_operator
from tests.support.record import TENANT, a_fact, record

END = """
from clearhold.store.record.linked_chains import end_with
import atexit
atexit.register(print, "an orderly end")
end_with("The chain differs.")
"""


@pytest.fixture
def ownership(redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[LogOwnership]:  # noqa: ARG001 - it is empty
    owner = taken(connect_sync(redis_server.socket_path), LogNode("node_here", "boot"), "here", take_over=True)
    yield owner
    owner.release()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as connection:
        yield connection


def test_given_replicas_or_a_log_of_links_that_was_begun_then_a_service_has_one_and_no_other_service_does(
    redis_server: EmbeddedRedis, ownership: LogOwnership
) -> None:
    target = redis_server.socket_path
    with ExitStack() as opened:
        assert opened_link_log(target, None, opened, replicas=0) is None
        assert opened_link_log(target, ownership, opened, replicas=0) is None
        assert followed_link_log(target, opened, replicas=0) is None
        assert opened_link_log(target, ownership, opened, replicas=1) is not None

        with closing(connect_sync(target)) as client:
            client.hset("log:links:base", "upto", "0")
        kept_up = opened_link_log(target, ownership, opened, replicas=0)
        follower = followed_link_log(target, opened, replicas=0)
        assert kept_up is not None
        assert follower is not None
        kept_up.open({})
        assert kept_up.rows_of([a_fact(0)])[0].seq == 0
        follower.open({})
        assert follower.heads[TENANT, "dispositions"] == kept_up.heads[TENANT, "dispositions"] != EMPTY
        with pytest.raises(ValueError, match="does not own the log"):
            follower.publish(RecordCheckpointRow(TENANT, "dispositions", 1, "root", "note", T0))


def test_given_a_checkpoint_that_redis_does_not_take_then_it_is_not_signed_and_the_caller_may_try_again(
    redis_server: EmbeddedRedis,
    log_redis: Redis,
    ownership: LogOwnership,
    database: duckdb.DuckDBPyConnection,
    tmp_path: Path,
) -> None:
    clock, operator = FrozenClock(), an_operator(TENANT)
    keys = SigningKeys.open(
        tmp_path / "keys.json", box=SecretBox(bytes(32)), clock=clock, purposes=(KeyPurpose.CHECKPOINT,)
    )
    kept = CheckpointLog(database, tmp_path / "record")
    kept.open()
    record(database, tmp_path / "record", [a_fact(0)])
    checkpoints = RecordCheckpoints(
        database, kept, signing_keys=keys, clock=clock, origin_of=lambda *names: "/".join(names)
    )
    with ExitStack() as opened:
        link_log = opened_link_log(redis_server.socket_path, ownership, opened, replicas=1)  # there is none
        publish_checkpoints(checkpoints, link_log)
        with pytest.raises(UnavailableError, match="nothing is signed"):
            checkpoints.sign(operator, Chain.DISPOSITIONS)
        assert kept.page(TENANT, None, None, 10) == []
    assert log_redis.xlen(LINKS) == 1  # it may be told to other nodes all the same, as an append that was not confirmed


def test_given_a_service_whose_links_differ_then_it_ends_at_once_with_a_sentence_and_a_code_of_its_own() -> None:
    ended = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, check=False)

    assert ended.returncode == LINKS_EXIT == 4
    assert "The chain differs." in ended.stderr
    assert "an orderly end" not in ended.stdout
