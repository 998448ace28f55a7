"""Nodes that commit the same facts, and read one log of links; and what must be true of them."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.keys import SigningKeys
from clearhold.store.record import chain_file
from clearhold.store.record.chain import Holes, links_of
from clearhold.store.record.chain_file import RecordChainRow, line_of
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.linked_chains import LinkedChains
from clearhold.store.tables import row_tables
from tests.support.clock import T0, FrozenClock
from tests.support.link_streams import LostAnswerError, MemoryStream, SharedStream
from tests.support.record import TENANT, a_fact

SHARDS: Final = 3
KEYS: Final = ((TENANT, "dispositions"), (TENANT, "actions"), ("another", "dispositions"))


class Node:
    """A data directory, and the process over it, which a kill ends and ``start`` begins again."""

    def __init__(self, name: str, folder: Path, shared: SharedStream, log: list[list[ChainFactRow]]) -> None:
        self.name, self.folder, self.shared, self.log = name, folder / name, shared, log
        self.folder.mkdir()
        self.database = open_database(self.folder / "clearhold.duckdb")
        self.epoch = 0
        self.fault: str | None = None
        self.before_commit: Callable[[], None] = lambda: None
        self.on_wait: Callable[[], None] = self._stuck
        self.ends: list[str] = []
        self.committed = [0] * SHARDS
        self.holes = Holes()
        self.start()

    def start(self) -> None:
        """A new process, which opens the chains when it is told to."""
        self.stream = MemoryStream(self.shared, lambda: self.epoch, fault=self._next_fault, on_wait=self._wait)
        self.checkpoint_log = CheckpointLog(self.database, self.folder / "record")
        self.checkpoint_log.open()
        self.link_log = LinkLog(self.stream, is_owner=lambda: self.epoch != 0)
        self.chains = LinkedChains(
            self.database,
            self.folder / "record",
            self.link_log,
            holes=self.holes,
            keep_checkpoint=self.checkpoint_log.append,
            end=self.ends.append,
        )
        self.writer = BatchWriter(self.database, self.chains, require_owner=self._before_commit)

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
        """As after a kill: the committed rows are in the database, and later entries are read from the log again."""
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

    def _before_commit(self) -> None:
        self.before_commit()

    def _stuck(self) -> None:
        raise AssertionError(f"{self.name} waits for a place that nobody states")


class Signer:
    """Signs the chains of a node's present process, and tells the other nodes."""

    def __init__(self, node: Node, keys: SigningKeys, clock: FrozenClock) -> None:
        self._checkpoints = RecordCheckpoints(
            node.database,
            node.checkpoint_log,
            signing_keys=keys,
            clock=clock,
            origin_of=lambda tenant_id, chain: f"bank/{tenant_id}/{chain}",
            holes=node.holes,
        )
        self._checkpoints.publish = node.link_log.publish

    def sign(self) -> None:
        self._checkpoints.sign_due()
        assert self._checkpoints.inconsistent == 0


Root = tuple[str, str, int, str]
"""Tenant, chain, size and root of a checkpoint."""


def roots_of(node: Node) -> list[Root]:
    """The signed roots that a node has kept, once each signature."""
    tenants = {tenant_id for tenant_id, _ in KEYS}
    rows = [row for tenant_id in tenants for row in node.checkpoint_log.page(tenant_id, None, None, 10_000)]
    return sorted((row.tenant_id, row.chain, row.size, row.root) for row in rows)


def log_of(rng: random.Random, facts: int) -> list[list[ChainFactRow]]:
    log: list[list[ChainFactRow]] = [[] for _ in range(SHARDS)]
    for number in range(facts):
        shard, (tenant_id, chain) = rng.randrange(SHARDS), rng.choice(KEYS)
        offset = len(log[shard]) + 1
        log[shard].append(a_fact(number, tenant_id=tenant_id, chain=chain, shard=shard, offset=offset))
    return log


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
    assert {node.chains.links_upto() for node in nodes} == {nodes[0].shared.last}
