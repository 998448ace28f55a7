"""Ten times the owner of a log is killed under load: nothing confirmed is lost or doubled, and both nodes are equal."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import pytest

from tests.support.redis_replicas import replicated_redis
from tests.support.two_nodes import TwoNodes, ids_in, record_of, rows_of, under_load
from tests.support.waiting import eventually
from tests.support.warm import ran

ROUNDS: Final = int(os.environ.get("CLEARHOLD_TEST_TAKE_OVERS", "3"))
SEED: Final = 42
CHECKPOINTS: Final = "record_checkpoints"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoNodes]:
    with ExitStack() as opened:
        primary, _ = opened.enter_context(replicated_redis(tmp_path, 2))
        environment = {"CLEARHOLD_REDIS_URL": primary.url, "CLEARHOLD_REDIS_REPLICAS": "1"}
        two = TwoNodes(tmp_path, environment, "--scorers", "1")
        opened.callback(two.end)
        two.join()
        two.redis = opened.enter_context(closing(primary.client()))
        yield two


def between_ticks(two: TwoNodes) -> None:
    """Return early in a minute, so that no tick is appended before both nodes have stopped."""
    second = two.redis.time()[0] % 60
    if not 2 <= second <= 45:
        time.sleep((62 - second) % 60)


def stands_by(two: TwoNodes, at: int, *, behind_s: float = 30.0) -> bool:
    """Whether a node stands by, and how far at the most it is behind."""
    with closing(two.nodes[at].connect()) as connection:
        connection.request("GET", "/readyz")
        report = msgspec.json.decode(connection.getresponse().read())
    behind = report.get("behindSeconds")
    return report.get("role") == "standby" and behind is not None and behind <= behind_s


def verified(two: TwoNodes, at: int) -> dict[str, Any]:
    answer: dict[str, Any] = two.nodes[at].ask("GET", "/api/record/verify", two.bank.headers)
    return answer


def test_given_an_owner_that_is_killed_again_and_again_then_what_was_confirmed_is_in_both_nodes_once(
    two: TwoNodes,
) -> None:
    chance, owner, waits = random.Random(SEED), 0, []
    with under_load(two) as load:
        for _ in range(ROUNDS):
            time.sleep(chance.uniform(1.0, 3.0))
            killed_at = time.monotonic()
            two.nodes[owner].kill()  # its scorers end with it
            eventually(partial(load.first_event_after, killed_at), within_s=60)
            waits.append(load.first_event_after(killed_at) or 0.0)
            two.nodes[owner].start()
            eventually(partial(stands_by, two, owner), within_s=60)
            owner = 1 - owner
    print(f"first 200 after {', '.join(f'{wait:.1f}' for wait in waits)} s; {len(load.events)} events")

    assert verified(two, owner)["ok"]
    between_ticks(two)
    eventually(partial(stands_by, two, 1 - owner, behind_s=0.0), within_s=60)
    two.nodes[1 - owner].stop()
    two.nodes[owner].stop()
    for node in two.nodes:
        transfers, preflights = Counter(ids_in(node.data, "transfers")), Counter(ids_in(node.data, "preflights"))
        dispositions = Counter(ids_in(node.data, "dispositions"))
        assert [each for each in load.events if transfers[each] != 1] == []
        assert [each for each in load.preflights if preflights[each] != 1] == []
        assert [each for each in load.decisions if dispositions[each] != 1] == []
        assert load.decisions
        assert load.preflights
    assert record_of(two.nodes[0].data) == record_of(two.nodes[1].data)
    one, other = rows_of(two.nodes[0].data), rows_of(two.nodes[1].data)
    signed = [set(each.pop(CHECKPOINTS)) for each in (one, other)]
    assert signed[1 - owner] <= signed[owner]  # the owner stops last, and may sign one more
    assert one.keys() == other.keys()
    assert {name for name in one if one[name] != other[name]} == set()
    assert len(one["transfers"]) == len(load.events)
    rebuilt = ran("rebuild", "--data", two.nodes[0].data, environment=two.environment)  # as one node reads the log
    assert rebuilt.returncode == 0, rebuilt.stderr
    alone = rows_of(two.nodes[0].data)
    assert set(alone[CHECKPOINTS]) == signed[0]
    assert {name for name in one if one[name] != alone[name]} == set()
    assert record_of(two.nodes[0].data) == record_of(two.nodes[1].data)


def test_given_signed_checkpoints_of_both_nodes_then_one_size_has_one_root(two: TwoNodes) -> None:
    with under_load(two) as load:
        eventually(lambda: len(load.decisions) > 3, within_s=60)
        two.nodes[0].kill()
        decided = len(load.decisions)
        eventually(lambda: len(load.decisions) > decided + 3, within_s=60)
    verified(two, 1)
    signing = f"http://127.0.0.1:{two.nodes[1].port}/api/record/checkpoint?chain=dispositions"
    assert httpx.get(signing, headers=two.bank.headers).status_code == httpx.codes.OK
    two.nodes[1].stop()
    roots: dict[tuple[str, str, int], set[str]] = {}
    signed_by: list[set[bytes]] = []
    for node in two.nodes:
        lines = [
            (path.parent.name, line)
            for path in (node.data / "record").glob("*/checkpoints.ndjson")
            for line in path.read_bytes().splitlines()
        ]
        signed_by.append({line for _, line in lines})
        for tenant_id, line in lines:
            signed = msgspec.json.decode(line)
            roots.setdefault((tenant_id, signed["chain"], signed["size"]), set()).add(signed["root"])

    assert roots
    assert signed_by[0] < signed_by[1]  # the second node has kept those of the first one, and has signed after it
    assert {key: found for key, found in roots.items() if len(found) > 1} == {}
