"""What a program tallies by day equals what its tables say: at any moment, from a dump, and from a replay."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import duckdb
import msgspec
import pytest

from clearhold.features.core.log_entry import EventResult, LogEntry, no_rows
from clearhold.features.core.measured import DayTotals
from clearhold.features.shard.questions import ReadDays
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.day_tallies import MOST_FAMILIES, OTHER_FAMILY, DayTallies
from clearhold.store.duck.database import open_database
from tests.support.clock import T0
from tests.support.metrics_oracle import DAY, PROGRAM, Recount, busy_entries

DAYS = T0 // DAY
PERIODS = ((0, DAYS + 10_000), (DAYS - 40, DAYS + 3), (DAYS, DAYS + 1), (DAYS + 2, DAYS + 200))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path: Path = tmp_path_factory.mktemp("metrics") / "clearhold.duckdb"
    with open_database(path) as connection:
        yield connection


def totals_of(state: ShardState) -> list[DayTotals]:
    totals = (ReadDays(first, upto).answer(state.program(PROGRAM)) for first, upto in PERIODS)
    return [msgspec.structs.replace(each, waits=tuple(sorted(each.waits))) for each in totals]


@pytest.mark.parametrize("seed", range(4))
def test_given_a_busy_program_then_at_any_moment_its_tallies_are_what_its_tables_say(
    seed: int, database: duckdb.DuckDBPyConnection
) -> None:
    state, recount, moments = ShardState(0), Recount(database), Random(seed)
    entries: list[LogEntry] = []
    taken, rows = 0, list[msgspec.Struct]()

    def check() -> None:
        recount.take(entries[taken:], rows)
        is_scored = state.program(PROGRAM).scores.program.value(0) is not None
        assert totals_of(state) == [recount.totals(*period, is_scored=is_scored) for period in PERIODS]

    for entry, led_to in busy_entries(state, seed, 90):
        entries.append(entry)
        rows += led_to
        if moments.random() < 0.01:
            check()
            taken, rows = len(entries), []
            state_parts = list(state.dump())
            loaded = ShardState.loaded(iter(state_parts))
            assert totals_of(loaded) == totals_of(state)
            state.programs = loaded.programs  # the rest of the stream meets what was loaded
    check()

    replayed = ShardState(0)
    for entry in entries:
        replayed.apply(entry, no_rows)
    assert totals_of(replayed) == totals_of(state)


def test_given_events_of_countless_families_then_those_beyond_the_first_are_counted_together() -> None:
    tallies = DayTallies()
    for number in range(MOST_FAMILIES + 5):
        tallies.count_event(T0, f"family_{number}", EventResult.UNKNOWN)

    events = tallies.totals(DAYS, DAYS + 1, is_scored=False).events
    assert len(events) == MOST_FAMILIES + 1
    assert (events["family_0"], events[OTHER_FAMILY]) == ({"unknown": 1}, {"unknown": 5})
