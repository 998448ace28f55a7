"""``clearhold lake status``: what it says of a lake, in words and as JSON, and its exit codes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from clearhold.api.cli.lake import EXIT_DAMAGED, EXIT_LATE, LATE_AFTER_S
from clearhold.api.cli.main import app
from clearhold.api.cli.options import EXIT_NOT_STARTED
from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.store.analysts.parts import Ended, Part, PartList, write_parts
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.database import open_database
from tests.support.clock import FrozenClock
from tests.support.labelled_days import LabelledDays


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with DataDir.open(tmp_path / "data") as opened:
        return opened.path


def listed(data: Path, *, as_of: int, kept: int = 36_500, year: int = 2026) -> None:
    """A lake of two parts that count and one that no longer does; days before them have ended."""
    parts = [
        Part(
            table_name="events",
            day=day,
            file=f"tables/events/day={day}/{number}.parquet",
            first_row=0,
            end_row=10,
            rows=10,
            bytes=1 << 20,
            merges=0,
            counts_from=1,
            counts_until=until,
        )
        for number, (day, until) in enumerate([(f"{year}-03-01", None), (f"{year}-03-02", None), (f"{year}-03-02", 2)])
    ]
    ended = {"events": Ended(through="2026-02-28", days=90, rows=7, bytes=70)}
    write_parts(data / "lake", PartList(parts=tuple(parts), as_of=as_of, retention_days={"events": kept}, ended=ended))


def status(data: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["lake", "status", "--data", str(data), *options])


def test_given_a_lake_that_is_copied_to_when_asked_then_it_says_up_to_when_and_how_much(data: Path) -> None:
    now = SystemClock().now()
    listed(data, as_of=now)

    words, figures = status(data), status(data, "--json")

    assert words.exit_code == figures.exit_code == 0
    assert f"all that was committed before {format_instant(now)}" in words.stdout
    assert "late" not in words.stdout.partition("\n")[0]
    assert "1 replaced or ended files, 1.0 MB" in words.stdout
    content = msgspec.json.decode(figures.stdout)
    assert content["asOf"] == format_instant(now)
    events = next(table for table in content["tables"] if table["table"] == "events")
    assert events == {
        "table": "events",
        "rows": 20,
        "parts": 2,
        "bytes": 2 << 20,
        "days": 2,
        "newestDay": "2026-03-02",
        "keptDays": 36_500,
        "endedThrough": "2026-02-28",
        "endedRows": 7,
        "endedBytes": 70,
        "dueRows": 0,
        "unremovedBytes": 0,
    }


def test_given_a_lake_that_nobody_copies_to_when_asked_then_it_is_late(data: Path) -> None:
    listed(data, as_of=SystemClock().now() - int(2 * LATE_AFTER_S) * SECOND_US)

    run = status(data)

    assert run.exit_code == EXIT_LATE
    assert "late: no service copies" in run.stdout
    assert msgspec.json.decode(status(data, "--json").stdout)["isLate"]


def test_given_days_that_retention_ended_or_has_yet_to_end_when_asked_then_it_says_how_many_rows(data: Path) -> None:
    listed(data, as_of=SystemClock().now(), kept=90, year=1999)

    words, figures = status(data), msgspec.json.decode(status(data, "--json").stdout)

    assert "events: kept for 90 days; 7 rows to 2026-02-28 have ended, 20 rows are due" in words.stdout
    assert next(table["dueRows"] for table in figures["tables"] if table["table"] == "events") == 20
    assert next(table["keptDays"] for table in figures["tables"] if table["table"] == "dispositions") is None


def test_given_no_lake_or_no_data_directory_when_asked_then_a_sentence_says_so(data: Path, tmp_path: Path) -> None:
    none, nowhere = status(data), status(tmp_path)

    assert (none.exit_code, nowhere.exit_code) == (EXIT_NOT_STARTED, EXIT_NOT_STARTED)
    assert "has no lake yet" in none.stderr
    assert "is not a data directory" in nowhere.stderr


@pytest.fixture
def written(data: Path, clock: FrozenClock) -> Iterator[LabelledDays]:
    """A lake with two parts of labels."""
    with closing(open_database(data / "clearhold.duckdb")) as database:
        days = LabelledDays(data, database, clock)
        for days_ago in (1, 0):
            days.label(100, days_ago=days_ago)
        days.copy()
        yield days


def changed(path: Path) -> bytes:
    """A file's content with one bit in its middle turned over, of the same size."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    return bytes(content)


def test_given_a_file_of_the_lake_whose_size_stayed_when_it_is_verified_then_the_damage_is_named_and_mended_by_a_start(
    data: Path, written: LabelledDays
) -> None:
    whole = status(data, "--verify")
    path = data / "lake" / written.parts()[0].file
    path.write_bytes(changed(path))

    run = status(data, "--verify")

    assert (whole.exit_code, whole.stderr) == (EXIT_LATE, "")
    assert run.exit_code == EXIT_DAMAGED
    assert run.stderr.splitlines()[:-1] == [f"{path} is damaged."]
    assert status(data).exit_code == EXIT_LATE
    path.unlink()
    assert status(data, "--verify").exit_code == EXIT_DAMAGED
    written.writer = written.opened()
    written.copy()
    assert status(data, "--verify").exit_code == EXIT_LATE
    assert written.ids() == written.all_ids()


def test_given_parts_of_an_older_service_when_they_are_verified_then_their_size_alone_counts(
    data: Path, written: LabelledDays
) -> None:
    listed = written.writer.parts
    write_parts(data / "lake", replace(listed, parts=tuple(replace(part, crc32=None) for part in listed.parts)))
    path = data / "lake" / written.parts()[0].file
    path.write_bytes(changed(path))
    assert status(data, "--verify").exit_code == EXIT_LATE

    path.write_bytes(path.read_bytes()[:-1])

    assert status(data, "--verify").exit_code == EXIT_DAMAGED
