"""Tables of several batches as one: rows in their order, and one piece a column."""

from store.duck.schema import LogOffsetRow
from store.tables.row_tables import joined_by_type, row_tables


def test_given_batches_of_one_row_type_when_they_are_joined_then_each_column_is_one_piece_in_their_order() -> None:
    batches = [
        row_tables({LogOffsetRow: [LogOffsetRow(shard=shard, offset=shard * 10, epoch=1, committed_at=5)]})
        for shard in (3, 1, 2)
    ]

    (table,) = joined_by_type(batches).values()

    assert table.column("shard").to_pylist() == [3, 1, 2]
    assert table.column("offset").to_pylist() == [30, 10, 20]
    assert [column.num_chunks for column in table.columns] == [1] * table.num_columns
