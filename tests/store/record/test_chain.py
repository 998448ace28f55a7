"""Facts become links of one unforked chain a tenant, in DuckDB and in a file, and the two cannot drift apart."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Lock

import duckdb
import msgspec
import pytest

from clearhold.features.core.canonical import Chain, canonical
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.errors import StartupError
from clearhold.store.record import chain_file
from clearhold.store.record.chain import links_of
from clearhold.store.record.chain_file import RecordChainRow
from clearhold.store.tables import row_tables
from tests.support.clock import T0
from tests.support.record import TENANT, a_fact, chains_of, record

DISPOSITIONS = (TENANT, Chain.DISPOSITIONS.value)
ACTIONS = (TENANT, Chain.ACTIONS.value)


def stored(database: duckdb.DuckDBPyConnection, key: tuple[str, str] = DISPOSITIONS) -> list[RecordChainRow]:
    return [row for page in links_of(database.cursor(), key, 0, 70, page=7) for row in page]


def file_of(folder: Path, key: tuple[str, str] = DISPOSITIONS) -> Path:
    return folder / "record" / key[0] / f"{key[1]}.ndjson"


def assert_one_chain(rows: list[RecordChainRow], count: int) -> None:
    """Seqs from 0 without a hole, each link over the one before, by the formula of the documents."""
    assert [row.seq for row in rows] == list(range(count))
    head = None
    for row in rows:
        assert row.prev_hash == head
        head = sha256(((head or "") + row.body).encode()).hexdigest()
        assert row.hash == head
    assert len({row.prev_hash for row in rows}) == count


def test_given_facts_when_committed_then_they_are_linked_in_the_order_given(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    record(database, tmp_path / "record", [a_fact(number) for number in range(5)])
    record(database, tmp_path / "record", [a_fact(number) for number in (9, 7, 8)])

    rows = stored(database)

    assert_one_chain(rows, 8)
    assert [row.id for row in rows] == [f"fact-{number}" for number in (0, 1, 2, 3, 4, 9, 7, 8)]
    assert [chain_file.line_of(row) for row in rows] == file_of(tmp_path).read_bytes().splitlines(keepends=True)


def test_given_two_chains_and_two_tenants_when_committed_together_then_each_chain_is_its_own(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    facts = [
        a_fact(number, tenant_id=tenant, chain=chain)
        for number in range(4)
        for tenant in (TENANT, "another/../tenant")
        for chain in ("dispositions", "actions")
    ]

    record(database, tmp_path / "record", facts)

    for tenant in (TENANT, "another/../tenant"):
        for chain in ("dispositions", "actions"):
            assert_one_chain(stored(database, (tenant, chain)), 4)
    assert len(list((tmp_path / "record").glob("*/*.ndjson"))) == 4


def test_given_fifty_parallel_appends_when_each_is_answered_then_there_is_one_unforked_chain(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    writer, serial = BatchWriter(database, chains_of(database, tmp_path / "record")), Lock()

    def append(number: int) -> None:
        with serial:  # The committer's thread is the only one that writes; callers wait for it.
            writer.commit(row_tables({ChainFactRow: [a_fact(number)]}), {number % 4: number}, T0)

    with ThreadPoolExecutor(50) as callers:
        list(callers.map(append, range(50)))

    assert_one_chain(stored(database), 50)
    assert {row.id for row in stored(database)} == {f"fact-{number}" for number in range(50)}
    assert file_of(tmp_path).read_bytes().count(b"\n") == 50


def test_given_links_of_several_tenants_then_sizes_count_them_by_chain_also_in_the_next_process(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    chains = chains_of(database, tmp_path / "record")
    facts = [a_fact(0), a_fact(1), a_fact(2, tenant_id="another"), a_fact(3, chain="actions")]

    BatchWriter(database, chains).commit(row_tables({ChainFactRow: facts}), {1: 3}, T0)

    assert chains.sizes() == chains_of(database, tmp_path / "record").sizes() == {"dispositions": 3, "actions": 1}


def test_given_a_commit_that_fails_when_tried_again_then_no_link_is_lost_or_doubled(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = BatchWriter(database, chains_of(database, tmp_path / "record"))
    append = chain_file.append_durably

    def half_then_full_disk(path: Path, content: bytes) -> None:
        append(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(chain_file, "append_durably", half_then_full_disk)
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            writer.commit(row_tables({ChainFactRow: [a_fact(0), a_fact(1)]}), {1: 1}, T0)
    monkeypatch.setattr(chain_file, "append_durably", append)

    writer.commit(row_tables({ChainFactRow: [a_fact(0), a_fact(1)]}), {1: 1}, T0)
    writer.commit(row_tables({ChainFactRow: [a_fact(2)]}), {1: 2}, T0)

    assert_one_chain(stored(database), 3)
    assert file_of(tmp_path).read_bytes() == b"".join(map(chain_file.line_of, stored(database)))


def test_given_a_fact_that_no_column_takes_when_sifted_then_the_others_are_linked(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    writer = BatchWriter(database, chains_of(database, tmp_path / "record"))
    odd_one = msgspec.structs.replace(a_fact(1), created_at=2**70)
    tables = row_tables({ChainFactRow: [a_fact(0), odd_one, a_fact(2)]})

    writer.commit(tables, {1: 2}, T0)

    assert tables["QuarantineRow"].num_rows == 1
    assert_one_chain(stored(database), 2)


def test_given_a_writer_without_chains_when_a_fact_comes_then_the_batch_is_refused(
    database: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(ValueError, match="no chains"):
        BatchWriter(database).commit(row_tables({ChainFactRow: [a_fact(0)]}), {1: 1}, T0)


@pytest.mark.parametrize("left", [0, 1, 3])
@pytest.mark.parametrize("torn", [b"", b'{"body":{"id', b"\0\0\0\0"])
def test_given_a_file_that_lags_when_opened_then_it_is_completed_from_the_database(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, left: int, torn: bytes
) -> None:
    record(database, tmp_path / "record", [a_fact(number) for number in range(4)])
    whole = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(b"".join(whole.splitlines(keepends=True)[:left]) + torn)

    record(database, tmp_path / "record", [a_fact(4)])

    assert file_of(tmp_path).read_bytes().startswith(whole)
    assert_one_chain(stored(database), 5)
    assert file_of(tmp_path).read_bytes().count(b"\n") == 5


def test_given_a_file_that_is_gone_when_opened_then_it_is_made_again(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    record(database, tmp_path / "record", [a_fact(0)])
    file_of(tmp_path).unlink()

    chains_of(database, tmp_path / "record")

    assert file_of(tmp_path).read_bytes() == chain_file.line_of(stored(database)[0])


def test_given_a_file_ahead_of_the_database_when_opened_then_the_start_is_stopped_naming_file_and_seq(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    record(database, tmp_path / "record", [a_fact(number) for number in range(4)])
    database.execute("DELETE FROM record_chain WHERE seq >= 2")

    with pytest.raises(StartupError, match=r"dispositions\.ndjson is ahead of the database: it holds seq 2"):
        chains_of(database, tmp_path / "record")


@pytest.mark.parametrize("seq", [0, 2, 3])
def test_given_a_link_changed_on_either_side_when_opened_then_the_start_is_stopped_naming_file_and_seq(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, seq: int
) -> None:
    record(database, tmp_path / "record", [a_fact(number) for number in range(4)])
    database.execute("UPDATE record_chain SET body = replace(body, 'No', 'NO') WHERE seq = ?", [seq])

    with pytest.raises(StartupError, match=rf"dispositions\.ndjson differs from the database at seq {seq}\."):
        chains_of(database, tmp_path / "record")


def test_given_a_hole_in_the_database_when_opened_then_the_start_is_stopped(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    record(database, tmp_path / "record", [a_fact(number) for number in range(4)])
    database.execute("DELETE FROM record_chain WHERE seq = 1")

    with pytest.raises(StartupError, match=r"The chain dispositions of tenant .* is not whole: 3 links"):
        chains_of(database, tmp_path / "record")


def test_given_a_line_that_is_no_link_when_opened_then_the_start_is_stopped_naming_the_file(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    record(database, tmp_path / "record", [a_fact(0)])
    file_of(tmp_path).write_bytes(b"garbage\n")

    with pytest.raises(StartupError, match=r"dispositions\.ndjson is damaged"):
        chains_of(database, tmp_path / "record")


def test_given_a_long_file_when_opened_then_only_its_end_is_compared(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(database, tmp_path / "record", [a_fact(number) for number in range(30)])
    line = chain_file.line_of(stored(database)[0])
    monkeypatch.setattr("clearhold.store.record.chain.COMPARED_AT_START_BYTES", 10 * len(line))

    compared = list(chain_file.ChainFile(tmp_path / "record", *DISPOSITIONS).lines(last_bytes=10 * len(line)))
    record(database, tmp_path / "record", [a_fact(30)])

    assert [line.seq for _, line in compared][-1] == 29
    assert 5 <= len(compared) <= 10
    assert_one_chain(stored(database), 31)


def test_given_a_line_when_read_back_then_it_holds_the_body_byte_for_byte(tmp_path: Path) -> None:
    body = canonical({"z": 1, "a": ["\u2028", "é", 0.1], "n": None}).decode()
    row = RecordChainRow(TENANT, "actions", 0, "i", "p", 3, 2**62, body, None, "h" * 64, T0)
    file = chain_file.ChainFile(tmp_path, *ACTIONS)

    file.append([row])

    ((raw, line),) = file.lines()
    assert bytes(line.body).decode() == body
    assert raw == chain_file.line_of(row)
    assert msgspec.json.decode(raw)["offset"] == 2**62
