"""How does the stream scale with scorer processes, and what does an event cost each process?

The same log is scored in one process and by scorer processes, each time on separate stores, from the end of the
first commit to the last, so that the start of processes is not counted. Cores that others use make wall time a
poor figure, so processor time stands beside it, and the instructions of an event where something can count them.

Unit    events a second by wall; microseconds of processor time an event, user and system
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.harness import Figure, Run
from bench.instructions import Counter, find_counter, instructions_an_event
from bench.log_feed import append_all, interleaved
from bench.stream_events import YEAR_START, Traffic
from bench.workbench import TimedCommits, Workbench, programs, wait_until_caught_up
from clearhold.flows.engine import Engine
from clearhold.flows.scorer.scorers import ScorerProcesses
from clearhold.store.redis_log.progress import LogProgress

PROGRAMS: Final = 8
ENTITIES: Final = 500  # of each
COUNTERPARTIES: Final = 2_500
STEPS_US: Final = {"ordinary": 300_000_000, "alert-dense": 8_000_000}  # between two transfers of a program
_WITHIN_S: Final = 900
_STOP_WITHIN_S: Final = 60
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
_USER_AND_SYSTEM: Final = slice(11, 13)  # of what follows the name in /proc/PID/stat


def run(run: Run) -> Iterator[Figure]:
    count, instruction_counter = run.size(120_000, 20_000), find_counter()
    for traffic, step_us in STEPS_US.items():
        alone = None
        for scorers in (0, 1, 2):
            run.say(f"{traffic} traffic, {scorers} scorers")
            rate, service_us, scorer_us = _scored(count, step_us, scorers)
            alone = alone or rate
            yield Figure(
                name=f"{traffic}, {scorers} scorer{'' if scorers == 1 else 's'}",
                value=rate,
                unit="events/s",
                ratio=rate / alone,
                beside=f"in one process: {alone:,.0f}",
                note=f"processor time an event: service {service_us:,.0f} µs, scorers {scorer_us:,.0f} µs in all",
            )
        yield _instructions(run, instruction_counter, traffic, step_us)


def _instructions(run: Run, counter: Counter | None, name: str, step_us: int) -> Figure:
    """Of a scorer; others on the machine change wall and processor time, and not these."""
    if counter is None:
        return Figure(name=f"{name}, instructions an event", value=None, unit="thousand", note="not available here")
    run.say(f"{name} traffic, counting instructions by {counter.name}")
    traffic = Traffic(name, entities=ENTITIES, counterparties=COUNTERPARTIES, step_us=step_us)
    return Figure(
        name=f"{name}, instructions an event",
        value=instructions_an_event(run, counter, traffic) / 1_000,
        unit="thousand",
        note=f"to decode, apply and score it and make its rows, without log, socket and commit; by {counter.name}",
    )


def _scored(count: int, step_us: int, scorers: int) -> tuple[float, float, float]:
    """Events a second, and microseconds of processor time an event of the service and of all its scorers."""
    with Workbench() as bench:
        feeds = programs(
            PROGRAMS, entities=ENTITIES, counterparties=COUNTERPARTIES, start_at=YEAR_START, step_us=step_us
        )
        appended_at = time.time_ns() // 1_000
        bench.declare(feeds, appended_at=appended_at)
        append_all(bench.redis, interleaved(feeds, count=count), appended_at=appended_at, done=lambda _: None)
        commits = TimedCommits()
        engine = bench.engine(LogProgress(bench.data_dir.shards), scorers=scorers, on_commit=commits.add)
        service_began = time.process_time()
        engine.start()
        try:
            wait_until_caught_up(engine, within_s=_WITHIN_S)
            service_s = time.process_time() - service_began
            scorer_s = sum(map(_processor_seconds, _pids(engine)))
        finally:
            engine.stop(_STOP_WITHIN_S)
    return commits.events_per_s(), service_s / count * 1e6, scorer_s / count * 1e6


def _pids(engine: Engine) -> list[int]:
    if not isinstance(engine.scorers, ScorerProcesses):
        return []
    return [each.pid for each in engine.scorers.processes if each.pid is not None]


def _processor_seconds(pid: int) -> float:
    """Of a process and its snapshots' children, since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[_USER_AND_SYSTEM])) / _TICKS_A_SECOND
