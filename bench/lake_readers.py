"""Do readers of the lake ever see anything but all that was committed, while events stream in and over a kill -9?

A process with DuckDB and one with polars count tables in a loop while ``clearhold serve`` takes 2,000 events a second.
In the middle it is killed with -9 and started again. Either reader ends at the first error, and at a count that is
smaller than one before. At the end the service is stopped, and every row of the lake is held against its database.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final

import msgspec

from bench.harness import Figure, Promise, Run
from bench.log_feed import PacedFeeder
from bench.preflight import EVENTS_PER_S, PROGRAMS, traffic_of
from bench.service import CHECKOUT, Known, Service
from bench.workbench import PREFIX
from clearhold.features.core.instants import SECOND_US
from clearhold.store.analysts.parts import read_parts
from clearhold.store.analysts.views import ANALYST_FILE
from clearhold.store.analysts.writer import LEAD_US
from clearhold.store.clock import SystemClock
from tests.support.lake_rows import differing_rows

NONE: Final = Promise(0)
OF_VIEWS: Final = ("transfer_versions", "transfer_features", "transfers", "events", "alert_versions")
OF_FILES: Final = ("transfer_versions", "transfer_features", "events")
_LAKE_WITHIN_S: Final = 180
_ENDS_WITHIN_S: Final = 120
_LOOK_EVERY_S: Final = 0.5


class Counted(msgspec.Struct, frozen=True):
    """What a reader says at its end."""

    turns: int
    counts: dict[str, int]


def run(run: Run) -> Iterator[Figure]:
    seconds = run.size(300, 30)
    with TemporaryDirectory(prefix=PREFIX) as folder:
        data = Path(folder) / "data"
        lake = data / "lake"
        with Service(data) as service:
            now = SystemClock().now()
            known = service.programs([traffic_of(f"p{number}", now) for number in range(PROGRAMS)])
            fed = _feed(run, service, known, "first", seconds=5)
            _wait_for_events(lake, fed)
            with ExitStack() as opened:
                readers = {
                    "DuckDB": opened.enter_context(_reader("duckdb", lake, OF_VIEWS)),
                    "polars": opened.enter_context(_reader("polars", lake, OF_FILES)),
                }
                behind = opened.enter_context(_looking(lake))
                fed += _feed(run, service, known, "before", seconds=seconds // 2)
                run.say("kill -9, and a start")
                service.kill()
                service.start()
                fed += _feed(run, service, known, "after", seconds=seconds - seconds // 2)
                run.say("waiting until all is in the lake")
                _wait_for_events(lake, fed)
                counted = {name: _outcome(process) for name, process in readers.items()}
        time.sleep(LEAD_US / SECOND_US)
        differing = differing_rows(data)
    for name, each in counted.items():
        note = ", ".join(f"{count:,} {table}" for table, count in each.counts.items())
        yield Figure(name=f"counts by {name}, none an error", value=each.turns, unit="counts", note=note)
        unseen = fed - each.counts["events"]
        yield Figure(name=f"events that {name} did not see at the end", value=unseen, unit="events", promise=NONE)
    yield Figure(name="events", value=fed, unit="events", note=f"{EVENTS_PER_S:,} a second, killed in the middle")
    yield Figure(name="how far the lake was behind at most, kill and start included", value=max(behind), unit="s")
    rows, note = sum(differing.values()), f"{len(differing)} tables"
    yield Figure(name="rows that only the lake has, or the database", value=rows, unit="rows", promise=NONE, note=note)


def _feed(run: Run, service: Service, known: Sequence[Known], name: str, *, seconds: int) -> int:
    """Events of new transfers for so long; how many they were."""
    now = SystemClock().now()
    feeds = [each.feed._replace(traffic=traffic_of(f"{name}{number}", now)) for number, each in enumerate(known)]
    run.say(f"{EVENTS_PER_S:,} events a second for {seconds} s")
    with PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S) as feeder:
        time.sleep(seconds)
        return feeder.stop()


@contextmanager
def _reader(kind: str, lake: Path, tables: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.support.lake_reader", kind, str(lake), *tables]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=CHECKOUT) as process:
        try:
            yield process
        finally:
            process.kill()


def _outcome(process: subprocess.Popen[bytes]) -> Counted:
    """End a reader; what it counted last."""
    output, _ = process.communicate(timeout=_ENDS_WITHIN_S)
    if process.returncode:
        raise SystemExit("A reader ended with an error, which stands above.")
    return msgspec.json.decode(output, type=Counted)


@contextmanager
def _looking(lake: Path) -> Iterator[list[float]]:
    """By how many seconds the lake was behind, at every look meanwhile."""
    behind, ended = [0.0], Event()

    def look() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            listed = read_parts(lake)
            if listed is not None:
                behind.append((SystemClock().now() - listed.as_of) / SECOND_US)

    thread = Thread(target=look)
    thread.start()
    try:
        yield behind
    finally:
        ended.set()
        thread.join()


def _wait_for_events(lake: Path, count: int) -> None:
    """Return when ``count`` events are in valid parts, and the views are there."""
    deadline = time.monotonic() + _LAKE_WITHIN_S
    while not ((lake / ANALYST_FILE).exists() and _events_in(lake) >= count):
        if time.monotonic() > deadline:
            raise SystemExit(f"There were {_events_in(lake):,} of {count:,} events after {_LAKE_WITHIN_S} s.")
        time.sleep(_LOOK_EVERY_S)


def _events_in(lake: Path) -> int:
    listed = read_parts(lake)
    counting = () if listed is None else listed.counting_at(SystemClock().now())
    return sum(part.rows for part in counting if part.table_name == "events")
