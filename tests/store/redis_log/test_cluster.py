"""The primary of the log's slot in a cluster: found, followed over a failover and a move, with tagged keys."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hiredis import pack_command

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.live.users import rules_of
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import connect_async, connect_sync
from clearhold.store.redis_log.finders import ClusterNodes, NoPrimaryError, is_cluster, primary_address
from clearhold.store.redis_log.owner import LogNode, taken
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.tagged import SLOT, TAG, tagged, untagged
from tests.support.clock import T0
from tests.support.redis_cluster import Cluster, redis_cluster, tagged_key
from tests.support.redis_replicas import RedisProcess
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

SHARDS = 4
MANUAL = Path(__file__).parents[3] / "docs" / "operations.md"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with redis_cluster(tmp_path) as cluster:
        yield cluster


async def test_given_a_cluster_when_the_primary_is_killed_or_its_slot_is_moved_then_confirmed_entries_are_kept(
    cluster: Cluster,
) -> None:
    first = cluster.owner()
    ownership = taken(connect_sync(cluster.url), LogNode("node_here", "boot"), "here", take_over=True)
    ownership.start(lambda _: None)
    confirmed: list[int] = []
    async with connect_async(cluster.url) as client:
        appender = LogAppender(client, shards=SHARDS, ownership=ownership, replicas=0)

        async def append() -> bool:
            try:
                confirmed.append(await appender.append(1, EntryKind.TICK, "prg_1", T0, b"{}"))
            except UnavailableError:
                return False
            return True

        async def go_on() -> None:
            began = time.monotonic()
            while not await append():
                assert time.monotonic() - began < 30
                await asyncio.sleep(0.05)
            for _ in range(20):
                assert await append()

        await go_on()
        await asyncio.to_thread(eventually, lambda: has_all(cluster, first, len(confirmed)))
        await asyncio.to_thread(first.kill)
        await asyncio.to_thread(eventually, lambda: cluster.owner() is not first)
        await go_on()
        await asyncio.to_thread(cluster.move_slot, cluster.others()[0])
        await go_on()

    assert len(confirmed) == 63
    await asyncio.to_thread(eventually, ownership.is_current)
    with closing(connect_sync(cluster.url)) as client_now:
        reader = LogReader(client_now, range(SHARDS))
        assert {*confirmed} == {entry.offset for entry in reader.entries(1, 0, 2**62, page=100)}
        ((shard, entries),) = reader.read({1: confirmed[-2]}, count=10, block_ms=0)
        assert (shard, [entry.offset for entry in entries]) == (1, confirmed[-1:])
    assert {tagged_key(name).encode() for name in ("log:owner", "log:epoch", "log:1")} <= cluster.stored()
    assert {key for key in cluster.stored() if not key.startswith(TAG)} == set()
    ownership.release()


def has_all(cluster: Cluster, primary: RedisProcess, entries: int) -> bool:
    """Whether the primary's replica has as many entries: no write of this test needs one."""
    (replica,) = (node for node in cluster.nodes if node.port == int(cluster.ask(primary, "ROLE")[2][0][1]))
    with closing(replica.client()) as client:
        client.execute_command("READONLY")
        return int(client.xlen(tagged_key("log:1"))) == entries


def test_given_a_slot_on_its_way_then_clients_of_threads_are_refused_and_follow_it(cluster: Cluster) -> None:
    source, target = cluster.owner(), cluster.others()[0]
    with closing(connect_sync(cluster.url)) as client, closing(connect_sync(cluster.url)) as idle:
        assert client.set("log:probe", b"1")
        assert idle.get("log:probe") == b"1"
        cluster.ask(source, "CLUSTER", "SETSLOT", SLOT, "MIGRATING", cluster.id_of(target))
        with pytest.raises(NoPrimaryError, match="does not serve the slot"):
            client.set("log:another", b"2")  # on its way, a new key is for the target alone
        cluster.ask(source, "CLUSTER", "SETSLOT", SLOT, "STABLE")
        assert client.set("log:another", b"2")

        cluster.move_slot(target)
        with pytest.raises(NoPrimaryError, match="does not serve the slot"):
            idle.get("log:probe")
        assert idle.get("log:probe") == b"1"
        with client.pipeline(transaction=True) as transaction:
            transaction.sadd("log:tenants", "a")
            transaction.hset("log:trimmed", "1", "2")
            with pytest.raises(NoPrimaryError):
                transaction.execute()
            transaction.sadd("log:tenants", "a")
            transaction.hset("log:trimmed", "1", "2")
            assert transaction.execute() == [1, 1]
    assert cluster.ask(target, "HGET", tagged_key("log:trimmed"), "1") == b"2"


def packed(*words: str | int) -> bytes:
    return bytes(pack_command(words))  # type: ignore[arg-type]  # its stub: one word


@pytest.mark.parametrize(
    ("command", "sent"),
    [
        ("PING", "PING"),
        ("GET log:identity", "GET T:log:identity"),
        ("get idem:1", "get T:idem:1"),
        ("DEL a b", "DEL T:a T:b"),
        ("WATCH log:epoch", "WATCH T:log:epoch"),
        ("XADD log:3 * b body", "XADD T:log:3 * b body"),
        ("XINFO STREAM log:3", "XINFO STREAM T:log:3"),
        ("XREAD COUNT 5 BLOCK 9 STREAMS log:1 log:2 0-1 0-2", "XREAD COUNT 5 BLOCK 9 STREAMS T:log:1 T:log:2 0-1 0-2"),
        ("XREAD COUNT 1 STREAMS log:links 5-0", "XREAD COUNT 1 STREAMS T:log:links 5-0"),
        ("FCALL clearhold_take 2 log:owner log:epoch a b", "FCALL clearhold_take 2 T:log:owner T:log:epoch a b"),
        ("EVAL script 1 idem:1 a", "EVAL script 1 T:idem:1 a"),
        ("PUBLISH live:p 1-0", "PUBLISH live:p 1-0"),
        ("WAIT 1 100", "WAIT 1 100"),
        ("MGET console:session:a console:session:b", "MGET T:console:session:a T:console:session:b"),
        ("ZREVRANGE console:sessions:t 0 -1", "ZREVRANGE T:console:sessions:t 0 -1"),
    ],
)
def test_given_a_command_when_sent_to_a_cluster_then_its_keys_alone_have_the_tag(command: str, sent: str) -> None:
    as_sent = sent.replace("T:", TAG.decode())
    assert tagged(packed(*command.split())) == packed(*as_sent.split())
    both = packed("MULTI") + packed(*command.split())
    assert tagged(both) == packed("MULTI") + packed(*as_sent.split())


def test_given_the_commands_that_the_manual_grants_then_the_keys_of_each_are_known() -> None:
    arguments = {"fcall": "f 1 a", "eval": "s 1 a", "xread": "STREAMS a 0-0", "xinfo": "STREAM a"}
    (granted,) = re.findall(r"redis-cli ACL SETUSER clearhold (.*?)\nredis-cli", MANUAL.read_text("utf-8"), re.DOTALL)
    names = {each.partition("|")[0] for each in re.findall(r"[ '][+]([a-z|]+)", granted)}
    assert {"xadd", "getdel", "xinfo"} < names
    for name in names:
        assert tagged(packed(name, *arguments.get(name, "a").split()))


@pytest.mark.parametrize("command", ["KEYS *", "MSET a b", "XREADGROUP GROUP g c STREAMS a >"])
def test_given_a_command_whose_keys_are_unknown_or_a_part_of_one_then_it_is_not_sent(command: str) -> None:
    with pytest.raises(ValueError, match=f"words of {command.split(maxsplit=1)[0]} are keys"):
        tagged(packed(*command.split()))
    with pytest.raises(ValueError, match="part of a command"):
        tagged(packed("GET", "a")[:-1])


def test_given_a_key_of_an_answer_then_it_is_read_without_its_tag() -> None:
    assert untagged(TAG + b"log:3") == b"log:3"
    assert untagged(b"log:3") == b"log:3"


@pytest.mark.parametrize(
    ("url", "hosts", "user", "is_tls"),
    [
        ("redis+cluster://one,two:7000,[::1]:2", [("one", 6379), ("two", 7000), ("::1", 2)], None, False),
        ("rediss+cluster://u:p%40@one?ssl_ca_certs=%2Fca.pem", [("one", 6379)], "u", True),
    ],
)
def test_given_the_address_of_a_cluster_when_read_then_its_nodes_are_asked_as_the_user_of_the_servers(
    url: str, hosts: list[tuple[str, int]], user: str | None, *, is_tls: bool
) -> None:
    address = primary_address(url)

    assert is_cluster(url)
    assert isinstance(address.finder, ClusterNodes)
    assert address.finder.servers == hosts
    assert address.finder.arguments["username"] == address.arguments.get("username") == user
    assert address.finder.arguments["ssl"] is address.is_tls is is_tls
    assert address.finder.arguments.get("ssl_ca_certs") == ("/ca.pem" if is_tls else None)


@pytest.mark.parametrize("url", ["redis+cluster://", "redis+cluster://one/name", "redis+cluster:///", "redis://one"])
def test_given_an_address_of_a_cluster_without_nodes_or_with_a_name_then_it_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="redis\\+cluster://HOST"):
        primary_address(url)


@pytest.mark.parametrize(
    ("slots", "state", "primary"),
    [
        ([[0, 16383, [b"10.0.0.1", 7000, b"id"], [b"10.0.0.2", 7001, b"id"]]], "ok", ("10.0.0.1", 7000)),
        ([[0, 16383, [b"", 7000, b"id"]]], "ok", ("asked", 7000)),
        ([[0, SLOT, [b"a", 1, b"id"]], [SLOT + 1, 16383, [b"b", 2, b"id"]]], "ok", ("a", 1)),
        ([[0, SLOT - 1, [b"a", 1, b"id"]]], "ok", None),
        ([[0, 16383, [b"10.0.0.1", 7000, b"id"]]], "fail", None),
    ],
)
def test_given_what_a_node_answers_then_the_slots_primary_is_taken_from_one_with_the_majority(
    slots: list[object], state: str, primary: tuple[str, int] | None
) -> None:
    nodes = primary_address("redis+cluster://asked").finder

    assert (
        nodes.primary_in([f"cluster_enabled:1\r\ncluster_state:{state}\r\n".encode(), slots], ("asked", 1)) == primary
    )


def test_given_a_reader_of_live_streams_in_a_cluster_then_its_rights_name_tagged_keys_and_plain_channels() -> None:
    rules = rules_of(["p1"], can_group=True, tag=TAG.decode())
    keys = [rule for rule in rules if "~" in rule]

    assert all(each.split("~")[1].startswith(TAG.decode()) for each in keys)
    assert {"%R~{g00}:out:p1", "%R~{g00}:out:log", "%R~{g00}:latest:*:p1*", "&live:p1"} <= {*rules}
