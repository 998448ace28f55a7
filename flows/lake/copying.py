"""The lake for analysts in a running service: a thread copies committed rows every ``lake_seconds``.

committed tables ─▶ parts by table and day ─▶ list of parts, replaced whole ─▶ readers in other processes

It runs at a lower priority than answers and scoring, with a separate cursor; nothing waits for it. Failures are logged,
counted and retried by the next round; scoring continues, and the rows copied so far stay readable.

Unit    metrics in seconds and bytes, read from the list of parts at each scrape; labels are names of tables
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event, Thread
from time import monotonic, perf_counter
from typing import Final

import duckdb
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.counts import counter, gauge
from clearhold.store.analysts.control_rows import control_rows
from clearhold.store.analysts.parts import PartList, days_in_force, due_parts, parts_to_remove
from clearhold.store.analysts.writer import LEAD_US, LakeWriter
from clearhold.store.clock import Clock, SystemClock
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.duck.database import open_database
from clearhold.store.ids import new_id
from clearhold.store.scheduling import USUAL_NS, set_time_slice

NICENESS: Final = 10
STOP_WITHIN_S: Final = 0.5
_READY_POLL_S: Final = 0.5
_MERGING_SHARE: Final = 2  # merging takes at most half of a round's time

log = structlog.get_logger()


def opened_lake(
    folder: Path,
    database: duckdb.DuckDBPyConnection,
    tenancy: Tenancy,
    opened: ExitStack,
    *,
    clock: Clock,
    every_s: int,
) -> "LakeCopying":
    """The lake of a service whose flow runs entirely within the life of ``opened``."""
    lead_us = min(LEAD_US, every_s * SECOND_US // 4)
    writer = LakeWriter(
        folder,
        database,
        clock=clock,
        new_id=new_id,
        lead_us=lead_us,
        control=lambda: control_rows(tenancy),
        retention=lambda: days_in_force(tenancy),
    )
    opened.callback(writer.close)
    lake = LakeCopying(writer, every_s=every_s)
    if every_s:
        lake.open()
    opened.callback(lake.stop, STOP_WITHIN_S)
    return lake


def copy_lake(folder: Path, database_path: Path) -> int:
    """Copy the whole database of a stopped service; returns the number of rows. Replaced files are removed later."""
    with closing(open_database(database_path)) as database:
        writer = LakeWriter(folder, database, clock=SystemClock(), new_id=new_id, lead_us=0)
        with closing(writer):
            rows = writer.copy()
            while writer.merge():
                pass
    return rows


class LakeCounts:
    """Counters of the rounds; written by one thread, read by any."""

    def __init__(self) -> None:
        self.rows = 0
        self.rounds = 0
        self.merges = 0
        self.failures = 0
        self.round_seconds = 0.0


class LakeCopying:
    """Rounds begin once ``is_ready``, ``every_s`` apart; 0 for no rounds."""

    def __init__(self, writer: LakeWriter, *, every_s: float) -> None:
        self.writer, self.counts = writer, LakeCounts()
        self._every_s = every_s
        self._stopping = Event()
        self._is_ready: Callable[[], bool] = lambda: True
        self._thread = Thread(target=self._run, name="lake", daemon=True)

    def open(self) -> None:
        """Read the lake's list before anything is committed. A failure is retried in each round."""
        self._guarded(self.writer.open)

    def start(self, is_ready: Callable[[], bool]) -> None:
        self._is_ready = is_ready
        if self._every_s:
            self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Run a last round for the newest commits; the next start copies what exceeds the time."""
        self._stopping.set()
        if not self._thread.is_alive():
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self.writer.interrupt()
            self._thread.join(timeout_s)

    def _run(self) -> None:
        if sys.platform == "linux":
            os.nice(NICENESS)  # this thread's alone
            set_time_slice(USUAL_NS)
        while not self._is_ready():
            if self._stopping.wait(_READY_POLL_S):
                return
        wait_s = self._every_s
        while not self._stopping.wait(wait_s):
            began = monotonic()
            self._guarded(self._round)
            wait_s = max(0.0, began + self._every_s - monotonic())
        if self.counts.rounds:  # a service that ends sooner leaves no lake behind
            self._guarded(self._copy)

    def _round(self) -> None:
        """Remove due files first: on a full disk that makes room."""
        self.writer.apply_retention()
        self.writer.remove_replaced()
        self._copy()
        until = monotonic() + self._every_s / _MERGING_SHARE
        while monotonic() < until and not self._stopping.is_set() and self.writer.merge():
            self.counts.merges += 1

    def _copy(self) -> None:
        began = perf_counter()
        self.counts.rows += self.writer.copy()
        self.counts.rounds += 1
        self.counts.round_seconds = perf_counter() - began

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever failed: a thread that ended would copy nothing more
            if self._stopping.is_set() and isinstance(error, duckdb.InterruptException | InterruptedError):
                return
            self.counts.failures += 1
            log.warning("lake_failed", error=f"{type(error).__name__}: {error}")


class LakeCollector(Collector):
    """The lake has no age before its first round."""

    def __init__(self, lake: LakeCopying, clock: Clock) -> None:
        self._lake, self._clock = lake, clock

    def collect(self) -> Iterator[Metric]:
        counts, listed, now = self._lake.counts, self._lake.writer.parts, self._clock.now()
        behind = max(0, now - listed.as_of) / SECOND_US if listed.as_of else None
        newest = "Age of the newest state of the tables that is complete in the lake."
        yield gauge("clearhold_lake_behind_seconds", newest, behind)
        parts, size, rows = Counter[str](), Counter[str](), Counter[str]()
        for part in listed.counting_at(now):
            parts[part.table_name] += 1
            size[part.table_name] += part.bytes
            rows[part.table_name] += part.rows
        yield _by_table("clearhold_lake_parts", "Files of the lake that count.", parts)
        yield _by_table("clearhold_lake_bytes", "Bytes of those.", size)
        yield _by_table("clearhold_lake_rows", "Rows in those.", rows)
        yield from _of_retention(listed, now)
        yield gauge("clearhold_lake_round_seconds", "Duration of the last round of copying.", counts.round_seconds)
        yield counter("clearhold_lake_copied_rows", "Rows copied into the lake.", counts.rows)
        yield counter("clearhold_lake_merges", "Merges of parts.", counts.merges)
        yield counter("clearhold_lake_failures", "Rounds that failed and were tried again.", counts.failures)


def _of_retention(listed: PartList, now: int) -> Iterator[Metric]:
    due, unremoved = Counter[str](), Counter[str]()
    for part in due_parts(listed, now):
        due[part.table_name] += part.rows
    for part in parts_to_remove(listed, now):
        unremoved[part.table_name] += part.bytes
    ended = {table: each.rows for table, each in listed.ended.items()}
    yield _by_table(
        "clearhold_lake_retention_days", "Days for which a table is kept; absent when for good.", listed.retention_days
    )
    yield _by_table("clearhold_lake_ended_rows", "Rows that retention has taken out.", ended)
    yield _by_table("clearhold_lake_due_rows", "Rows of days that are over and still count.", due)
    yield _by_table("clearhold_lake_unremoved_bytes", "Bytes of ended days whose files wait for readers.", unremoved)


def _by_table(name: str, about: str, values: Mapping[str, float]) -> Metric:
    return gauge(name, about, dict(sorted(values.items())), "table")
