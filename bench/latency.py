"""How long is it from an event to its committed score, while a thousand come in a second?

A feeder process appends at a fixed pace; an event's time starts when it was due, and ends when the transaction that
holds its score has returned. Nothing waits for anything: a flow that falls behind shows as latency.
"""

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.workbench import MarkedProgress, Workbench, programs

PER_SECOND: Final = 1_000
P99_MS: Final = Promise(250)
PROGRAMS: Final = 8
WARM_UP_S: Final = 2.0
_STOP_WITHIN_S: Final = 30
_US: Final = 1_000_000


def run(run: Run) -> Iterator[Figure]:
    seconds = run.size(30, 8)
    with Workbench() as bench:
        now = time.time_ns() // 1_000
        step_us = _US * PROGRAMS * 2 // PER_SECOND
        feeds = programs(PROGRAMS, entities=500, counterparties=1_000, start_at=now, step_us=step_us)
        bench.declare(feeds, appended_at=now)
        progress = MarkedProgress(bench.data_dir.shards)
        engine = bench.engine(progress)
        engine.start()
        try:
            with PacedFeeder(bench.socket, feeds, per_second=PER_SECOND) as feeder:
                started_at = time.time_ns() // 1_000
                run.say(f"{PER_SECOND:,} events a second for {seconds} s")
                time.sleep(seconds)
                appended = feeder.stop()
        finally:
            engine.stop(_STOP_WITHIN_S)
        from_at = started_at + int(WARM_UP_S * _US)
        events = bench.database.execute(_EVENTS, [from_at]).fetchall()
        latencies = sorted(_latencies(events, progress.marks))
    note = f"{len(latencies):,} of {appended:,} events, the first {WARM_UP_S:.0f} s left out"
    for name, share, promise in (("p50", 0.5, None), ("p99", 0.99, P99_MS), ("max", 1.0, None)):
        yield Figure(
            name=f"event to committed, {name}",
            value=percentile(latencies, share),
            unit="ms",
            promise=promise,
            note=note if promise else "",
        )


_EVENTS: Final = 'SELECT shard, "offset", epoch_us(appended_at) FROM bank_events WHERE epoch_us(appended_at) >= ?'


def _latencies(events: list[tuple[int, int, int]], marks: list[tuple[int, int, int]]) -> Iterator[float]:
    """Milliseconds from when each event was due to the first commit that covers it."""
    offsets, instants = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for shard, offset, at in marks:
        offsets[shard].append(offset)
        instants[shard].append(at)
    for shard, offset, due_at in events:
        yield (instants[shard][bisect_left(offsets[shard], offset)] - due_at) / 1_000
