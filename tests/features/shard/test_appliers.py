"""The table of entry kinds: every kind has an applier, and a body that cannot be used harms nothing."""

import msgspec
import pytest

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.appliers import APPLIERS
from clearhold.features.shard.shard import ShardState
from tests.support.clock import T0

ITEMS = {EntryKind.AGENT, EntryKind.PROFILE, EntryKind.SETTLEMENT}


def test_given_the_kinds_of_entries_then_each_has_an_applier() -> None:
    assert set(APPLIERS) == {kind.value for kind in EntryKind}


@pytest.mark.parametrize("kind", [kind for kind in EntryKind if kind not in {EntryKind.TICK, *ITEMS}])
def test_given_a_body_that_is_no_json_when_it_is_applied_then_the_entry_is_quarantined_and_no_program_appears(
    kind: EntryKind,
) -> None:
    shard, rows = ShardState(0), list[msgspec.Struct]()

    shard.apply(LogEntry(0, 7, kind, "prg_1", T0, b"{"), rows.append)

    (row,) = rows
    assert isinstance(row, QuarantineRow)
    assert (row.kind, row.offset) == (kind.value, 7)
    assert (shard.applied_offset, shard.programs) == (7, {})


@pytest.mark.parametrize("kind", sorted(ITEMS))
def test_given_an_item_of_an_index_that_is_no_json_when_it_is_applied_then_it_is_counted_for_its_import(
    kind: EntryKind,
) -> None:
    shard, rows = ShardState(0), list[msgspec.Struct]()

    shard.apply(LogEntry(0, 7, kind, "prg_1", T0, b"{"), rows.append)

    assert rows == []
    assert shard.applied_offset == 7
    assert shard.programs["prg_1"].agents.skipped == {"malformed": 1}
