"""The stream of links in a real Redis: stated once, by the owner alone, and read when the replicas have it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest
from redis import Redis, ResponseError

from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.links import LINKS, LINKS_BASE, LostLinksError, RedisLinks
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.replication import NotReplicatedError
from tests.support.redis_replicas import replicated_redis

HERE: Final = LogNode("node_here", "boot_1")
THERE: Final = LogNode("node_there", "boot_2")


@pytest.fixture
def take(redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[Callable[[LogNode], LogOwnership]]:  # noqa: ARG001 - it is empty at first
    with ExitStack() as opened:

        def take(node: LogNode) -> LogOwnership:
            ownership = taken(connect_sync(redis_server.socket_path), node, "http://node", take_over=True)
            opened.callback(ownership.release)
            return ownership

        yield take


def test_given_entries_then_they_are_numbered_and_an_append_behind_others_is_refused_and_changes_nothing(
    log_redis: Redis, take: Callable[[LogNode], LogOwnership]
) -> None:
    links = RedisLinks(log_redis, take(HERE), replicas=0)
    assert links.base() is None
    links.trim(0, {"dispositions:bank": "3:abc"})

    assert links.append(0, [b"one", b"two"])
    assert not links.append(0, [b"other"])
    assert not links.append(1, [b"other"])
    assert links.append(2, [b"three"])

    assert links.base() == (0, {"dispositions:bank": "3:abc"})
    assert links.read(0, 10) == [(1, b"one"), (2, b"two"), (3, b"three")]
    assert links.read(1, 1) == [(2, b"two")]
    assert links.read(3, 10) == []
    with pytest.raises(LostLinksError, match="ends with entry 3; it had 9"):
        links.append(9, [b"other"])


def test_given_a_trim_then_the_base_has_the_ends_and_the_numbers_go_on(
    log_redis: Redis, take: Callable[[LogNode], LogOwnership]
) -> None:
    links = RedisLinks(log_redis, take(HERE), replicas=0)
    links.trim(0, {"dispositions:bank": "3:abc"})
    assert links.append(0, [b"one", b"two", b"three"])

    links.trim(2, {"actions:bank": "1:def"})

    assert links.base() == (2, {"dispositions:bank": "3:abc", "actions:bank": "1:def"})
    assert links.read(2, 10) == [(3, b"three")]
    assert links.append(3, [b"four"])


def test_given_a_former_owner_then_it_states_and_trims_nothing(
    log_redis: Redis, take: Callable[[LogNode], LogOwnership]
) -> None:
    sentences: list[str] = []
    former = take(HERE)
    former.start(sentences.append)
    links = RedisLinks(log_redis, former, replicas=0)
    links.trim(0, {})
    assert links.append(0, [b"one"])
    take(THERE)

    with pytest.raises(ResponseError, match="FENCED"):
        links.append(1, [b"two"])
    with pytest.raises(ResponseError, match="FENCED"):
        links.trim(1, {"actions:bank": "1:def"})

    assert len(sentences) == 1
    assert log_redis.xlen(LINKS) == 1
    assert log_redis.hgetall(LINKS_BASE) == {b"upto": b"0"}


def test_given_functions_that_are_gone_then_a_failed_append_loads_them_and_the_next_one_succeeds(
    log_redis: Redis, take: Callable[[LogNode], LogOwnership]
) -> None:
    links = RedisLinks(log_redis, take(HERE), replicas=0)
    log_redis.execute_command("FUNCTION", "FLUSH")
    with pytest.raises(ResponseError, match="Function not found"):
        links.append(0, [b"one"])
    assert links.append(0, [b"one"])


def test_given_a_replica_that_does_not_answer_then_no_append_is_confirmed_and_nothing_is_read_until_it_does(
    tmp_path: Path,
) -> None:
    with replicated_redis(tmp_path, 1) as (primary, (replica,)), closing(connect_sync(primary.url)) as client:
        owner = taken(connect_sync(primary.url), HERE, "http://node", take_over=True)
        links, reader = RedisLinks(client, owner, replicas=1), RedisLinks(primary.client(), owner, replicas=1)
        links.trim(0, {})
        assert links.append(0, [b"one"])
        assert reader.read(0, 10) == [(1, b"one")]

        replica.stop()
        with pytest.raises(NotReplicatedError):
            links.append(1, [b"two"])
        with pytest.raises(NotReplicatedError):
            reader.read(1, 10)
        replica.go_on()

        assert not links.append(1, [b"two"])  # it is there, and is not stated again
        assert reader.read(1, 10) == [(2, b"two")]
        owner.release()
