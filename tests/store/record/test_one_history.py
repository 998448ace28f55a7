"""Two nodes that commit the same facts in other orders have one chain, byte for byte, through kills and promotions."""

import random
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record import chain_file
from tests.support.clock import FrozenClock
from tests.support.link_streams import FencedError, LostAnswerError, SharedStream
from tests.support.linking_nodes import SHARDS, Node, Signer, assert_one_history, log_of, roots_of


class Killed(BaseException):
    """The process ended here."""


STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(["commit", "commit", "commit", "kill", "promote", "fault", "sign", "trim", "torn"]),
        st.integers(0, 1),
        st.lists(st.integers(0, 7), min_size=SHARDS, max_size=SHARDS),
    ),
    max_size=25,
)


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), steps=STEPS)
@example(seed=0, steps=[("commit", 0, [3, 3, 3]), ("promote", 1, [0, 0, 0]), ("sign", 1, [0] * 3)])
def test_given_random_streams_commits_kills_and_promotions_then_there_is_one_history_and_one_root_a_size(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: list[tuple[str, int, list[int]]]
) -> None:
    rng, folder, clock = random.Random(seed), tmp_path_factory.mktemp("nodes"), FrozenClock()
    log = log_of(rng, rng.randrange(1, 80))
    shared = SharedStream()
    keys = SigningKeys.open(
        folder / "keys.json", box=SecretBox(bytes(32)), clock=clock, purposes=(KeyPurpose.CHECKPOINT,)
    )
    a, b = nodes = [Node(name, folder, shared, log) for name in "ab"]
    with closing(a.database), closing(b.database):
        a.promote()
        for node in nodes:
            node.restart()
        for step, number, counts in steps:
            _take(step, nodes[number], nodes[1 - number], counts, (rng, keys, clock))
        while a.behind() or b.behind():
            for node, other in ((a, b), (b, a)):
                _commit(node, other, [rng.randrange(1, 9) for _ in range(SHARDS)])
        for node in nodes:  # both read what the other has stated
            node.restart()
        assert_one_history(nodes)
        roots = roots_of(a)
        assert roots == roots_of(b)
        assert len({(tenant_id, chain, size) for tenant_id, chain, size, _ in roots}) == len(roots)


def _take(
    step: str, node: Node, other: Node, counts: list[int], tools: tuple[random.Random, SigningKeys, FrozenClock]
) -> None:
    rng, keys, clock = tools
    if step == "promote":
        node.promote()
    elif step == "fault":
        node.fault = rng.choice(["before", "after"])
    elif step in {"kill", "torn"}:
        _commit_and_die(node, other, counts, torn=step == "torn")
    elif step == "commit":
        _commit(node, other, counts)
    elif step == "trim" and node.owns():
        node.link_log.trim(min(each.link_log.held_offset() for each in (node, other)))
    elif step == "sign" and node.owns():
        clock.advance(10 * 60 * 1_000_000)
        with suppress(LostAnswerError):
            Signer(node, keys, clock).sign()


def _commit(node: Node, other: Node, counts: list[int]) -> None:
    """Commit; while the node waits, the other one commits, or becomes the owner."""

    def wait() -> None:
        if other.owns():
            other.commit([99] * SHARDS)
        else:
            node.promote()

    node.on_wait = wait
    try:
        node.commit(counts)
    except FencedError:
        node.restart()


def _commit_and_die(node: Node, other: Node, counts: list[int], *, torn: bool) -> None:
    """Die before the commit, or while the first file is appended to; then start again."""
    append = chain_file.append_durably

    def die(path: Path, content: bytes) -> None:
        if torn:
            append(path, content[: len(content) // 2])
        raise Killed

    chain_file.append_durably = die
    try:
        _commit(node, other, counts)
    except Killed:
        pass
    finally:
        chain_file.append_durably = append
    node.restart()
    other.restart()
