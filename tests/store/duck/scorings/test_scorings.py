"""Stored scorings as a backfill reads them: the newest of each transfer, page by page, exactly as they were written."""

from typing import Any, Final

import duckdb
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings.backfills import NewestScorings, newest_of
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, some_features
from tests.support.vectors import VECTORS

OLD: Final = "features-v0"


def a_scoring(**over: Any) -> TransferFeaturesRow:
    return some_features(**{"feature_version": FEATURE_VERSION} | over)


def write(database: duckdb.DuckDBPyConnection, *rows: msgspec.Struct) -> None:
    of_type = {type(row): [each for each in rows if type(each) is type(row)] for row in rows}
    BatchWriter(database).commit(row_tables(of_type), {}, AT)


def newest(database: duckdb.DuckDBPyConnection, *, upto: int = 2**62) -> NewestScorings:
    found = NewestScorings(database, tenant_id=TENANT, program_id=PROGRAM, upto=upto, feature_version=FEATURE_VERSION)
    found.find()
    return found


def pages(found: NewestScorings, size: int, after: int = 0) -> list[list[tuple[str, int]]]:
    read = []
    while (page := found.page(after, size)) is not None:
        read.append(sorted((row.transfer_id, row.offset) for row in page.rows))
        assert page.transfers == len(read[-1])
        after = page.upto
    return read


def test_given_several_scorings_of_a_transfer_then_the_newest_up_to_the_offset_is_read_once(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(
        database,
        *(a_scoring(transfer_id=name, offset=at) for name, at in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 9)]),
        a_scoring(transfer_id="a", offset=4, program_id="prg_2"),
        a_scoring(transfer_id="d", offset=4, tenant_id="tnt_2"),
    )

    with newest(database, upto=8) as found:
        assert (found.total, found.others) == (3, 0)
        assert pages(found, 2) == [[("a", 3), ("b", 2)], [("c", 4)]]
        assert pages(found, 100, after=2) == [[("a", 3), ("c", 4)]]


def test_given_many_scorings_at_one_offset_when_paged_then_an_offset_is_never_cut(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(database, *(a_scoring(transfer_id=f"t{number}", offset=1 + number // 5) for number in range(15)))

    with newest(database) as found:
        assert [len(page) for page in pages(found, 3)] == [5, 5, 5]
        assert [len(page) for page in pages(found, 6)] == [10, 5]


def test_given_newest_scorings_of_another_version_then_they_are_counted_and_read_too(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(
        database,
        a_scoring(transfer_id="a", offset=1),
        a_scoring(transfer_id="a", offset=2, feature_version=OLD),
        a_scoring(transfer_id="b", offset=3, feature_version=OLD),
        a_scoring(transfer_id="b", offset=4),
    )

    with newest(database) as found:
        assert (found.total, found.others) == (2, 1)
        assert pages(found, 10) == [[("a", 2), ("b", 4)]]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(found=st.lists(VECTORS, min_size=1, max_size=4))
def test_given_any_vector_when_stored_and_read_then_it_is_the_same_to_the_type(
    found: list[FeatureVector], database: duckdb.DuckDBPyConnection
) -> None:
    database.execute("DELETE FROM transfer_features")
    rows = [a_scoring(transfer_id=f"t{at}", offset=at + 1, vector=vector) for at, vector in enumerate(found)]
    write(database, *rows)

    with newest(database) as stored:
        page = stored.page(0, 10)
        assert page is not None
        read = sorted(page.rows, key=lambda row: row.offset)

    assert list(map(repr, read)) == list(map(repr, rows))
    assert newest_of(database, "t0") == rows[:1]


def test_given_one_id_in_two_programs_then_the_newest_of_each_is_found(database: duckdb.DuckDBPyConnection) -> None:
    rows = [
        a_scoring(transfer_id="t", program_id=program, offset=offset)
        for program, offset in [("prg_1", 1), ("prg_2", 2), ("prg_1", 3)]
    ]
    write(database, *rows)

    assert [(row.program_id, row.offset) for row in newest_of(database, "t")] == [("prg_1", 3), ("prg_2", 2)]
    assert newest_of(database, "nothing") == []
