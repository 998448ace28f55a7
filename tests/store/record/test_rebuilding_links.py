"""A database made again beside a log of links has the places that the files and the log of links have."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.linked_chains import chain_writer, holes_in
from clearhold.store.record.places import LinkError
from clearhold.store.record.rebuilding import RebuildingChains
from clearhold.store.tables import row_tables
from tests.support.clock import T0
from tests.support.link_streams import MemoryStream, SharedStream
from tests.support.linking_nodes import KEYS, SHARDS, Node, assert_one_history, log_of


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Node]:
    node = Node("a", tmp_path, SharedStream(), log_of(random.Random(11), 60))
    with closing(node.database):
        node.promote()
        node.restart()
        yield node


@pytest.fixture
def rebuilt(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "rebuilt.duckdb")) as database:
        yield database


def keep_lines(owner: Node, count: int) -> None:
    """As a file is behind that a crash or a hole kept short."""
    for path in (owner.folder / "record").glob("*/*.ndjson"):
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:count]))


def replay(
    owner: Node,
    database: duckdb.DuckDBPyConnection,
    log: list[list[ChainFactRow]] | None = None,
    *,
    is_owner: bool = True,
    on_wait: Callable[[], None] = lambda: None,
) -> LinkLog:
    """Shard by shard, as a rebuild does, by a process that owns the log, or beside its owner."""
    stream = MemoryStream(owner.shared, lambda: owner.epoch if is_owner else 0, on_wait=on_wait)
    link_log = LinkLog(stream, is_owner=lambda: is_owner)
    chains = RebuildingChains(database, owner.folder / "record", link_log)
    chains.open()
    writer = BatchWriter(database, chains)
    for shard, facts in enumerate(log or owner.log):
        for fact in facts:
            writer.commit(row_tables({ChainFactRow: [fact]}), {shard: fact.offset}, T0)
    chains.close()
    chain_writer(database, owner.folder / "record", link_log, holes_in(database)).open()
    return link_log


@pytest.mark.parametrize("lines", [0, 3, 99])
def test_given_files_that_end_early_when_rebuilt_then_later_links_have_the_places_of_the_log_of_links(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection, lines: int
) -> None:
    for _ in range(40):
        owner.commit([1, 2, 1])
    before, stated = {key: (owner.rows(key), owner.file(key)) for key in KEYS}, owner.shared.last
    keep_lines(owner, lines)

    link_log = replay(owner, rebuilt)

    owner.database = rebuilt
    assert {key: (owner.rows(key), owner.file(key)) for key in KEYS} == before
    assert link_log.held_offset() == owner.shared.last == stated


def test_given_facts_without_a_place_when_rebuilt_then_they_are_stated_and_other_nodes_give_them_the_same(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    owner.commit([4, 0, 3])
    replay(owner, rebuilt)

    follower = Node("b", tmp_path, owner.shared, owner.log)
    with closing(follower.database):
        follower.restart()
        follower.commit([0, 0, 99])
        follower.commit([99, 99, 0])
        owner.database.close()
        owner.database = rebuilt
        owner.restart()
        assert_one_history([owner, follower])


def test_given_an_owner_that_goes_on_when_a_further_node_is_made_then_it_waits_for_places_and_may_have_holes(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    owner.commit([3, 3, 3])
    joining = Node("b", tmp_path, owner.shared, owner.log)
    joining.database.close()
    joining.database = rebuilt
    shutil.copytree(owner.folder / "record", joining.folder / "record")
    first = [owner.log[0][:9], owner.log[1][:6], owner.log[2][:12]]

    def commit_others() -> None:
        for shard in (1, 2, 0):
            owner.commit([4 if each == shard else 0 for each in range(SHARDS)])

    replay(joining, rebuilt, first, is_owner=False, on_wait=commit_others)
    joining.committed = [9, 6, 12]
    joining.start()
    joining.chains.open()
    assert holes_in(rebuilt).whole_size(KEYS[0], 99) < 99

    owner.commit([99] * SHARDS)
    joining.commit([99] * SHARDS)
    assert_one_history([owner, joining])


def test_given_links_of_a_time_without_replicas_when_rebuilt_then_they_are_stated(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection
) -> None:
    owner.commit([2, 2, 2])
    entries, base = dict(owner.shared.entries), owner.shared.begun
    owner.commit([9, 9, 9])
    owner.shared.entries, owner.shared.begun = entries, base
    rows = {key: owner.rows(key) for key in KEYS}

    replay(owner, rebuilt)

    owner.database.close()
    owner.database = rebuilt
    owner.restart()
    assert {key: owner.rows(key)[: len(rows[key])] for key in KEYS} == rows
    assert_one_history([owner])


def test_given_a_file_that_differs_from_the_log_of_links_then_the_rebuild_is_refused(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    owner.commit([99] * SHARDS)
    entries, base = dict(owner.shared.entries), owner.shared.begun
    other = Node("b", tmp_path, SharedStream(), owner.log)
    with closing(other.database):
        other.promote()
        other.restart()
        for shard in reversed(range(SHARDS)):
            other.commit([99 if each == shard else 0 for each in range(SHARDS)])
        other.shared.entries, other.shared.begun = entries, base
        with pytest.raises(LinkError, match=r"ndjson differs from the log of links at seq \d"):
            replay(other, rebuilt)


def test_given_a_file_that_ends_before_the_log_of_links_begins_then_the_rebuild_is_refused(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection
) -> None:
    for _ in range(40):
        owner.commit([1, 2, 1])
    owner.link_log.trim(20)
    keep_lines(owner, 2)
    with pytest.raises(LinkError, match=r"behind which the log of links begins"):
        replay(owner, rebuilt)


def test_given_a_place_to_which_no_entry_leads_then_the_rebuild_is_refused(
    owner: Node, rebuilt: duckdb.DuckDBPyConnection
) -> None:
    owner.commit([99] * SHARDS)
    keep_lines(owner, 0)
    log = [facts[:-1] for facts in owner.log]
    with pytest.raises(LinkError, match="to which no entry of the log leads"):
        replay(owner, rebuilt, log)
