"""How long after a start is the service ready again, with a million transfers behind it?

The transfers go through a real ``clearhold serve``, fed straight into its log. Then it is stopped as an operator would
and started; then more is fed, it is killed with -9 while some of it comes in, and started: from its newest state
snapshots it applies the tail of the log again. Ready means that everything the log held is recorded.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.harness import Figure, Promise, Run
from bench.log_feed import Feed, append_all
from bench.service import Service
from bench.stream_events import Made, Traffic
from bench.workbench import PREFIX
from store.redis_log.connect import connect_sync

READY_S: Final = Promise(10)
PROGRAMS: Final = 8
PARTIES: Final = 5_000
CHUNK_EVENTS: Final = 40_000
TAIL_SHARE: Final = 20  # of the events come after the clean stop, and a part of them after the last snapshot
UNDER_WAY_EVENTS: Final = 2_000
_STEP_US: Final = 20_000_000
_CHUNK_WITHIN_S: Final = 600


class Feeding:
    """Feeds a chunk while the service works on the one before."""

    def __init__(self, service: Service, feeds: list[Feed]) -> None:
        self._service = service
        self._events = _interleaved(feeds)
        self._ahead = ""

    def feed(self, count: int) -> None:
        """Append so many events and wait for those of the call before."""
        newest = (-1, "")

        def bodies() -> Iterator[tuple[Feed, bytes]]:
            nonlocal newest
            for feed, event in islice(self._events, count):
                newest = max(newest, (event.transfer, event.transfer_id))
                yield feed, event.body

        client = connect_sync(self._service.socket)
        append_all(client, bodies(), appended_at=time.time_ns() // 1_000, done=lambda _: None)
        client.close()
        self.wait()
        self._ahead = newest[1]

    def wait(self) -> None:
        if self._ahead:
            self._service.wait_for(self._ahead, within_s=_CHUNK_WITHIN_S)


def run(run: Run) -> Iterator[Figure]:
    transfers = run.size(1_000_000, 100_000)
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        traffics = [
            Traffic(f"p{number}", entities=PARTIES, counterparties=PARTIES, step_us=_STEP_US)
            for number in range(PROGRAMS)
        ]
        feeding = Feeding(service, [known.feed for known in service.programs(traffics)])
        events = transfers * 2
        with run.counting(f"{transfers:,} transfers", events) as done:
            for fed in range(0, events, CHUNK_EVENTS):
                feeding.feed(min(CHUNK_EVENTS, events - fed))
                done(min(CHUNK_EVENTS, events - fed))
            feeding.wait()
        started = time.perf_counter()
        service.stop()
        stop_s = time.perf_counter() - started
        clean_s = service.start()
        run.say(f"stopped in {stop_s:.1f} s, ready again in {clean_s:.1f} s")
        yield Figure(
            name="ready after a clean stop",
            value=clean_s,
            unit="s",
            promise=READY_S,
            note=f"{transfers:,} transfers; the stop took {stop_s:.1f} s",
        )
        feeding.feed(events // TAIL_SHARE)
        feeding.wait()
        feeding.feed(UNDER_WAY_EVENTS)
        service.kill()
        killed_s = service.start()
        yield Figure(
            name="ready after kill -9",
            value=killed_s,
            unit="s",
            promise=READY_S,
            note=f"{events // TAIL_SHARE:,} events after the last start, killed while {UNDER_WAY_EVENTS:,} came in",
        )


def _interleaved(feeds: list[Feed]) -> Iterator[tuple[Feed, Made]]:
    """Events of all programs in turn, for ever."""
    sources = [(feed, feed.traffic.events()) for feed in feeds]
    while True:
        for feed, events in sources:
            yield feed, next(events)
