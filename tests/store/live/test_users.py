"""A reader of the live streams in a real Redis: what it can read, and all that it cannot do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from clearhold.store.live.users import remove_user, rules_of, set_user
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.support.redis_process import redis_of_its_own

MINE, OTHERS = "00000000-0000-4000-8000-00000000b001", "00000000-0000-4000-8000-00000000b002"
PASSWORD = "rds_of_the_tests"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path)
    server.start()
    yield server
    server.stop()


def owner_of(server: EmbeddedRedis) -> Redis:
    return connect_sync(server.socket_path)


def reader_of(server: EmbeddedRedis, *programs: str, can_group: bool = False, password: str = PASSWORD) -> Redis:
    owner = owner_of(server)
    for program in (MINE, OTHERS):
        owner.xadd(f"out:{program}", {"kind": "k", "event": "{}"})
        owner.hset(f"latest:entity:{program}:ent_1", "score", "7")
        owner.hset(f"latest:program:{program}", "score", "9")
    owner.hset("out:log", "log", "ofThisLog")
    owner.xadd("log:0", {"b": "secret"})
    owner.set("log:identity", "secret")
    owner.set("idempotency:1", "secret")
    assert set_user(owner, "feed", PASSWORD, rules_of(programs, can_group=can_group))
    return Redis(unix_socket_path=str(server.socket_path), username="feed", password=password)


FORBIDDEN: list[Callable[[Redis], Any]] = [
    lambda reader: reader.xrange("log:0"),
    lambda reader: reader.get("log:identity"),
    lambda reader: reader.xread({"log:0": "0"}),
    lambda reader: reader.hgetall("key:usage"),
    lambda reader: reader.xadd(f"out:{MINE}", {"kind": "forged"}),
    lambda reader: reader.xadd(f"out:{MINE}", {"kind": "forged"}, id="9999999999999-0"),
    lambda reader: reader.delete(f"out:{MINE}"),
    lambda reader: reader.xtrim(f"out:{MINE}", maxlen=0),
    lambda reader: reader.hset(f"latest:program:{MINE}", "score", "0"),
    lambda reader: reader.expire(f"latest:program:{MINE}", 1),
    lambda reader: reader.publish(f"live:{MINE}", "1-1"),
    lambda reader: reader.keys("*"),
    lambda reader: reader.scan(),
    lambda reader: reader.flushall(),
    lambda reader: reader.flushdb(),
    lambda reader: reader.config_get("*"),
    lambda reader: reader.config_set("maxmemory", 1),
    lambda reader: reader.execute_command("ACL", "LIST"),
    lambda reader: reader.execute_command("SHUTDOWN"),
    lambda reader: reader.execute_command("MODULE", "LIST"),
    lambda reader: reader.execute_command("MONITOR"),
    lambda reader: reader.client_list(),
    lambda reader: reader.client_kill("127.0.0.1:1"),
    lambda reader: reader.eval("return redis.call('GET', 'log:identity')", 0),
    lambda reader: reader.execute_command("SELECT", 1),
    lambda reader: reader.save(),
    lambda reader: reader.replicaof("127.0.0.1", 1),
]


def test_given_a_reader_then_it_reads_streams_scores_and_channels(redis: EmbeddedRedis) -> None:
    reader = reader_of(redis)

    assert len(reader.xread({f"out:{MINE}": "0", f"out:{OTHERS}": "0"})) == 2
    assert reader.xrevrange(f"out:{MINE}", count=1)
    assert reader.hgetall(f"latest:entity:{MINE}:ent_1") == {b"score": b"7"}
    with reader.pubsub() as heard:
        heard.psubscribe("live:*")
        assert heard.get_message(timeout=5)


@pytest.mark.parametrize("can_group", [False, True])
def test_given_a_reader_when_it_reaches_beyond_then_it_is_refused(redis: EmbeddedRedis, *, can_group: bool) -> None:
    reader = reader_of(redis, can_group=can_group)
    for attempt in FORBIDDEN:
        with pytest.raises(NoPermissionError):
            attempt(reader)


def test_given_a_reader_of_one_program_then_the_others_are_out_of_its_reach(redis: EmbeddedRedis) -> None:
    reader = reader_of(redis, MINE, can_group=True)

    assert reader.xread({f"out:{MINE}": "0"})
    assert reader.hget(f"latest:program:{MINE}", "score") == b"9"
    assert reader.hget("out:log", "log") == b"ofThisLog"
    reader.xgroup_create(f"out:{MINE}", "cases", "0")
    for attempt in (
        lambda: reader.xread({f"out:{OTHERS}": "0"}),
        lambda: reader.hgetall(f"latest:entity:{OTHERS}:ent_1"),
        lambda: reader.xgroup_create(f"out:{OTHERS}", "cases", "0"),
        lambda: reader.execute_command("SUBSCRIBE", f"live:{OTHERS}"),
    ):
        with pytest.raises(NoPermissionError):
            attempt()


def test_given_groups_then_a_reader_shares_the_entries_of_a_stream_and_confirms_them(redis: EmbeddedRedis) -> None:
    reader = reader_of(redis, can_group=True)
    key = f"out:{MINE}"
    reader.xgroup_create(key, "cases", "0")
    ((_, ((entry, _),)),) = cast("Any", reader.xreadgroup("cases", "first", {key: ">"}))

    assert reader.xack(key, "cases", entry) == 1
    with pytest.raises(NoPermissionError):
        reader_of(redis).xreadgroup("cases", "first", {key: ">"})


def test_given_a_restart_of_redis_then_a_reader_is_known_and_a_removed_one_is_not(redis: EmbeddedRedis) -> None:
    reader_of(redis)
    redis.stop()
    redis.start()
    assert reader_of(redis).xlen(f"out:{MINE}") == 2

    with pytest.raises(AuthenticationError):
        reader_of(redis, password="wrong").ping()
    assert remove_user(owner_of(redis), "feed")
    redis.stop()
    redis.start()
    with pytest.raises(AuthenticationError):
        Redis(unix_socket_path=str(redis.socket_path), username="feed", password=PASSWORD).ping()


def test_given_a_redis_without_a_file_of_users_then_a_user_lasts_until_its_restart_and_that_is_said(
    tmp_path: Path,
) -> None:
    with redis_of_its_own(tmp_path / "redis"), connect_sync(tmp_path / "redis" / "redis.sock") as owner:
        assert not set_user(owner, "feed", PASSWORD, rules_of([], can_group=False))
        assert not remove_user(owner, "feed")
