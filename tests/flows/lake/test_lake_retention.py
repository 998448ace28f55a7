"""The keeper of the lake ends days by the policy in force in its rounds, and says so in its metrics."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.flows.lake.copying import LakeCollector, LakeCopying
from clearhold.store.analysts.writer import KEPT_US, LEAD_US
from clearhold.store.duck.database import open_database
from tests.support.clock import FrozenClock
from tests.support.labelled_days import TABLE, LabelledDays
from tests.support.waiting import eventually


def figures(lake: LakeCopying, clock: FrozenClock) -> Mapping[str, float]:
    """What the metrics say of the table with labels."""
    return {
        sample.name: sample.value
        for metric in LakeCollector(lake, clock).collect()
        for sample in metric.samples
        if sample.labels.get("table") == TABLE
    }


@pytest.mark.parametrize("is_writable", [True, False])
def test_given_a_policy_when_rounds_go_on_then_days_end_their_files_go_and_metrics_say_how_much(
    tmp_path: Path,
    is_writable: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    clock = FrozenClock()
    with open_database(tmp_path / "database.duckdb") as database:
        days = LabelledDays(tmp_path, database, clock)
        days.label(3, days_ago=8)
        days.label(2)
        days.copy()
        if not is_writable:  # what is copied fails from now on; what is over ends all the same
            days.database.execute("DROP TABLE kri_snapshots")
        lake = LakeCopying(days.writer, every_s=0.05)
        lake.start(lambda: True)
        try:
            days.kept_days = {TABLE: 7}
            eventually(lambda: figures(lake, clock).get("clearhold_lake_ended_rows") == 3)
            clock.advance(LEAD_US)
            assert figures(lake, clock)["clearhold_lake_retention_days"] == 7
            assert figures(lake, clock)["clearhold_lake_rows"] == 2
            assert figures(lake, clock)["clearhold_lake_unremoved_bytes"] > 0
            assert "clearhold_lake_due_rows" not in figures(lake, clock)
            clock.advance(KEPT_US)
            eventually(lambda: len(list(days.lake.glob(f"tables/{TABLE}/*/0*"))) == 1)
        finally:
            lake.stop(5)
            days.writer.close()
        assert (lake.counts.failures > 0) is not is_writable
        assert days.ids() == ["label-00003", "label-00004"]


def test_given_a_day_that_is_over_and_has_not_ended_then_the_metrics_have_its_rows_as_due(
    tmp_path: Path, clock: FrozenClock
) -> None:
    with open_database(tmp_path / "database.duckdb") as database:
        days = LabelledDays(tmp_path, database, clock)
        days.label(3, days_ago=6)
        days.kept_days = {TABLE: 7}
        days.round()

        clock.advance(2 * DAY_US)

        assert figures(LakeCopying(days.writer, every_s=0), clock)["clearhold_lake_due_rows"] == 3
        days.writer.close()
