"""What do analysts cost the service, and the lake its writer?

Pre-flights beside 2,000 events a second, without and with an analyst, in short phases by turns, so that what else the
machine does falls on all alike. The analyst runs a heavy query again and again, in a process of another session: in
DuckDB as it comes, which takes all cores; with ``clearhold sql``; and in the same DuckDB started as docs/lake.md says.
The disk's own fsync is measured beside each of them. Then a separate database is filled, and commits go on while it
is copied and parts are merged: nothing of that may hold a commit up.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat, starmap, takewhile
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final, NamedTuple

import duckdb
import msgspec

from bench.callers import call
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.meanwhile import probe_until
from bench.preflight import CALLERS, EVENTS_PER_S, PROGRAMS, Questions, give_history, traffic_of
from bench.service import CHECKOUT, Service
from bench.workbench import PREFIX
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.store.analysts.tables import lake_tables
from clearhold.store.analysts.writer import LakeWriter
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.ids import new_id
from clearhold.store.redis_log.reader import SEQ_BITS
from clearhold.store.tables import row_tables

TIMES_ALONE: Final = Promise(1.5)
COMMIT_MS: Final = Promise(250)
_LAKE_WITHIN_S: Final = 90
_FIRST_ANSWER_WITHIN_S: Final = 10.0
_ROWS_A_STEP: Final = 500_000
_ROWS_A_ROUND: Final = 40_000
_DAYS: Final = 30
_HEAVY: Final = """
    SELECT reason_id, count(*), avg(f.score), quantile_cont(f.velocity_24h_sum_cents, 0.95)
    FROM transfer_reasons JOIN transfer_features AS f USING (program_id, transfer_id, "offset")
    JOIN transfers AS t ON t.program_id = f.program_id AND t.id = f.transfer_id GROUP BY ALL"""
_PLAIN: Final = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("SET enable_progress_bar = false")
while True:
    print(len(connection.execute(sys.argv[2]).fetchall()), flush=True)
"""
_CLEARHOLD: Final = (sys.executable, "-c", "from clearhold.api.cli.main import main; main()")
_ALONE: Final = "no analyst"
_QUERIES_AT_MOST: Final = 20_000
# What a column of a made-up row is, where its table does not say otherwise.
_MADE_OF: Final = {
    "BIGINT": "i % 977",
    "VARCHAR": "'v' || (i % 50)",
    "DOUBLE": "(i % 100) / 100.0",
    "BOOLEAN": "i % 7 = 0",
    "TIMESTAMP": "make_timestamp(at_ms * 1000)",
}
_REASONS: Final = """'[{"id":"TRS-VEL-01","signal":"velocity","weight":' || i % 30 || ',"hard":false,"sentence":""}]'"""
# ruff: noqa: S608 - statements are put together from the names of this benchmark's tables


def run(run: Run) -> Iterator[Figure]:
    yield from _beside_analysts(run)
    yield from _beside_merges(run)


class _Phases(NamedTuple):
    """The measurements beside one kind of analyst; milliseconds."""

    latencies: list[float]
    fsyncs: list[float]
    queries: list[float]  # a second, one for each phase


def _beside_analysts(run: Run) -> Iterator[Figure]:
    turns, count, warm_up = run.size(10, 4), run.size(1_000, 500), 50
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        known = service.programs([traffic_of(f"p{number}", now - 20 * DAY_US) for number in range(PROGRAMS)])
        give_history(run, service, known, at=now)
        programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
        questions = Questions(programs, service.operator_token)
        _wait_for((Path(folder) / "data" / "lake" / "analyst.duckdb").exists)
        feeds = [each.feed._replace(traffic=traffic_of(f"live{number}", now)) for number, each in enumerate(known)]
        commands = _commands(Path(folder))
        phases = {who: _Phases([], [], []) for who in commands}
        with PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S):
            for turn in range(turns):
                run.say(f"turn {turn + 1} of {turns}: {', '.join(commands)}")
                for who in [*commands][:: 1 if turn % 2 else -1]:
                    with _analyst(commands[who], phases[who].queries), _probing(folder, phases[who].fsyncs):
                        tally = call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up)
                        phases[who].latencies.extend(tally.require(201).latencies_ms)
    yield from _analysts_figures(phases)


def _commands(folder: Path) -> dict[str, list[str]]:
    """The command of each analyst; every line of its output is an answer."""
    data, queries = folder / "data", folder / "queries.sql"
    queries.write_text(f"SELECT count(*) AS n FROM ({_HEAVY});\n" * _QUERIES_AT_MOST, encoding="utf-8")
    plain = [sys.executable, "-c", _PLAIN, str(data / "lake" / "analyst.duckdb"), _HEAVY]
    return {
        _ALONE: [],
        "DuckDB as it comes": plain,
        "clearhold sql": [*_CLEARHOLD, "sql", "--data", str(data), "--format", "ndjson", "--file", str(queries)],
        "DuckDB under clearhold aside": [*_CLEARHOLD, "aside", *plain],
    }


def _analysts_figures(phases: dict[str, _Phases]) -> Iterator[Figure]:
    alone = sorted(phases[_ALONE].latencies)
    for who, each in phases.items():
        ordered, fsyncs = sorted(each.latencies), sorted(each.fsyncs)
        beside = f"the disk's fsync, p50 {percentile(fsyncs, 0.5):.2f} ms, p99 {percentile(fsyncs, 0.99):.2f} ms"
        per_second = sum(each.queries) / len(each.queries) if each.queries else 0
        note = f"{per_second:.2f} of its queries a second" if who != _ALONE else f"{len(ordered)} pre-flights"
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            value = percentile(ordered, share)
            ratio = value / percentile(alone, share)
            yield Figure(name=f"{who}, {name}", value=value, unit="ms", ratio=ratio, beside=beside, note=note)
        if who != _ALONE:
            yield Figure(name=f"{who} against none, p99", value=ratio, unit="times", promise=TIMES_ALONE)


@contextmanager
def _analyst(command: list[str], per_second: list[float]) -> Iterator[None]:
    """The process of an analyst meanwhile, once it has answered or has had its time to; how many queries a second."""
    if not command:
        yield
        return
    unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=CHECKOUT, env=unbuffered, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            select([process.stdout], [], [], _FIRST_ANSWER_WITHIN_S)
            began = time.perf_counter()
            yield
        finally:
            process.terminate()
            answers = len(process.stdout.read().splitlines())
            per_second.append(answers / (time.perf_counter() - began))


@contextmanager
def _probing(folder: str, taken_ms: list[float]) -> Iterator[None]:
    stopped = Event()
    thread = Thread(target=probe_until, args=(Path(folder) / "synced", stopped, taken_ms))
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _beside_merges(run: Run) -> Iterator[Figure]:
    transfers = run.asked.transfers or run.size(5_000_000, 500_000)
    with TemporaryDirectory(prefix=PREFIX) as folder, open_database(Path(folder) / "clearhold.duckdb") as database:
        lake = Path(folder) / "lake"
        lake.mkdir()
        fill(run, database, transfers)
        alone = _commits_beside(database, lambda: time.sleep(run.size(10, 3)))
        writer = LakeWriter(lake, database, clock=SystemClock(), new_id=new_id, lead_us=0)
        run.say(f"copying {transfers:,} transfers, each with its vector")
        began = time.perf_counter()
        rows = list[int]()
        copying = _commits_beside(database, lambda: rows.append(writer.copy()))
        copied_s = time.perf_counter() - began
        _split(writer, database, run)
        run.say("merging")
        began, merges = time.perf_counter(), list[bool]()
        merging = _commits_beside(database, lambda: merges.extend(takewhile(bool, starmap(writer.merge, repeat(())))))
        merged_s = time.perf_counter() - began
        size = sum(part.bytes for part in writer.parts.parts if not part.is_replaced)
    yield Figure(name="rows copied a second", value=sum(rows) / copied_s, unit="rows/s", note=f"{size >> 20:,} MB")
    yield Figure(name="merges", value=len(merges), unit="", note=f"{merged_s:.1f} s")
    for name, commits in (("alone", alone), ("while it is copied", copying), ("while it is merged", merging)):
        promise = None if name == "alone" else COMMIT_MS
        note = f"p50 {percentile(commits, 0.5):.1f} ms, p99 {percentile(commits, 0.99):.1f} ms of {len(commits)}"
        yield Figure(name=f"longest commit, {name}", value=commits[-1], unit="ms", promise=promise, note=note)


def fill(run: Run, database: duckdb.DuckDBPyConnection, transfers: int) -> None:
    """Transfers and their vectors over thirty days, made by the database itself."""
    began_ms = time.time_ns() // 1_000_000 - _DAYS * DAY_US // 1_000
    of_table = {"id": "'acht_' || i", "transfer_id": "'acht_' || i", "shard": "i % 8", "reasons": _REASONS}
    of_table |= {"offset": f"at_ms << {SEQ_BITS}", "program_id": "'program-' || i % 8", "rescored": "false"}
    with run.counting("filling", 2 * transfers) as done:
        for table in (each for each in lake_tables() if each.name in {"transfer_versions", "transfer_features"}):
            columns = ", ".join(f'{of_table.get(c.name, _MADE_OF[c.sql_type])} AS "{c.name}"' for c in table.columns)
            for first in range(0, transfers, _ROWS_A_STEP):
                until = min(transfers, first + _ROWS_A_STEP)
                at = f"{began_ms} + CAST(i::DOUBLE / {transfers} * {_DAYS * DAY_US // 1_000} AS BIGINT) AS at_ms"
                rows = f"SELECT i, {at} FROM range({first}, {until}) AS r(i)"
                database.execute(f"INSERT INTO {table.source} SELECT {columns} FROM ({rows})")
                done(until - first)
    database.execute("CHECKPOINT")


def _split(writer: LakeWriter, database: duckdb.DuckDBPyConnection, run: Run) -> None:
    """Small parts of this day, as rounds of copying leave them at two thousand events a second."""
    now = time.time_ns() // 1_000_000 << SEQ_BITS
    rows = f'SELECT * REPLACE ({now} AS "offset") FROM transfer_features WHERE rowid < {_ROWS_A_ROUND}'
    for _ in range(run.size(24, 8)):
        database.execute(f"INSERT INTO transfer_features {rows}")
        writer.copy()


def _commits_beside(database: duckdb.DuckDBPyConnection, act: Callable[[], object]) -> list[float]:
    """Milliseconds of commits of twenty rows, one after the other, while something is done; in ascending order."""
    ended, taken = Event(), list[float]()
    thread = Thread(target=_commit_until, args=(BatchWriter(database), ended, taken))
    thread.start()
    try:
        act()
    finally:
        ended.set()
        thread.join()
    return sorted(taken)


def _commit_until(writer: BatchWriter, ended: Event, taken: list[float]) -> None:
    offset = time.time_ns() // 1_000_000 << SEQ_BITS
    row = LabelRow("t", "p", "l", 1, offset, "acht_1", "bad", "", "analyst", "ann", 0)
    while not ended.wait(0.01):
        rows = row_tables({LabelRow: [msgspec.structs.replace(row, id=str(number)) for number in range(20)]})
        began = time.perf_counter()
        writer.commit(rows, {1: offset}, 0)
        taken.append(1_000 * (time.perf_counter() - began))


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LAKE_WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"There was no lake within {_LAKE_WITHIN_S} s.")
        time.sleep(0.1)
