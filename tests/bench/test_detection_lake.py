"""A labelled world as a lake: its labels and decisions come at their times, and the lake is as of the last event."""

import gzip
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import duckdb
import pytest
from rich.console import Console

from bench.convert.bank_rows import COLUMNS
from bench.detection.data import LABEL_COLUMNS
from bench.detection.lake import fill_lake
from bench.detection.worlds import AMLSIM

FIRST: Final = datetime(2020, 1, 1)  # noqa: DTZ001 - as DuckDB answers, in UTC
DAYS: Final = 45
A_DAY: Final = 6


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transfers of six weeks, just below a limit, of which every tenth is bad."""
    folder = tmp_path_factory.mktemp("world")
    count = DAYS * A_DAY
    days = [(FIRST + timedelta(days=number // A_DAY)).date() for number in range(count)]
    rows = [f"t{n},{days[n]}T00:00:00Z,A4,A{8 + 4 * (n % 40)},{950_000 + n},USD,wire,,," for n in range(count)]
    labels = [f"t{n},{'true' if n % 10 == 0 else 'false'},fan_out,s{n},false" for n in range(count)]
    for name, columns, lines in ((AMLSIM.transfers, COLUMNS, rows), (AMLSIM.labels, LABEL_COLUMNS, labels)):
        (folder / name).write_bytes(gzip.compress("\n".join([",".join(columns), *lines, ""]).encode()))
    fill_lake(folder / "out", *AMLSIM.found_in(folder), AMLSIM, rows=0, console=Console(quiet=True))
    return folder


def answer(target: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(target / "out" / "lake" / "analyst.duckdb"), read_only=True) as lake:
        return lake.execute(query).fetchall()


def test_given_a_world_when_its_lake_is_read_then_each_transfer_is_labelled_after_thirty_days_as_the_world_says(
    target: Path,
) -> None:
    labelled = answer(target, "SELECT count(*), count(*) FILTER (is_bad) FROM labelled()")
    days = answer(target, "SELECT DISTINCT labelled_at - taken_at FROM labelled()")
    wrong = answer(target, "SELECT count(*) FROM labelled() WHERE is_bad <> (transfer_id LIKE '%0')")

    assert labelled == [((DAYS - 30) * A_DAY, (DAYS - 30) * A_DAY // 10)]
    assert days == [(timedelta(days=30),)]
    assert wrong == [(0,)]


def test_given_a_world_when_its_lake_is_read_then_it_is_as_of_the_last_event_and_rows_lie_on_their_own_days(
    target: Path,
) -> None:
    last = answer(target, "SELECT max(appended_at), count(DISTINCT day) FROM events")

    assert last == [(FIRST + timedelta(days=DAYS - 1, hours=2), DAYS + 1)]
    assert answer(target, "SELECT DISTINCT as_of FROM lake_status") == [(last[0][0],)]


def test_given_alerts_when_the_team_decides_then_it_is_on_mornings_of_working_days_and_as_the_labels_say(
    target: Path,
) -> None:
    mornings = answer(
        target,
        "SELECT DISTINCT hour(created_at), isodow(created_at) < 6 FROM dispositions WHERE decided_by LIKE 'operator:%'",
    )
    decisions = answer(
        target,
        "SELECT DISTINCT decision = if(transfer_id LIKE '%0', 'close', 'no_action') FROM dispositions AS decided "
        "JOIN alerts ON alerts.id = alert_id WHERE decided_by LIKE 'operator:%' AND transfer_id IS NOT NULL",
    )

    assert mornings == [(9, True)]
    assert decisions == [(True,)]


def test_given_a_folder_with_a_lake_when_it_is_to_be_filled_then_it_is_left_alone(target: Path) -> None:
    before = sorted((target / "out").rglob("*"))

    with pytest.raises(SystemExit, match="is there already"):
        fill_lake(target / "out", *AMLSIM.found_in(target), AMLSIM, rows=0, console=Console(quiet=True))

    assert sorted((target / "out").rglob("*")) == before
