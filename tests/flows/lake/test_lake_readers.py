"""The lake beside a running service: other processes read it in a loop while events stream in, over a kill -9,
and it may be that it cannot be written for a while."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import polars as pl

from clearhold.store.analysts.parts import read_parts
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DataDir
from tests.flows.test_kills import bodies_of_one_program, the_last_transfer
from tests.support.lake_reader import table_of
from tests.support.lake_rows import differing_rows
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, post_in_batches, wait_until_committed
from tests.support.waiting import eventually

TABLES = ("transfer_versions", "transfer_features", "transfers", "events", "alert_versions")
FILES = ("transfer_versions", "transfer_features", "events")
EVENTS = 3_000
KINDS = ("sql", "python")
UNANSWERED = ("labelled", "reason_lift", "shadow_scores", "alert_ageing")  # of this stream there is nothing of them


@contextlib.contextmanager
def reading(reader: str, lake: Path, tables: tuple[str, ...]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.support.lake_reader", reader, str(lake), *tables]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def outcome(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    content: dict[str, Any] = msgspec.json.decode(output)
    return content


def is_readable(lake: Path) -> bool:
    """Whether readers can begin: some transfers are there, and the views."""
    parts = read_parts(lake)
    has_transfers = parts is not None and any(part.table_name == "transfer_versions" for part in parts.parts)
    return has_transfers and (lake / "analyst.duckdb").exists()


def all_count(lake: Path, committed_at: int) -> bool:
    """Whether all that was committed before is in parts that count, which they do a moment after they are listed."""
    parts, now = read_parts(lake), SystemClock().now()
    return parts is not None and parts.as_of > committed_at and all(part.counts_from <= now for part in parts.parts)


def assert_the_page_for_analysts_runs_on(lake: Path) -> None:
    """Every query is answered, and every block of Python runs; empty is an answer only about labels and the like."""
    page = Path("docs/analysts.md").read_text(encoding="utf-8")
    queries, programs = (re.findall(rf"^```{kind}\n(.*?)^```", page, re.DOTALL | re.MULTILINE) for kind in KINDS)
    assert (len(queries), len(programs)) == (19, 2)
    with duckdb.connect(str(lake / "analyst.duckdb"), read_only=True) as reader:
        empty = [query for query in queries if not reader.execute(query).fetchall()]
    assert all(any(word in query for word in UNANSWERED) for query in empty), empty
    weeks, bands = (names_of(block, lake) for block in programs)
    assert len(weeks["weeks"]) >= 1
    assert bands["bands"]["n"].sum() > 500


def names_of(block: str, lake: Path) -> dict[str, Any]:
    """What a block of Python leaves."""
    names: dict[str, Any] = {}
    exec(block.replace("DIR/lake", str(lake)), names)  # noqa: S102 - of our own page
    return names


def test_given_a_lake_that_was_blocked_and_readers_in_a_loop_when_the_service_is_killed_then_counts_grow_to_all_it_has(
    tmp_path: Path,
) -> None:
    bodies = bodies_of_one_program()[:EVENTS]
    data = tmp_path / "data"
    lake = data / "lake"
    DataDir.open(data).close()
    blocked = lake / "tables"
    blocked.write_bytes(b"")  # where the folder is to be: nothing can be written
    with RunningService(data, "--scorers", "0", environment={"CLEARHOLD_LAKE_SECONDS": "1"}) as service:
        bank = RunningBank(service)
        program = bank.create_program("remittance", declaredRails=["realtime"])
        post_in_batches(service, program, bodies[:1_500])
        wait_until_committed(service, bank.token, the_last_transfer(bodies[:1_500]))
        eventually(lambda: any("lake_failed" in line for line in service.log_lines))
        assert service.ask("GET", "/readyz", {})["status"] == "ready"
        assert not is_readable(lake)
        blocked.unlink()
        eventually(lambda: is_readable(lake))
        with reading("duckdb", lake, TABLES) as views, reading("polars", lake, FILES) as files:
            post_in_batches(service, program, bodies[1_500:2_000])
            service.kill()
            service.start()
            post_in_batches(service, program, bodies[1_750:])
            wait_until_committed(service, bank.token, the_last_transfer(bodies))
            committed_at = SystemClock().now()
            eventually(lambda: all_count(lake, committed_at))
            by_views, by_files = outcome(views), outcome(files)
        service.stop()
        eventually(lambda: all_count(lake, committed_at))

    assert by_views["turns"] > 5
    assert by_files["turns"] > 5
    assert by_views["counts"]["transfers"] > 500
    assert {table: by_views["counts"][table] for table in FILES} == by_files["counts"]
    assert set(differing_rows(data).values()) == {0}
    assert_the_page_for_analysts_runs_on(lake)
    assert pl.collect_all([table_of(lake, "transfer_features")])[0].height == by_files["counts"]["transfer_features"]
