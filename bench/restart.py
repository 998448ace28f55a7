"""How long after a start is the service ready again, with a million transfers behind it?

The transfers go through a real ``clearhold serve``, fed straight into its log. Then it is stopped as an operator would
and started; then more is fed, it is killed with -9 while some of it comes in, and started: from its newest state
snapshots it applies the tail of the log again. More is fed than a scorer leaves after its snapshots, which
is a twentieth of the state. Ready means that everything the log held is recorded. First with one scorer, then with
two.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.harness import Figure, Promise, Run
from bench.log_feed import APPEND_AT_ONCE, Appender, Feed
from bench.service import Service
from bench.stream_events import Made, Traffic
from bench.workbench import PREFIX
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.data_dir import DEFAULT_SHARDS
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader

READY_S: Final = {1: Promise(16), 2: Promise(10)}  # by the number of scorers, after kill -9
CLEAN_S: Final = Promise(10)
PROGRAMS: Final = 8
PARTIES: Final = 5_000
CHUNK_EVENTS: Final = 40_000
TAIL_SHARE: Final = 20  # of the events come after the clean stop, and a part of them after the last snapshot
UNDER_WAY_EVENTS: Final = 2_000
_STEP_US: Final = 20_000_000
_CHUNK_WITHIN_S: Final = 900
_PAGE: Final = 5_000


class Feeding:
    """Feeds a chunk while the service works on the one before.

    The log takes events now, or with ``in_their_time`` each at its own instant, as if the service had run since then.
    """

    def __init__(self, service: Service, feeds: list[Feed], *, in_their_time: bool = False) -> None:
        self._service, self._in_their_time = service, in_their_time
        self._events = _interleaved(feeds)
        self._ahead: dict[str, tuple[int, str]] = {}  # by program: its newest transfer that was fed

    def feed(self, count: int) -> None:
        """Append ``count`` events and wait for those of the call before."""
        newest: dict[str, tuple[int, str]] = {}
        now = time.time_ns() // 1_000

        def entries() -> Iterator[tuple[int, EntryKind, str, int, bytes]]:
            for feed, event in islice(self._events, count):
                made = (event.transfer, event.transfer_id)
                newest[feed.program_id] = max(newest.get(feed.program_id, made), made)
                at = min(event.at, now) if self._in_their_time else now
                yield feed.shard, EntryKind.BANK, feed.program_id, at, event.body

        with closing(connect_sync(self._service.socket)) as client:
            appender, source = Appender(client), entries()
            while some := list(islice(source, APPEND_AT_ONCE)):
                appender.append(some)
        self.wait()
        self._ahead = newest

    def feed_all(self, run: Run, transfers: int) -> None:
        """Feed ``transfers``, of two events each, and wait for the last of them."""
        events = transfers * 2
        with run.counting(f"{transfers:,} transfers", events) as done:
            for fed in range(0, events, CHUNK_EVENTS):
                chunk = min(CHUNK_EVENTS, events - fed)
                self.feed(chunk)
                done(chunk)
            self.wait()

    def wait(self) -> None:
        """Shards are not equally far, so for the newest transfer of each program."""
        for _, transfer_id in self._ahead.values():
            self._service.wait_for(transfer_id, within_s=_CHUNK_WITHIN_S)


def run(run: Run) -> Iterator[Figure]:
    transfers = run.asked.transfers or run.size(1_000_000, 30_000)
    events = transfers * 2
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        traffics = [
            Traffic(f"p{number}", entities=PARTIES, counterparties=PARTIES, step_us=_STEP_US)
            for number in range(PROGRAMS)
        ]
        feeding = Feeding(service, [known.feed for known in service.programs(traffics)])
        feeding.feed_all(run, transfers)
        for scorers, promise in READY_S.items():
            began = time.perf_counter()
            service.stop()
            stop_s = time.perf_counter() - began
            yield _figure(
                "a clean stop",
                service,
                scorers,
                CLEAN_S,
                f"{transfers:,} transfers in the first of these starts; the stop took {stop_s:.1f} s",
            )
            run.say(f"{events // TAIL_SHARE:,} events more, then kill -9")
            feeding.feed(events // TAIL_SHARE)
            feeding.wait()
            feeding.feed(UNDER_WAY_EVENTS)
            service.kill()
            yield _figure("kill -9", service, scorers, promise, f"killed while {UNDER_WAY_EVENTS:,} came in")


def _figure(after: str, service: Service, scorers: int, promise: Promise, note: str) -> Figure:
    """Start the service, and say what of the time was what; scorers load and replay beside each other."""
    offsets = {int(path.name[6:8]): int(path.name.split(".")[2]) for path in sorted(service.snapshots_dir.iterdir())}
    ready_s = service.start(scorers=scorers)
    behind = _entries_behind(service, offsets)
    loads = service.logged("states_loaded")
    loaded_s = max(line["seconds"] for line in loads)
    loaded_at = max(datetime.fromisoformat(line["timestamp"]) for line in loads)
    replayed_at = max(datetime.fromisoformat(line["timestamp"]) for line in service.logged("scorer_ready"))
    replayed_s = (replayed_at - loaded_at).total_seconds()
    return Figure(
        name=f"ready after {after}, {scorers} scorer{'' if scorers == 1 else 's'}",
        value=ready_s,
        unit="s",
        promise=promise,
        beside=f"load {loaded_s:.1f} s, replay of {behind:,} entries {replayed_s:.1f} s, "
        f"the rest (processes, Redis, DuckDB, last commits) {ready_s - loaded_s - replayed_s:.1f} s",
        note=note,
    )


def _entries_behind(service: Service, offsets: dict[int, int]) -> int:
    """The entries of the log behind the snapshots that the start found; Redis is trimmed behind newer ones only."""
    with closing(connect_sync(service.socket)) as client:
        reader = LogReader(client, range(DEFAULT_SHARDS))
        entries = 0
        for shard in range(DEFAULT_SHARDS):
            after, tail = offsets.get(shard, 0), reader.tail(shard)
            while page := reader.range(shard, after, tail, count=_PAGE):
                entries += len(page)
                after = page[-1].offset
    return entries


def _interleaved(feeds: list[Feed]) -> Iterator[tuple[Feed, Made]]:
    """Events of all programs, one program after the other, without an end."""
    sources = [(feed, feed.traffic.events()) for feed in feeds]
    while True:
        for feed, events in sources:
            yield feed, next(events)
