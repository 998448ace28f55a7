"""How long does an event wait because the scorer takes a snapshot of 600,000 parties?

A real scorer process, with clocks around its calls, forks its snapshots while events come in at a fixed pace. A stall
is all that the scorer does to begin a snapshot; from then until the child has ended, each page that an entry changes
is copied first. Entries beside a child stand against those of the same run without one, and processor time beside wall,
so that effects of the machine on both can be separated from those of the snapshot.
"""

import os
import statistics
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from bench import measured_scorer
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder, append_all, feed_of
from bench.measured_scorer import MODULE, Measure, Of, measures_in
from bench.stream_events import Traffic
from bench.workbench import Workbench, wait_until_caught_up
from clearhold.store.data_dir import DEFAULT_SHARDS
from clearhold.store.redis_log.progress import LogProgress

WAIT_MS: Final = Promise(100)
PER_SECOND: Final = 1_500
ENTITIES: Final = 200_000
COUNTERPARTIES_AN_ENTITY: Final = 2
WARM_UP_S: Final = 2.0
_LOADED_WITHIN_S: Final = 1_800
_STOP_WITHIN_S: Final = 120
_US: Final = 1_000_000
_VALUES: Final[dict[str, Callable[[Measure], int]]] = {
    "an entry": attrgetter("took_ns"),
    "an entry's processor time": attrgetter("processor_ns"),
    "from due to applied": attrgetter("more_ns"),
}
_MEASURED: Final[tuple[tuple[str, float, Promise | None], ...]] = (
    ("an entry", 0.99, None),
    ("an entry", 1.0, WAIT_MS),
    ("an entry's processor time", 0.99, None),
    ("an entry's processor time", 1.0, None),
    ("from due to applied", 0.99, None),
    ("from due to applied", 1.0, None),
)


def run(run: Run) -> Iterator[Figure]:
    entities = run.size(ENTITIES, ENTITIES // 10)
    parties = entities * (1 + COUNTERPARTIES_AN_ENTITY)
    with Workbench() as bench:
        path = bench.data_dir.path / "measures"
        os.environ[measured_scorer.FILE] = str(path)
        os.environ[measured_scorer.DUE_AFTER_S] = str(run.size(15, 4))
        now = time.time_ns() // 1_000
        traffic = Traffic(
            "p0",
            entities=entities,
            counterparties=entities * COUNTERPARTIES_AN_ENTITY,
            start_at=now,
            step_us=2 * _US // PER_SECOND,
        )
        feed = feed_of("program-0", traffic, shards=DEFAULT_SHARDS)
        bench.declare([feed], appended_at=now)
        with run.counting("introducing the parties", parties) as done:
            append_all(bench.redis, ((feed, body) for body in traffic.introductions()), appended_at=now, done=done)
        engine = bench.engine(LogProgress(bench.data_dir.shards), scorers=1, module=MODULE)
        engine.start()
        try:
            run.say("scoring them")
            wait_until_caught_up(engine, within_s=_LOADED_WITHIN_S)
            with PacedFeeder(bench.socket, [feed], per_second=PER_SECOND) as feeder:
                began_at = time.time_ns() // 1_000
                run.say(f"{PER_SECOND:,} events a second")
                time.sleep(run.size(120, 20))
                feeder.stop()
        finally:
            engine.stop(_STOP_WITHIN_S)
        measures = [each for each in measures_in(path) if each.ended_at > began_at + WARM_UP_S * _US]
        written = max(each.stat().st_size for each in bench.data_dir.snapshots_dir.iterdir())
    yield from figures_of(measures, parties=parties, written_bytes=written)


def figures_of(measures: Sequence[Measure], *, parties: int, written_bytes: int) -> Iterator[Figure]:
    """Of a run in which at least one snapshot began and ended."""
    stalls, forks, children = ([each for each in measures if each.of is of] for of in (Of.STALL, Of.FORK, Of.CHILD))
    if not children or not stalls:
        raise SystemExit("No snapshot was taken while the events came in.")
    fork_ms = _ordered_ms(each.took_ns for each in forks)
    yield Figure(
        name="longest stall to begin a snapshot",
        value=_ordered_ms(each.took_ns for each in stalls)[-1],
        unit="ms",
        promise=WAIT_MS,
        beside=f"fork alone: median {statistics.median(fork_ms):.1f} ms, longest {fork_ms[-1]:.1f} ms",
        note=f"longest in processor time {_ordered_ms(each.processor_ns for each in stalls)[-1]:.1f} ms; "
        f"{len(stalls)} snapshots of {parties:,} parties beside {PER_SECOND:,} events/s",
    )
    beside, without = split(measures, children)
    if not beside or not without:
        raise SystemExit("There were no entries beside a snapshot, or none without one.")
    for what, share, promise in _MEASURED:
        yield _compared(what, share, promise, beside, without)
    yield Figure(
        name="a snapshot on disk after",
        value=statistics.median(each.took_ns for each in children) / 1e9,
        unit="s",
        note=f"{statistics.median(each.processor_ns for each in children) / 1e9:.1f} s of the child's processor time, "
        f"{written_bytes / 1e6:,.0f} MB written",
    )


def split(measures: Sequence[Measure], children: Sequence[Measure]) -> tuple[list[Measure], list[Measure]]:
    """Entries while a child lived, and the others. Those behind the last child's end are left out."""
    ends = [each.ended_at for each in children]
    begins = [each.ended_at - each.took_ns // 1_000 for each in children]
    beside, without = list[Measure](), list[Measure]()
    for each in measures:
        if each.of is Of.ENTRY and each.ended_at <= ends[-1]:
            (beside if begins[bisect_left(ends, each.ended_at)] <= each.ended_at else without).append(each)
    return beside, without


def _compared(
    what: str, share: float, promise: Promise | None, beside: list[Measure], without: list[Measure]
) -> Figure:
    of = _VALUES[what]
    value, alone = (percentile(_ordered_ms(map(of, each)), share) for each in (beside, without))
    return Figure(
        name=f"{what} beside a snapshot, {'longest' if share == 1 else 'p99'}",
        value=value,
        unit="ms",
        promise=promise,
        ratio=value / alone,
        beside=f"without one: {alone:.2f} ms",
        note=f"{len(beside):,} entries, {len(without):,} without" if share < 1 else "",
    )


def _ordered_ms(nanoseconds: Iterable[int]) -> list[float]:
    return sorted(each / 1e6 for each in nanoseconds)
