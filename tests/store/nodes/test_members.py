"""The members of a log: no entry is trimmed that one of them needs, and a silent one is dropped and learns of it."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis, ResponseError

from clearhold.store.errors import StartupError
from clearhold.store.nodes.members import (
    Member,
    Membership,
    covered_of,
    drop_silent,
    leave,
    members_of,
    now_of,
    report_member,
    require_kept,
)
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.reader import TRIMMED, LogReader, shard_key, stream_id_of

SHARDS = 3
HERE = LogNode("node_here", "boot_1")
BIG = 1_795_000_000_000 << 20  # an offset of these years: beyond 2**53


@pytest.fixture
def owner(redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[LogOwnership]:  # noqa: ARG001 - it is empty at first
    with closing(connect_sync(redis_server.socket_path)) as client:
        ownership = taken(client, HERE, "http://here", take_over=True)
        yield ownership
        ownership.release()


@pytest.fixture
def membership(redis_server: EmbeddedRedis, owner: LogOwnership) -> Iterator[Membership]:
    with closing(connect_sync(redis_server.socket_path)) as client:
        yield Membership(client, owner, shards=SHARDS, version="1")


def joined(client: Redis, node: str, *held: int, role: str = "standby") -> None:
    offsets = covered_of(dict(enumerate(held)), SHARDS)
    report_member(client, node, Member(address="http://there", role=role, version="1", covered=offsets))


def filled(client: Redis, shard: int, offsets: list[int]) -> None:
    for offset in offsets:
        client.xadd(shard_key(shard), {"p": "x"}, id=stream_id_of(offset))


def test_given_a_member_that_needs_entries_when_the_owner_trims_then_nothing_is_dropped_until_it_has_them(
    log_redis: Redis, owner: LogOwnership, membership: Membership
) -> None:
    filled(log_redis, 1, [BIG + 1, BIG + 2, BIG + 3])
    reader = LogReader(log_redis, range(SHARDS), trims=owner)
    joined(log_redis, "node_there", BIG, BIG + 1, BIG)
    membership.report({0: BIG, 1: BIG + 3, 2: BIG}, behind_s=0.0)

    assert membership.bounds() == [BIG, BIG + 1, BIG]
    with pytest.raises(ResponseError, match="NEEDED node_there"):
        reader.trim(1, BIG + 2)  # one offset more than the member has, which a double cannot tell apart
    assert log_redis.xlen(shard_key(1)) == 3
    assert not log_redis.exists(TRIMMED)

    assert reader.trim(1, BIG + 1) == 1
    joined(log_redis, "node_there", BIG, BIG + 3, BIG)
    assert reader.trim(1, BIG + 3) == 2


def test_given_a_joining_node_when_it_has_reported_nothing_yet_then_it_holds_every_entry(
    log_redis: Redis, owner: LogOwnership, membership: Membership
) -> None:
    filled(log_redis, 0, [1 << 20])
    joined(log_redis, "node_new", role="joining")
    membership.report({0: 1 << 20}, behind_s=0.0)

    assert membership.bounds() == [0, 0, 0]
    with pytest.raises(ResponseError, match="NEEDED node_new"):
        LogReader(log_redis, range(SHARDS), trims=owner).trim(0, 1 << 20)
    assert leave(log_redis, "node_new")
    assert not leave(log_redis, "node_new")
    assert membership.bounds() == [1 << 20, 0, 0]


def test_given_a_silent_member_when_its_time_is_over_then_it_is_dropped_and_its_next_start_says_to_join_again(
    log_redis: Redis, owner: LogOwnership, membership: Membership
) -> None:
    filled(log_redis, 2, [5 << 20, 6 << 20])
    joined(log_redis, "node_there", 0, 0, 5 << 20)
    membership.report({2: 6 << 20}, behind_s=0.0)

    assert drop_silent(log_redis, owner, silent_s=60) == []
    assert drop_silent(log_redis, owner, silent_s=0) == ["node_there"]
    assert [each.node for each in members_of(log_redis)] == ["node_here"]

    LogReader(log_redis, range(SHARDS), trims=owner).trim(2, 6 << 20)
    with pytest.raises(StartupError, match=r"in the shards 02: .*clearhold join again"):
        require_kept(log_redis, {2: 5 << 20}, shards=SHARDS)
    require_kept(log_redis, {2: 6 << 20}, shards=SHARDS)


def test_given_a_member_that_reports_again_while_it_is_dropped_then_it_stays(
    log_redis: Redis, owner: LogOwnership
) -> None:
    joined(log_redis, "node_there")
    (before,) = members_of(log_redis)
    call = ("FCALL", "clearhold_drop_member", 2, "log:owner", "log:members", owner.epoch, "node_there")
    assert log_redis.execute_command(*call, before.seen_at // 1_000 - 1) == 0
    assert len(members_of(log_redis)) == 1
    assert abs(now_of(log_redis) - before.seen_at) < 60_000_000


def test_given_a_former_owner_then_it_drops_no_member(
    log_redis: Redis, owner: LogOwnership, redis_server: EmbeddedRedis
) -> None:
    joined(log_redis, "node_there")
    with closing(connect_sync(redis_server.socket_path)) as client:
        taken(client, LogNode("node_next", "boot"), "http://next", take_over=True)
        with pytest.raises(ResponseError, match="FENCED"):
            drop_silent(log_redis, owner, silent_s=0)
    assert len(members_of(log_redis)) == 1


def test_given_an_owner_that_ended_without_a_last_report_then_it_is_listed_as_the_former_one_until_it_owns_again(
    log_redis: Redis, owner: LogOwnership, membership: Membership, redis_server: EmbeddedRedis
) -> None:
    membership.report({}, behind_s=0.0)
    joined(log_redis, "node_next")
    roles = [{each.node: each.report.role for each in members_of(log_redis)}]
    with closing(connect_sync(redis_server.socket_path)) as client:
        taken(client, LogNode("node_next", "boot"), "http://next", take_over=True).release()
        roles.append({each.node: each.report.role for each in members_of(log_redis)})
        joined(log_redis, "node_next", role="owner")
        roles.append({each.node: each.report.role for each in members_of(log_redis)})
        owner.release()
        taken(client, HERE, "http://here", take_over=True).release()
        roles.append({each.node: each.report.role for each in members_of(log_redis)})

    assert roles == [
        {HERE.id: "owner", "node_next": "standby"},
        {HERE.id: "former owner", "node_next": "standby"},
        {HERE.id: "former owner", "node_next": "owner"},
        {HERE.id: "owner", "node_next": "former owner"},
    ]


_OFFSETS = st.lists(st.integers(BIG, BIG + 40), min_size=SHARDS, max_size=SHARDS)


@given(_OFFSETS, st.lists(_OFFSETS, max_size=3), st.integers(0, SHARDS - 1), st.integers(BIG - 1, BIG + 41))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_any_members_then_a_trim_succeeds_exactly_up_to_what_all_of_them_have(
    log_redis: Redis, owner: LogOwnership, own: list[int], others: list[list[int]], shard: int, upto: int
) -> None:
    log_redis.delete("log:members", TRIMMED)
    for number, held in enumerate([own, *others]):
        joined(log_redis, f"node_{number}", *held)
    reader = LogReader(log_redis, range(SHARDS), trims=owner)
    lowest = min(held[shard] for held in [own, *others])
    if upto <= lowest:
        reader.trim(shard, upto)
        assert reader.trimmed(shard) == upto
    else:
        with pytest.raises(ResponseError, match="NEEDED"):
            reader.trim(shard, upto)
        assert reader.trimmed(shard) == 0
