"""How soon after its commit is an event in Redis, and what do the live streams cost the stream and pre-flights?

The same services with ``--live on`` and ``--live off``, one after the other on separate stores, in turns. Each first
scores a history as fast as it can, then takes 1,000 events a second while pre-flights are asked at random times. A
reader waits for the entries of all programs meanwhile, with XREAD on one connection.

Unit    milliseconds; the delay behind the commit is the service's own histogram, so its share is of ranges
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final, NamedTuple

from bench.callers import call
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.preflight import CONNECTIONS, HISTORY_TRANSFERS, PROGRAMS, Questions, give_history, traffic_of
from bench.service import Known, Service
from bench.workbench import PREFIX
from clearhold.store.live.streams import stream_key
from clearhold.store.redis_log.connect import connect_sync

EVENTS_PER_S: Final = 1_000
ASKED_PER_S: Final = 200
WITHIN_S: Final = 0.02
SHARE_IN_TIME: Final = Promise(0.99, at_least=True)
RATE_KEPT: Final = Promise(0.95, at_least=True)
TIMES_PREFLIGHT: Final = Promise(1.05)
_DELAYS: Final = "clearhold_live_delay_seconds"
_PUBLISHED: Final = "clearhold_live_published_entries"
_HISTORY_STEP_US: Final = 16_000
_SETTLE_S: Final = 2.0
_BLOCK_MS: Final = 100


class Round(NamedTuple):
    """``in_time`` is the share of commits whose entries were in the streams within 20 ms; None with the streams off."""

    events_per_s: float
    preflight_p99_ms: float
    entries: float
    in_time: float | None
    arrivals_ms: list[float]


def run(run: Run) -> Iterator[Figure]:
    rounds: dict[str, list[Round]] = {"on": [], "off": []}
    for number in range(run.size(4, 1)):
        for live in ("on", "off") if number % 2 else ("off", "on"):
            run.say(f"live streams {live}")
            rounds[live].append(_round(run, live))
    on, off = rounds["on"], rounds["off"]
    in_time = [each.in_time for each in on if each.in_time is not None]
    arrivals = sorted(ms for each in on for ms in each.arrivals_ms)
    entries = sum(each.entries for each in on)
    yield Figure(
        name="commits with all entries in the streams within 20 ms",
        value=min(in_time),
        unit="share",
        promise=SHARE_IN_TIME,
        note=f"the worst of {len(on)} rounds; {entries:,.0f} entries",
    )
    beside = f"p99 {percentile(arrivals, 0.99):,.0f} ms"
    yield Figure(name="append to a reader, p50", value=percentile(arrivals, 0.5), unit="ms", beside=beside)
    rate_on, rate_off = (median(each.events_per_s for each in rows) for rows in (on, off))
    yield Figure(
        name="events a second with the streams, against without",
        value=rate_on / rate_off,
        unit="times",
        promise=RATE_KEPT,
        beside=f"with {rate_on:,.0f}, without {rate_off:,.0f} events/s",
    )
    p99_on, p99_off = (median(each.preflight_p99_ms for each in rows) for rows in (on, off))
    yield Figure(
        name="pre-flight p99 with the streams, against without",
        value=p99_on / p99_off,
        unit="times",
        promise=TIMES_PREFLIGHT,
        beside=f"with {p99_on:.1f} ms, without {p99_off:.1f} ms",
    )


def _round(run: Run, live: str) -> Round:
    environment = {"CLEARHOLD_LIVE": live}
    with (
        TemporaryDirectory(prefix=PREFIX) as folder,
        Service(Path(folder) / "data", environment=environment) as service,
    ):
        now = time.time_ns() // 1_000
        start_at = now - HISTORY_TRANSFERS * _HISTORY_STEP_US
        known = service.programs([traffic_of(f"p{number}", start_at) for number in range(PROGRAMS)])
        began = time.monotonic()
        give_history(run, service, known, at=now)
        events_per_s = PROGRAMS * HISTORY_TRANSFERS * 2 / (time.monotonic() - began)
        programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
        questions = Questions(programs, service.operator_token)
        feeds = [each.feed._replace(traffic=traffic_of(f"live{number}", now)) for number, each in enumerate(known)]
        with (
            PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S) as feeder,
            _reading(service, known) as arrivals,
        ):
            time.sleep(_SETTLE_S)
            before = service.metric(_DELAYS)
            arrivals.clear()
            asked = call(
                service.address,
                questions,
                callers=CONNECTIONS,
                count=run.size(6_000, 2_000),
                warm_up=200,
                per_second=ASKED_PER_S,
            ).require(201)
            delays = {name: value - before.get(name, 0) for name, value in service.metric(_DELAYS).items()}
            feeder.stop()
            ms = list(arrivals)
        entries = service.metric(_PUBLISHED)["_total"]
    in_time = delays[f"_bucket{WITHIN_S}"] / delays["_count"] if delays["_count"] else None
    return Round(events_per_s, percentile(asked.latencies_ms, 0.99), entries, in_time, ms)


@contextmanager
def _reading(service: Service, known: Sequence[Known]) -> Iterator[list[float]]:
    """Milliseconds from each entry's log time to its arrival here."""
    arrivals, ended = list[float](), Event()
    at: dict[Any, Any] = {stream_key(each.feed.program_id): "$" for each in known}

    def read() -> None:
        with closing(connect_sync(service.socket)) as client:
            while not ended.is_set():
                found: Any = client.xread(at, block=_BLOCK_MS)
                now_ms = time.time_ns() / 1_000_000
                for key, entries in found:
                    arrivals.extend(now_ms - int(entry.partition(b"-")[0]) for entry, _ in entries)
                    at[key.decode()] = entries[-1][0]

    thread = Thread(target=read, daemon=True)
    thread.start()
    try:
        yield arrivals
    finally:
        ended.set()
        thread.join()
