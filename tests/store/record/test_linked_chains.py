"""Two nodes that commit the same facts in other orders have one chain, byte for byte, through kills and promotions."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.errors import StartupError
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record import chain_file
from clearhold.store.record.chain import Holes, links_of
from clearhold.store.record.chain_file import RecordChainRow, line_of
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.link_log import LinkLog, LinksAwaitedError
from clearhold.store.record.linked_chains import LinkedChains
from clearhold.store.record.places import LinkError
from clearhold.store.tables import row_tables
from tests.support.clock import T0, FrozenClock
from tests.support.link_streams import FencedError, LostAnswerError, MemoryStream, SharedStream
from tests.support.record import TENANT, a_fact

SHARDS: Final = 3
KEYS: Final = ((TENANT, "dispositions"), (TENANT, "actions"), ("another", "dispositions"))


class Killed(BaseException):
    """The process ended here."""


class Node:
    """A data directory, and the process over it, which a kill ends and ``start`` begins again."""

    def __init__(self, name: str, folder: Path, shared: SharedStream, log: list[list[ChainFactRow]]) -> None:
        self.name, self.folder, self.shared, self.log = name, folder / name, shared, log
        self.folder.mkdir()
        self.database = open_database(self.folder / "clearhold.duckdb")
        self.epoch = 0
        self.fault: str | None = None
        self.on_wait: Callable[[], None] = self._stuck
        self.ends: list[str] = []
        self.committed = [0] * SHARDS
        self.holes = Holes()
        self.start()

    def start(self) -> None:
        """A new process, which opens the chains when it is told to."""
        self.stream = MemoryStream(self.shared, lambda: self.epoch, fault=self._next_fault, on_wait=self._wait)
        self.link_log = LinkLog(self.stream, is_owner=lambda: self.epoch != 0)
        self.chains = LinkedChains(
            self.database, self.folder / "record", self.link_log, holes=self.holes, end=self.ends.append
        )
        self.writer = BatchWriter(self.database, self.chains)

    def owns(self) -> bool:
        """The truth, which a former owner learns from a refusal."""
        return self.epoch == self.shared.epoch != 0

    def promote(self) -> None:
        self.shared.epoch += 1
        self.epoch = self.shared.epoch

    def commit(self, counts: list[int]) -> None:
        """Commit the next entries of each shard, as many as given, in one batch; a failed one is tried again."""
        shards = [shard for shard in range(SHARDS) if counts[shard]]
        upto = {shard: min(len(self.log[shard]), self.committed[shard] + counts[shard]) for shard in shards}
        facts = [fact for shard in shards for fact in self.log[shard][self.committed[shard] : upto[shard]]]
        if not facts:
            return
        offsets = {shard: end for shard, end in upto.items() if end}
        for _ in range(5):
            try:
                self.writer.commit(row_tables({ChainFactRow: facts}), offsets, T0)
                break
            except LostAnswerError:
                continue
        self.committed = [upto.get(shard, self.committed[shard]) for shard in range(SHARDS)]

    def restart(self) -> None:
        """As after a kill: what is committed is in the database, the rest is read from the log again."""
        if not self.owns():
            self.epoch = 0
        self.start()
        self.chains.open()
        stored = dict(self.database.execute('SELECT shard, max("offset") FROM log_offsets GROUP BY 1').fetchall())
        self.committed = [stored.get(shard, 0) for shard in range(SHARDS)]

    def behind(self) -> bool:
        return any(self.committed[shard] < len(self.log[shard]) for shard in range(SHARDS))

    def rows(self, key: tuple[str, str]) -> list[RecordChainRow]:
        return [row for page in links_of(self.database.cursor(), key, 0, 2_000) for row in page]

    def file(self, key: tuple[str, str]) -> bytes:
        path = chain_file.ChainFile(self.folder / "record", *key).path
        return path.read_bytes() if path.exists() else b""

    def _next_fault(self) -> str | None:
        fault, self.fault = self.fault, None
        return fault

    def _wait(self) -> None:
        self.on_wait()

    def _stuck(self) -> None:
        raise AssertionError(f"{self.name} waits for a place that nobody states")


def log_of(rng: random.Random, facts: int) -> list[list[ChainFactRow]]:
    log: list[list[ChainFactRow]] = [[] for _ in range(SHARDS)]
    for number in range(facts):
        shard, (tenant_id, chain) = rng.randrange(SHARDS), rng.choice(KEYS)
        offset = len(log[shard]) + 1
        log[shard].append(a_fact(number, tenant_id=tenant_id, chain=chain, shard=shard, offset=offset))
    return log


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


def assert_one_history(nodes: list[Node]) -> None:
    """Whole chains, the same in tables and files of all nodes, in the order that the log of links states."""
    for key in KEYS:
        first = nodes[0].rows(key)
        assert [row.seq for row in first] == list(range(len(first)))
        assert [row.prev_hash for row in first] == [None, *(row.hash for row in first[:-1])][: len(first)]
        for node in nodes:
            assert node.rows(key) == first
            assert node.file(key) == b"".join(map(line_of, first))
            assert node.ends == []
    facts = sum(map(len, nodes[0].log))
    assert sum(len(nodes[0].rows(key)) for key in KEYS) == facts
    assert {node.link_log.held_offset() for node in nodes} == {nodes[0].shared.last}


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
    follower.restart()
    assert follower.holes.whole_size(KEYS[0], 99) == 0
    follower.commit([99, 0, 0])
    follower.commit([0, 99, 0])

    assert follower.holes.whole_size(KEYS[0], 99) == 99
    assert_one_history([owner, follower])


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


class Signer:
    """Signs a node's chains, as its own process would."""

    def __init__(self, node: Node, keys: SigningKeys, clock: FrozenClock) -> None:
        log = CheckpointLog(node.database, node.folder / "record")
        log.open()
        self._log = log
        self._checkpoints = RecordCheckpoints(
            node.database,
            log,
            signing_keys=keys,
            clock=clock,
            origin_of=lambda tenant_id, chain: f"bank/{tenant_id}/{chain}",
            holes=node.holes,
        )

    def sign(self) -> None:
        self._checkpoints.sign_due()
        assert self._checkpoints.inconsistent == 0

    def roots(self) -> set[tuple[str, str, int, str]]:
        return {(row.tenant_id, row.chain, row.size, row.root) for row in self._log.page(TENANT, None, None, 10_000)}


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
    roots: set[tuple[str, str, int, str]] = set()
    with closing(a.database), closing(b.database):
        a.promote()
        for node in nodes:
            node.restart()
        for step, number, counts in steps:
            roots |= _taken_step(step, nodes[number], nodes[1 - number], counts, (rng, keys, clock))
        while a.behind() or b.behind():
            for node, other in ((a, b), (b, a)):
                _commit(node, other, [rng.randrange(1, 9) for _ in range(SHARDS)])
        for node in nodes:  # both read what the other has stated
            node.restart()
        assert_one_history(nodes)
    sizes = {(tenant_id, chain, size) for tenant_id, chain, size, _ in roots}
    assert len(sizes) == len(roots)


def _taken_step(
    step: str, node: Node, other: Node, counts: list[int], tools: tuple[random.Random, SigningKeys, FrozenClock]
) -> set[tuple[str, str, int, str]]:
    """Returns what was signed in this step."""
    rng, keys, clock = tools
    if step == "promote":
        node.promote()
    elif step == "fault":
        node.fault = rng.choice(["before", "after"])
    elif step in {"kill", "torn"}:
        _commit_and_die(node, other, counts, torn=step == "torn")
    elif step == "commit":
        _commit(node, other, counts)
    elif not node.owns():
        return set()
    elif step == "trim":
        node.link_log.trim(min(each.link_log.held_offset() for each in (node, other)))
    else:
        clock.advance(10 * 60 * 1_000_000)
        signer = Signer(node, keys, clock)
        signer.sign()
        return signer.roots()
    return set()


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
