"""Rounds of the lake: a merge that fails for good holds up neither copies nor the removal of replaced files."""

from pathlib import Path

from clearhold.flows.lake.copying import LakeCopying
from clearhold.store.analysts.parts import FAN_IN
from clearhold.store.analysts.writer import KEPT_US
from clearhold.store.duck.database import open_database
from tests.support.clock import FrozenClock
from tests.support.labelled_days import LabelledDays
from tests.support.waiting import eventually


def test_given_a_part_that_cannot_be_merged_when_rounds_go_on_then_rows_are_copied_and_replaced_files_go(
    tmp_path: Path, clock: FrozenClock
) -> None:
    with open_database(tmp_path / "clearhold.duckdb") as database:
        days = LabelledDays(tmp_path, database, clock)
        for _ in range(FAN_IN):
            days.label(1)
            days.copy()
        assert days.writer.merge()
        clock.advance(KEPT_US)
        for _ in range(FAN_IN):
            days.label(1)
            days.copy()
        *_, last = days.parts()
        (days.lake / last.file).write_bytes(b"PAR1")
        days.label(1)
        lake = LakeCopying(days.writer, every_s=1)

        lake.start(lambda: True)
        eventually(lambda: lake.counts.failures > 1)
        lake.stop(10)

        assert lake.counts.rows == 1
        assert lake.counts.merges == 0
        assert not any(part.is_replaced for part in days.writer.parts.parts)
