"""What an export of a subject holds while it is read does not grow with the subject's history, nor with others'."""

import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, cast

import duckdb
import pytest
from msgspec import json

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import AccountRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.lake.log_segments import RawEvents
from clearhold.store.record.checkpoints import RecordCheckpoints
from clearhold.store.subjects.check import SubjectKind
from clearhold.store.subjects.reader import SubjectReader
from clearhold.store.subjects.things import ExportSubject
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer, some_features
from tests.support.principals import an_operator

FEW: Final = 300
MANY: Final = 3_000
OTHERS_EACH: Final = 2
SUBJECT: Final = ExportSubject(kind=SubjectKind.ENTITY, id="enti_1", tenant_id=TENANT, program_id=PROGRAM, shard=3)
OWNER: Final = AccountRow(TENANT, PROGRAM, "bacc_1", 3, 1, "enti_1", None, None, "{}", AT)


class NoEvents:
    """A log that is lost."""

    def entries(self, _shard: int, _offsets: list[int]) -> dict[int, Any]:
        return {}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as connection:
        yield connection


def land(database: duckdb.DuckDBPyConnection, first: int, count: int) -> None:
    """Transfers of the subject's account, each among two of somebody else's, scored."""
    transfers, features = list[TransferRow](), list[TransferFeaturesRow]()
    for number in range(first, first + count * (1 + OTHERS_EACH)):
        is_own = number % (1 + OTHERS_EACH) == 0
        offset, transfer_id = number + 2, f"trf_{number}"
        account = "bacc_1" if is_own else "bacc_2"
        transfers.append(
            a_transfer(id=transfer_id, offset=offset, raw_offset=offset, entity_id=None, account_id=account)
        )
        features.append(some_features(transfer_id=transfer_id, offset=offset))
    rows = row_tables({TransferRow: transfers, TransferFeaturesRow: features})
    BatchWriter(database).commit(rows, {3: first + count * (1 + OTHERS_EACH) + 2}, AT)


def read(database: duckdb.DuckDBPyConnection, batch: int = 100) -> tuple[int, int, int]:
    """How many lines came, how many at most at once, and the peak of memory meanwhile."""
    reader = SubjectReader(
        database,
        checkpoints=cast("RecordCheckpoints", None),  # no link is the subject's
        policies=lambda _: [],
        events=cast("RawEvents", NoEvents()),
    )
    lines, most, newest = 0, 0, list[bytes]()
    tracemalloc.start()
    try:
        for each in reader.export(an_operator(TENANT), SUBJECT, now=AT, batch=batch):
            lines, most, newest = lines + len(each), max(most, len(each)), [*newest, *each][-1:]
        (_, peak) = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    end = json.decode(newest[0])["row"]
    assert end["lines"] == lines - 1
    return end["counts"]["transfers"], most, peak


def test_given_ten_times_the_history_when_read_then_memory_stays(database: duckdb.DuckDBPyConnection) -> None:
    BatchWriter(database).commit(row_tables({AccountRow: [OWNER]}), {3: 1}, AT)
    land(database, 0, FEW)
    few, _, usual = read(database)
    land(database, FEW * (1 + OTHERS_EACH), MANY - FEW)

    many, most, peak = read(database)

    assert (few, many) == (FEW, MANY)
    assert most == 100
    assert peak < usual + 30 * MANY  # a key in each of three tables is eight bytes


def test_given_rows_behind_the_committed_offset_when_read_then_they_are_not_there(
    database: duckdb.DuckDBPyConnection,
) -> None:
    later = a_transfer(id="trf_late", offset=50, raw_offset=50, entity_id="enti_1")
    land(database, 0, 3)
    BatchWriter(database).commit(row_tables({AccountRow: [OWNER], TransferRow: [later]}), {}, AT)

    assert read(database)[0] == 3
