"""Writes that a number of replicas has, and reads of such writes alone, against real servers."""

from collections.abc import Iterator
from contextlib import closing

import pytest
import redis

from clearhold.store.redis_log.replication import MARKER, NotReplicatedError, read_replicated, replicated
from tests.support.redis_replicas import RedisProcess, replicated_redis

Servers = tuple[RedisProcess, list[RedisProcess]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with replicated_redis(tmp_path_factory.mktemp("replicated"), 1) as opened:
        yield opened


def test_given_a_replica_when_a_write_is_confirmed_then_the_replica_has_it(servers: Servers) -> None:
    primary, (replica,) = servers
    with closing(primary.client()) as client, closing(replica.client()) as follower:
        for number in range(20):
            assert replicated(client, "INCR", "count", replicas=1, within_s=2) == number + 1
            assert follower.get("count") == str(number + 1).encode()
        assert read_replicated(client, "GET", "count", replicas=1, within_s=2) == b"20"
        assert client.get(MARKER) == b""


def test_given_a_stopped_replica_when_written_or_read_then_it_is_refused_and_not_without_demand(
    servers: Servers,
) -> None:
    primary, (replica,) = servers
    with closing(primary.client()) as client:
        replicated(client, "SET", "key", "before", replicas=1, within_s=2)
        replica.stop()
        try:
            with pytest.raises(NotReplicatedError, match="0 of 1 replicas"):
                replicated(client, "SET", "key", "after", replicas=1, within_s=0.2)
            with pytest.raises(NotReplicatedError):
                read_replicated(client, "GET", "key", replicas=1, within_s=0.2)
            assert read_replicated(client, "GET", "nothing", replicas=1, within_s=0.2) is None
            assert replicated(client, "GET", "key", replicas=0, within_s=0.2) == b"after"
        finally:
            replica.go_on()
        assert read_replicated(client, "GET", "key", replicas=1, within_s=3) == b"after"


def test_given_a_refused_command_when_written_then_its_refusal_is_raised_and_the_next_answer_is_its_own(
    servers: Servers,
) -> None:
    primary, _ = servers
    with closing(primary.client()) as client:
        client.set("word", "no number")
        with pytest.raises(redis.ResponseError, match="not an integer"):
            replicated(client, "INCR", "word", replicas=1, within_s=2)
        assert client.get("word") == b"no number"
