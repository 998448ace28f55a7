"""The owner of the log in a named Redis: who may take it, and that nothing of another epoch is appended."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, closing
from hashlib import sha256
from pathlib import Path

import pytest
from redis import Redis, ResponseError
from structlog.testing import capture_logs

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.nodes.watch import OwnerWatch
from clearhold.store.redis_log import owner as owner_module
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, RedisSettingsError, connect_async, connect_sync
from clearhold.store.redis_log.owner import (
    DIGEST,
    LIVE_S,
    LogNode,
    LogOwnership,
    NotOwnerError,
    OwnerRefusedError,
    node_of,
    taken,
)
from clearhold.store.redis_log.reader import TENANTS, TRIMMED, LogReader, control_key, shard_key
from clearhold.store.redis_log.writes import FENCES, OWNER, ToProgram
from tests.support.clock import T0
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 4
HERE, THERE = LogNode("node_here", "boot_1"), LogNode("node_there", "boot_2")
CLONE = LogNode(HERE.id, "boot_2")
NAMES = {HERE: "http://here", THERE: "http://there", CLONE: "http://clone"}


Take = Callable[..., LogOwnership]
AppenderOf = Callable[[LogOwnership], LogAppender]


@pytest.fixture
def take(redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[Take]:  # noqa: ARG001 - it is empty at first
    owners: list[LogOwnership] = []

    def take(node: LogNode, *, take_over: bool = False) -> LogOwnership:
        client = connect_sync(redis_server.socket_path)
        owners.append(taken(client, node, NAMES[node], take_over=take_over))
        return owners[-1]

    yield take
    for each in owners:
        each.release()


@pytest.fixture
async def appender_of(redis_server: EmbeddedRedis) -> AsyncIterator[AppenderOf]:
    async with AsyncExitStack() as opened:
        clients = []

        def appender_of(ownership: LogOwnership) -> LogAppender:
            clients.append(connect_async(redis_server.socket_path))
            opened.push_async_callback(clients[-1].aclose)
            return LogAppender(clients[-1], shards=SHARDS, ownership=ownership)

        yield appender_of


def test_given_a_live_owner_when_another_node_starts_then_it_is_refused_with_its_name_and_may_take_over(
    log_redis: Redis, take: Take
) -> None:
    sentences: list[str] = []
    first = take(HERE)
    first.start(sentences.append)
    with pytest.raises(OwnerRefusedError, match=r"node_here at http://here.*--take-over"):
        take(THERE)
    assert first.is_current()
    assert sentences == []

    second = take(THERE, take_over=True)
    eventually(lambda: not first.is_current())

    assert second.epoch > first.epoch
    eventually(lambda: len(sentences) == 1)
    assert "node_there at http://there" in sentences[0]
    with pytest.raises(NotOwnerError):
        first.require_current()
    assert log_redis.hget(OWNER, "node") == b"node_there"


def test_given_an_owner_that_was_killed_when_another_node_starts_then_it_waits_for_its_silence_and_takes_it(
    log_redis: Redis, take: Take
) -> None:
    first = take(HERE)
    seen = int(log_redis.hget(OWNER, "seen") or 0)
    with capture_logs() as lines:
        second = take(THERE)

    assert [line["node"] for line in lines if line["event"] == "owner_watched"] == ["node_here"]
    assert int(log_redis.hget(OWNER, "seen") or 0) - seen >= LIVE_S * 1_000
    assert second.epoch > first.epoch
    log_redis.hset(OWNER, "seen", 1 << 52)  # a clock that was far ahead: silence is measured here
    third = take(HERE)
    assert third.epoch > second.epoch


@pytest.mark.parametrize("how", ["the same node", "released"])
def test_given_the_same_node_or_a_released_log_when_started_then_it_does_not_wait(
    log_redis: Redis, take: Take, how: str
) -> None:
    first = take(HERE)
    if how == "released":
        first.release()
    with capture_logs() as lines:
        second = take(HERE if how == "the same node" else THERE)

    assert not [line for line in lines if line["event"] == "owner_watched"]
    assert second.epoch > first.epoch
    assert log_redis.hget(OWNER, "epoch") == str(second.epoch).encode()


def test_given_the_same_node_after_a_restart_of_the_machine_then_it_is_another(log_redis: Redis, take: Take) -> None:
    first = take(HERE)
    first.start(lambda _: None)
    with pytest.raises(OwnerRefusedError):
        take(CLONE)
    first.release()
    assert log_redis.hget(OWNER, "seen") == b"0"


def test_given_a_copy_of_a_process_that_owns_the_log_then_one_of_the_two_is_fenced(
    redis_server: EmbeddedRedis, log_redis: Redis, take: Take
) -> None:
    first = take(HERE)
    beat = log_redis.hget(OWNER, "beat")
    assert isinstance(beat, bytes)
    sentences: list[str] = []
    twins = [
        LogOwnership(connect_sync(redis_server.socket_path), HERE, "", first.epoch, beat.decode(), taken_at=0.0)
        for _ in range(2)
    ]
    for twin in twins:
        twin.start(sentences.append)

    eventually(lambda: len(sentences) >= 1)
    assert "a copy of this process" in sentences[0]
    for twin in twins:
        twin.release()


@pytest.mark.parametrize("earlier", [0, 7])
def test_given_a_former_owner_that_is_fenced_then_the_owner_and_a_standby_count_it_once(
    redis_server: EmbeddedRedis, log_redis: Redis, take: Take, earlier: int
) -> None:
    first, sentences = take(HERE), list[str]()
    log_redis.hset(OWNER, FENCES, earlier)
    second = take(THERE, take_over=True)
    second.start(sentences.append)
    eventually(lambda: second.fences == earlier)

    first.start(sentences.append)
    eventually(lambda: second.fences == earlier + 1)
    first.note(ResponseError("FENCED 9 by node_there at there"))

    assert len(sentences) == 1
    assert log_redis.hget(OWNER, FENCES) == str(earlier + 1).encode()
    with closing(connect_sync(redis_server.socket_path)) as client:
        assert OwnerWatch(client, "node_elsewhere").look().fences == earlier + 1
    third = take(HERE, take_over=True)
    third.start(sentences.append)
    eventually(lambda: third.fences == earlier + 2)


def test_given_a_failover_that_loses_the_last_renewals_then_the_owner_goes_on(take: Take, log_redis: Redis) -> None:
    sentences: list[str] = []
    owner = take(HERE)
    before = str(log_redis.hget(OWNER, "beat"), "ascii")  # type: ignore[arg-type]
    owner.start(sentences.append)
    eventually(lambda: log_redis.hget(OWNER, "beat") != before.encode())
    log_redis.hset(OWNER, "beat", before)  # as a replica that was behind has it
    eventually(lambda: log_redis.hget(OWNER, "beat") != before.encode())

    assert owner.is_current()
    assert sentences == []


def test_given_a_directory_when_it_is_copied_then_the_copy_is_another_node(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    node = node_of(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")

    assert node_of(tmp_path / "one") == node
    assert node_of(tmp_path / "two").id != node.id
    assert node_of(tmp_path / "two").boot == node.boot


@pytest.mark.parametrize("seed", range(8))
async def test_given_owners_of_many_epochs_when_they_write_in_any_order_then_the_log_has_the_newest_ones_alone(
    redis_server: EmbeddedRedis, log_redis: Redis, take: Take, appender_of: AppenderOf, seed: int
) -> None:
    choose = random.Random(seed)
    owners = [take(HERE)]
    appenders = [appender_of(owners[0])]
    confirmed: list[tuple[str, int]] = []
    for number in range(120):
        if choose.random() < 0.1:
            owners.append(take(choose.choice([HERE, THERE]), take_over=True))
            appenders.append(appender_of(owners[-1]))
        index, shard = choose.randrange(len(owners)), choose.randrange(SHARDS)
        before, ends = contents(log_redis), [str(number).encode()] * choose.randrange(1, 4)
        writer, reader = appenders[index], LogReader(log_redis, range(SHARDS), trims=owners[index])
        kind = choose.choice(["one", "some", "control", "trim"])
        newest = index == len(owners) - 1
        try:
            if kind == "one":
                confirmed.append((shard_key(shard), await writer.append(shard, EntryKind.TICK, "", T0, ends[0])))
            elif kind == "some":
                offsets = await writer.append_events(shard, "prg_1", T0, ends)
                confirmed += [(shard_key(shard), offset) for offset in offsets]
            elif kind == "control":
                to = [ToProgram(shard, EntryKind.TICK, "prg_1", end) for end in ends]
                confirmed.append(("", await writer.append_control("ten_1", "program", T0, b"{}", to_programs=to)))
            else:
                reader.trim(shard, 0)
            confirmed_by_newest = newest
        except (UnavailableError, ResponseError, NotOwnerError):
            confirmed_by_newest = not newest and contents(log_redis) == before
        assert confirmed_by_newest, kind

    held = {(key, offset) for key, offset in confirmed if key}
    with closing(connect_sync(redis_server.socket_path)) as reading:
        reader = LogReader(reading, range(SHARDS))
        got = {
            (shard_key(shard), entry.offset)
            for shard in range(SHARDS)
            for entry in reader.entries(shard, 0, reader.tail(shard), page=100)
        }
    assert held <= got


def contents(client: Redis) -> list[object]:
    """All that a refused write could have changed."""
    streams = [client.xlen(shard_key(shard)) for shard in range(SHARDS)]
    return [*streams, client.xlen(control_key("ten_1")), client.smembers(TENANTS), client.hgetall(TRIMMED)]


async def test_given_functions_that_were_flushed_then_appends_go_on_and_a_renewal_loads_them(
    log_redis: Redis, take: Take, appender_of: AppenderOf
) -> None:
    ownership = take(HERE)
    ownership.start(lambda _: None)
    appender = appender_of(ownership)
    await appender.append(1, EntryKind.TICK, "", T0, b"")
    log_redis.execute_command("FUNCTION", "FLUSH")

    assert await appender.append(1, EntryKind.TICK, "", T0, b"") == appender.last_appended(1)
    await asyncio.to_thread(eventually, lambda: DIGEST in digests(log_redis))
    assert ownership.is_current()


async def test_given_another_version_of_the_functions_when_connected_then_they_are_replaced(
    log_redis: Redis, take: Take, appender_of: AppenderOf
) -> None:
    load = "#!lua name=clearhold\nredis.register_function('clearhold_append', function() return {'1-1'} end)"
    ownership = take(HERE)
    log_redis.execute_command("FUNCTION", "LOAD", "REPLACE", load)

    await appender_of(ownership).append(1, EntryKind.TICK, "", T0, b"")

    assert digests(log_redis) == [DIGEST]


def digests(client: Redis) -> list[str]:
    """Of the code of the libraries."""
    (library,) = client.execute_command("FUNCTION", "LIST", "WITHCODE") or [[]]
    return [
        sha256(value).hexdigest()
        for name, value in zip(library[::2], library[1::2], strict=True)
        if name == b"library_code"
    ]


async def test_given_a_redis_that_lost_its_owner_when_appended_then_it_is_refused_and_the_service_is_not_fenced(
    log_redis: Redis, take: Take, appender_of: AppenderOf
) -> None:
    sentences: list[str] = []
    ownership = take(HERE)
    ownership.start(sentences.append)
    log_redis.delete(OWNER)
    with pytest.raises(UnavailableError):
        await appender_of(ownership).append(1, EntryKind.TICK, "", T0, b"")
    await asyncio.to_thread(eventually, lambda: not ownership.is_current())

    assert sentences == []
    assert not log_redis.exists(shard_key(1))


def test_given_a_redis_at_its_limit_then_the_owner_renews_and_trims(log_redis: Redis, take: Take) -> None:
    ownership = take(HERE)
    offset = log_redis.xadd(shard_key(1), {"k": "tick"}, id="5-0")
    log_redis.config_set("maxmemory", 1)
    try:
        ownership.start(lambda _: None)
        before = log_redis.hget(OWNER, "beat")
        eventually(lambda: log_redis.hget(OWNER, "beat") != before)
        assert LogReader(log_redis, range(SHARDS), trims=ownership).trim(1, 5 << 20) == 1
    finally:
        log_redis.config_set("maxmemory", 0)
    assert offset == b"5-0"


@pytest.mark.parametrize("rule", ["-fcall", "-function|load", "-function|list", "-time"])
def test_given_a_user_without_a_right_when_started_then_the_sentence_names_it(
    redis_server: EmbeddedRedis, log_redis: Redis, rule: str
) -> None:
    log_redis.execute_command("FUNCTION", "FLUSH")
    log_redis.execute_command("ACL", "SETUSER", "poor", "on", "nopass", "~*", "&*", "+@all", rule)
    with (
        closing(Redis(unix_socket_path=str(redis_server.socket_path), username="poor", password="")) as poor,
        pytest.raises(RedisSettingsError, match=r"\+fcall \+function\|list \+function\|load \+time"),
    ):
        taken(poor, HERE, "here", take_over=False)


def test_given_a_redis_before_functions_are_supported_when_started_then_it_is_refused(
    log_redis: Redis, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, "LEAST_VERSION", (99, 0))
    with pytest.raises(RedisSettingsError, match=r"has version .*7\.2 or newer"):
        take(HERE)
    assert not log_redis.exists(OWNER)
