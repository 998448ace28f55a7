"""Rows as tables: those without columns are set aside, in their order, and what is joined has one piece a column."""

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.store.tables import Column, arrow_table, joined_by_type, row_tables, rows_in

TOO_LATE = 2**70
ROWS = 1_024


class Sample(msgspec.Struct, frozen=True):
    program_id: str
    shard: int
    offset: int
    created_at: int


def a_row(offset: int, *, is_bad: bool) -> Sample:
    return Sample("prg_1", 3, offset, TOO_LATE if is_bad else 5)


@given(bad=st.lists(st.booleans(), max_size=40))
def test_given_bad_rows_anywhere_when_made_tables_then_they_alone_are_quarantined_in_order(bad: list[bool]) -> None:
    tables = row_tables({Sample: [a_row(offset, is_bad=is_bad) for offset, is_bad in enumerate(bad)]})

    offsets = {name: table.column("offset").to_pylist() for name, table in tables.items()}
    good = [offset for offset, is_bad in enumerate(bad) if not is_bad]
    assert offsets.get("Sample", []) == good
    assert offsets.get("QuarantineRow", []) == [offset for offset, is_bad in enumerate(bad) if is_bad]


def test_given_one_bad_row_among_many_when_made_tables_then_few_of_them_are_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def counted(columns: Sequence[Column], rows: Sequence[Sample], *, between: Callable[[], None]) -> pa.Table:
        sizes.append(len(rows))
        return arrow_table(columns, rows, between=between)

    monkeypatch.setattr("clearhold.store.tables.arrow_table", counted)

    row_tables({Sample: [a_row(offset, is_bad=offset == 700) for offset in range(ROWS)]})

    assert len(sizes) < 30
    assert sum(sizes) < 3 * ROWS + 10


def test_given_batches_of_one_row_type_when_they_are_joined_then_each_column_is_one_piece_in_their_order() -> None:
    batches = [row_tables({Sample: [a_row(offset, is_bad=False)]}) for offset in (3, 1, 2)]

    (table,) = joined_by_type(batches).values()

    assert table.column("offset").to_pylist() == [3, 1, 2]
    assert [column.num_chunks for column in table.columns] == [1] * table.num_columns


def test_given_many_rows_when_made_a_table_and_back_then_they_are_the_same_in_their_order() -> None:
    rows = [a_row(offset, is_bad=False) for offset in range(2 * ROWS + 3)]

    assert [*rows_in(Sample, row_tables({Sample: rows})["Sample"])] == rows
