"""Records come back from the table as they were written, whatever their instants."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from clearhold.features.core.instants import DAY_US
from clearhold.features.state.transfer_table import ACTOR, NO_INSTANT, TransferRecord, TransferTable
from clearhold.features.windows import narrow_table
from tests.support.clock import T0

INSTANTS = st.one_of(
    st.integers(T0 - 400 * DAY_US, T0 + 400 * DAY_US),
    st.integers(-(2**47) - 2, -(2**47) + 2).map(lambda distance: T0 + distance),
    st.integers(2**47 - 2, 2**47 + 2).map(lambda distance: T0 + distance),
    st.integers(-(2**62), 2**62),
)
OFFSETS = st.one_of(st.integers(0, 10_000_000), st.integers(2**40 - 2, 2**40 + 2), st.integers(0, 2**62))
EFFECTIVE = st.one_of(
    st.just(NO_INSTANT), st.integers(-3_000_000, 3_000_000).map(lambda day: day * DAY_US), INSTANTS, st.just(-DAY_US)
)


@st.composite
def records(draw: st.DrawFn) -> TransferRecord:
    return TransferRecord(
        cents=draw(st.integers(-1, 2**60)),
        at=T0,
        updated_at=draw(INSTANTS),
        event_at=draw(INSTANTS),
        scored_at=draw(INSTANTS),
        scored_offset=draw(OFFSETS),
        raw_offset=draw(OFFSETS),
        effective_at=draw(EFFECTIVE),
        actor=draw(st.integers(-1, 2**31 - 1)),
        counterparty=draw(st.integers(-1, 2**31 - 1)),
        account=3,
        score_n=12,
        baseline_n=-1,
        baseline_median=1,
        baseline_p95=2,
        status=draw(st.integers(0, 65_535)),
        country=4,
        sec_code=5,
        currency=6,
        card_reason=draw(st.integers(0, 65_535)),
        class_id=draw(st.integers(0, 255)),
        ach_type=1,
        score=-1,
        confidence_permille=500,
        moved=draw(st.booleans()),
        amount=draw(st.integers(0, 2**60)),
        card=-1,
        purchase=draw(st.integers(0, 131_071)),
    )


@given(first=records(), newer=records(), other=records())
def test_given_any_record_when_it_is_written_over_another_then_every_reader_sees_the_newer(
    first: TransferRecord, newer: TransferRecord, other: TransferRecord
) -> None:
    table, loaded = TransferTable(), TransferTable()
    row, other_row = table.add("acht_1", first), table.add("acht_2", other)

    table.write(row, newer)
    for part in table.dump():
        loaded.load(part)

    for each in (table, loaded):
        assert [each.read(row), each.read(other_row)] == [newer, other]
        both = np.array([row, other_row])
        assert each.raw_offsets((row, other_row)) == (newer.raw_offset, other.raw_offset)
        assert each.sides(row) == (newer.actor, newer.counterparty)
        assert each.places(both)[ACTOR].tolist() == [newer.actor, other.actor]
        assert asdict(each.glance(row)).items() <= asdict(newer).items()
    assert list(loaded.dump()) == list(table.dump())


@settings(max_examples=25, deadline=None)
@given(some=st.lists(records(), min_size=1, max_size=4), writes=st.lists(st.tuples(st.integers(0, 29), records())))
def test_given_blocks_that_are_full_when_any_record_is_written_then_each_row_has_its_own(
    some: list[TransferRecord], writes: list[tuple[int, TransferRecord]]
) -> None:
    with patch.multiple(narrow_table, BLOCK_BITS=3, _PLACE=7):
        table, loaded = TransferTable(), TransferTable()
        expected = [replace(some[place % len(some)], scored_at=T0) for place in range(30)]
        for row, record in enumerate(expected):
            assert table.add(f"acht_{row}", record) == row
        for row, record in writes:
            table.write(row, record)
            expected[row] = record
        for part in table.dump():
            loaded.load(part)

        for each in (table, loaded):
            assert [each.read(row) for row in range(30)] == expected
            assert each.raw_offsets(range(30)) == tuple(record.raw_offset for record in expected)
            assert each.rows_after(T0 - 1) == list(range(30))
            assert each.rows_after(T0) == []
            moved = each.moved_in_a_day(T0)
            assert moved.cents.tolist() == [record.cents for record in expected if record.moved]
            assert moved.class_id.tolist() == [record.class_id for record in expected if record.moved]
