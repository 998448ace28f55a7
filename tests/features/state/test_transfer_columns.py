"""A column of several transfers has the value of each row, however the rows lie in the table's blocks."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clearhold.features.core.instants import DAY_US
from clearhold.features.state.transfer_table import (
    ACTOR,
    AT,
    CENTS,
    COUNTERPARTY,
    RAW_OFFSET,
    ROW,
    TransferRecord,
    TransferTable,
)
from clearhold.features.windows import narrow_table
from tests.features.state.test_transfer_table import records
from tests.support.clock import T0

COLUMNS = {"cents": CENTS, "at": AT, "counterparty": COUNTERPARTY, "actor": ACTOR, "raw_offset": RAW_OFFSET}
KINDS = ("status", "country", "sec_code", "currency", "card_reason", "class_id", "ach_type", "moved")


@pytest.mark.parametrize("many", [1, 3, 16])
@settings(max_examples=25, deadline=None)
@given(some=st.lists(records(), min_size=1, max_size=4), rows=st.lists(st.integers(0, 29), max_size=40))
def test_given_rows_in_any_order_when_they_are_read_by_column_then_each_has_its_own_value(
    many: int, some: list[TransferRecord], rows: list[int]
) -> None:
    with patch.multiple(narrow_table, BLOCK_BITS=3, _PLACE=7, _MANY=many):
        table = TransferTable()
        written = [
            replace(some[place % len(some)], at=T0 + place % 7 * DAY_US, ach_type=place % 3, scored_at=T0)
            for place in range(30)
        ]
        for row, record in enumerate(written):
            table.add(f"acht_{row}", record)
        chosen = np.array(rows, np.int64)

        places = table.places(chosen)
        kinds = {name: table.kind(places, name) for name in KINDS}

        for name, column in COLUMNS.items():
            assert places[column].tolist() == [getattr(written[row], name) for row in rows], name
        assert places[ROW].tolist() == rows
        assert places.T.tolist() == [table.place(row) for row in rows]
        assert table.raw_offsets(rows) == tuple(written[row].raw_offset for row in rows)
        for name in KINDS:
            assert kinds[name].tolist() == [getattr(written[row], name) for row in rows], name


def test_given_a_kind_that_came_after_a_reading_when_kinds_are_read_again_then_it_is_among_them() -> None:
    table = TransferTable()
    table.add("wire_0", a_record(class_id=1, moved=True))
    assert table.kind(table.places(np.array([0])), "class_id").tolist() == [1]

    table.add("wire_1", a_record(class_id=9, moved=False))

    both = table.places(np.array([0, 1]))
    assert (table.kind(both, "class_id").tolist(), table.kind(both, "moved").tolist()) == ([1, 9], [1, 0])


def a_record(**over: Any) -> TransferRecord:
    usual = dict.fromkeys(TransferRecord.__struct_fields__, 0) | {"at": T0, "updated_at": T0, "event_at": T0}
    return TransferRecord(**usual | {"scored_at": T0} | over)
