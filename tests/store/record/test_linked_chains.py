"""A node gives each fact the place that the owner of the log has stated for it, and refuses all else."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from clearhold.features.core.canonical import Chain, LineKind
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.errors import StartupError
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record.chain import EMPTY
from clearhold.store.record.link_log import LinksAwaitedError
from clearhold.store.record.places import LinkError
from clearhold.store.record.reading import RecordFilter, RecordReader, Verification
from tests.support.clock import FrozenClock
from tests.support.link_streams import FencedError, SharedStream
from tests.support.linking_nodes import KEYS, Node, Signer, assert_one_history, log_of, roots_of
from tests.support.principals import an_operator
from tests.support.record import TENANT, a_fact


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Callable[..., list[Node]]]:
    with ExitStack() as opened:

        def nodes(log: list[list[ChainFactRow]], names: str = "ab") -> list[Node]:
            shared = SharedStream()
            made = [Node(name, tmp_path, shared, log) for name in names]
            for node in made:
                opened.enter_context(closing(node.database))
            made[0].promote()
            for node in made:
                node.restart()
            return made

        yield nodes


def test_given_a_follower_that_commits_in_another_order_then_its_chain_and_file_are_the_owners(
    nodes: Callable[..., list[Node]],
) -> None:
    owner, follower = nodes(log_of(random.Random(1), 60))
    owner.commit([99, 0, 0])
    owner.commit([0, 99, 0])
    owner.commit([0, 0, 99])

    follower.commit([0, 0, 99])
    assert follower.file(KEYS[0]) == b""
    assert follower.chains.sizes() == {"dispositions": 0, "actions": 0}
    follower.commit([0, 5, 0])
    follower.start()
    assert set(follower.chains.inspected().values()) == {EMPTY}
    follower.restart()
    assert follower.holes.whole_size(KEYS[0], 99) == 0
    follower.commit([99, 0, 0])
    follower.commit([0, 99, 0])

    assert follower.holes.whole_size(KEYS[0], 99) == 99
    assert_one_history([owner, follower])


def test_given_holes_of_a_promoted_node_then_links_behind_one_are_neither_signed_nor_exported_nor_checked(
    nodes: Callable[..., list[Node]], tmp_path: Path
) -> None:
    owner, follower = nodes([[a_fact(number, offset=number + 1, shard=0) for number in range(4)], [], []])
    later = [a_fact(10 + number, offset=number + 1, shard=1) for number in range(4)]
    owner.log[1].extend(later)
    for counts in ([2, 0, 0], [0, 2, 0], [9, 9, 0]):
        owner.commit(counts)
    whole: list[int] = []
    follower.before_commit = lambda: whole.append(follower.holes.whole_size(KEYS[0], 99))
    follower.commit([2, 0, 0])
    follower.commit([0, 3, 0])
    follower.promote()
    assert whole == [99, 2]  # known before the rows are in the tables
    assert [row.seq for row in follower.rows(KEYS[0])] == [0, 1, 2, 3, 6]

    clock = FrozenClock()
    keys = SigningKeys.open(
        tmp_path / "keys.json", box=SecretBox(bytes(32)), clock=clock, purposes=(KeyPurpose.CHECKPOINT,)
    )
    signer = Signer(follower, keys, clock)
    signer.sign()
    reader = RecordReader(follower.database, lambda _: [], holes=follower.holes)
    check = Verification(follower.database, follower.checkpoint_log, keys, holes=follower.holes)

    assert [size for _, _, size, _ in roots_of(follower)] == [4]
    dispositions = RecordFilter(kinds=frozenset({LineKind.DISPOSITION}))
    assert sum(map(len, reader.export(an_operator(TENANT), dispositions, 100))) == 4
    checked = check.check(an_operator(TENANT), Chain.DISPOSITIONS)
    assert (checked.checked, checked.broken_at) == (4, None)

    follower.commit([9, 9, 0])
    owner.restart()
    clock.advance(10 * 60 * 1_000_000)
    signer.sign()
    assert [size for _, _, size, _ in roots_of(follower)] == [4, 8]
    owner.restart()
    assert roots_of(owner) == roots_of(follower)
    assert_one_history([owner, follower])


def test_given_a_checkpoint_of_the_owner_then_a_follower_keeps_it_once_it_has_its_links_and_checks_itself_against_it(
    nodes: Callable[..., list[Node]], tmp_path: Path
) -> None:
    owner, follower = nodes([[a_fact(number, offset=number + 1, shard=0) for number in range(9)], [], []])
    clock = FrozenClock()
    keys = SigningKeys.open(
        tmp_path / "keys.json", box=SecretBox(bytes(32)), clock=clock, purposes=(KeyPurpose.CHECKPOINT,)
    )
    owner.commit([6, 0, 0])
    Signer(owner, keys, clock).sign()
    owner.commit([1, 0, 0])

    follower.commit([3, 0, 0])
    assert (roots_of(follower), follower.link_log.held_offset()) == ([], 0)
    follower.restart()
    follower.commit([3, 0, 0])
    assert roots_of(follower) == roots_of(owner) == [(*KEYS[0], 6, roots_of(owner)[0][3])]
    follower.restart()
    assert roots_of(follower) == roots_of(owner)

    follower.promote()
    follower.database.execute("UPDATE record_chain SET hash = repeat('0', 64) WHERE seq = 2")
    with pytest.raises(AssertionError):  # the chain contradicts the checkpoint of the former owner
        Signer(follower, keys, clock).sign()


def test_given_a_fact_without_a_place_then_a_follower_waits_for_it_and_the_owner_states_it(
    nodes: Callable[..., list[Node]],
) -> None:
    owner, follower = nodes(log_of(random.Random(2), 30))
    waits: list[int] = []

    def wait() -> None:
        waits.append(len(waits))
        assert follower.rows(KEYS[0]) == []
        if len(waits) == 2:
            owner.commit([5, 5, 5])
        elif len(waits) == 3:
            owner.commit([99, 99, 99])

    follower.on_wait = wait
    follower.commit([99, 99, 99])

    assert len(waits) == 3
    assert_one_history([owner, follower])


def test_given_a_follower_that_is_stopped_or_promoted_while_it_waits_then_it_gives_up_or_states_the_place(
    nodes: Callable[..., list[Node]],
) -> None:
    owner, follower = nodes(log_of(random.Random(3), 30))
    owner.commit([4, 4, 0])
    follower.on_wait = follower.chains.leave
    with pytest.raises(LinksAwaitedError):
        follower.commit([9, 9, 9])
    follower.restart()
    assert follower.rows(KEYS[0]) == []

    follower.on_wait = follower.promote
    follower.commit([99, 99, 99])
    with pytest.raises(FencedError):
        owner.commit([99, 0, 0])
    owner.restart()
    owner.commit([99, 99, 99])

    assert follower.stream.appends == 1
    assert_one_history([owner, follower])


@pytest.mark.parametrize("fault", ["before", "after"])
def test_given_an_append_whose_answer_is_lost_when_the_commit_is_tried_again_then_each_link_is_stated_once(
    nodes: Callable[..., list[Node]], fault: str
) -> None:
    owner, follower = nodes(log_of(random.Random(4), 20))
    owner.commit([2, 2, 2])
    owner.fault = fault
    owner.commit([99, 99, 99])
    follower.commit([99, 99, 99])

    assert owner.stream.appends == 2
    assert_one_history([owner, follower])


def test_given_a_follower_with_another_body_then_it_ends_with_a_sentence_and_commits_nothing(
    nodes: Callable[..., list[Node]],
) -> None:
    log = log_of(random.Random(5), 20)
    owner, follower = nodes(log)
    owner.commit([99, 99, 99])
    changed = a_fact(999, tenant_id=TENANT, id=log[0][0].id, chain=log[0][0].chain, shard=0, offset=1)
    follower.log = [[changed, *log[0][1:]], *log[1:]]
    if log[0][0].tenant_id != TENANT:
        pytest.fail("the seed has its first fact of another tenant")

    with pytest.raises(LinkError):
        follower.commit([1, 0, 0])

    assert "this node has computed" in follower.ends[0]
    assert follower.rows(KEYS[0]) == []


def test_given_a_database_that_differs_from_the_log_of_links_when_started_then_it_is_refused(
    nodes: Callable[..., list[Node]],
) -> None:
    owner, follower = nodes(log_of(random.Random(6), 40))
    owner.commit([99, 99, 99])
    follower.commit([9, 9, 9])
    follower.database.execute("UPDATE record_chain SET hash = repeat('0', 64) WHERE seq = 1")
    with pytest.raises(StartupError, match="differs from the log of links at seq 1"):
        follower.restart()


def test_given_a_hole_that_the_log_of_links_does_not_explain_when_started_then_it_is_refused(
    nodes: Callable[..., list[Node]],
) -> None:
    (owner,) = nodes(log_of(random.Random(6), 40), "a")
    owner.commit([99, 99, 99])
    owner.link_log.trim(owner.link_log.held_offset())
    owner.commit([99, 99, 99])
    owner.database.execute("DELETE FROM record_chain WHERE seq = 1")
    owner.shared.begun, owner.shared.entries = None, {}
    with pytest.raises(StartupError, match="is not whole: seq 1 "):
        owner.restart()


def test_given_a_trim_then_members_go_on_and_one_that_was_left_behind_is_told_to_join_again(
    nodes: Callable[..., list[Node]],
) -> None:
    owner, follower, late = nodes(log_of(random.Random(7), 60), "abc")
    for _ in range(5):
        owner.commit([2, 2, 2])
        follower.commit([2, 2, 2])
    assert follower.link_log.held_offset() == owner.link_log.held_offset() == 5
    owner.link_log.trim(follower.link_log.held_offset())
    assert sorted(owner.shared.entries) == [5]

    owner.commit([99, 99, 99])
    follower.restart()
    follower.commit([99, 99, 99])
    owner.restart()

    assert_one_history([owner, follower])
    late.on_wait = late.chains.leave
    with pytest.raises(LinkError, match="must join again"):
        late.commit([1, 1, 1])
    assert len(late.ends) == 1
    with pytest.raises(LinkError, match="must join again"):
        late.restart()


def test_given_links_of_a_time_without_replicas_when_the_owner_starts_then_it_states_them(
    nodes: Callable[..., list[Node]], tmp_path: Path
) -> None:
    (owner,) = nodes(log_of(random.Random(8), 40), "a")
    owner.commit([2, 2, 2])
    entries, base = dict(owner.shared.entries), owner.shared.begun
    owner.commit([4, 4, 4])
    owner.shared.entries, owner.shared.begun = entries, base  # as if those links had not been stated
    owner.restart()
    owner.commit([99, 99, 99])

    follower = Node("b", tmp_path, owner.shared, owner.log)
    with closing(follower.database):
        follower.restart()
        follower.commit([99, 99, 99])
        assert_one_history([owner, follower])
