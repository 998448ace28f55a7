"""How soon after its commit is an event in Redis, and what do the live streams cost the stream and pre-flights?

In each round two services, with ``--live on`` and ``--live off``, have separate stores. Each first scores a history as
fast as it can. Then they take turns of some seconds: one takes 1,000 events a second while pre-flights are asked at
random times, and the other has nothing to do. A reader waits for the entries of all programs meanwhile, with XREAD on
one connection.

A disk that stalls for half a second holds up a hundredth of the pre-flights of a turn. So the p99 of a side is the
median of its turns.

Unit    milliseconds; the delay behind the commit is the service's own histogram, so its share is of ranges
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final

from bench.callers import call
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.preflight import CONNECTIONS, HISTORY_TRANSFERS, PROGRAMS, Questions, give_history, traffic_of
from bench.service import Known, Service
from bench.workbench import PREFIX
from clearhold.store.live.entries import stream_key
from clearhold.store.redis_log.connect import connect_sync

EVENTS_PER_S: Final = 1_000
ASKED_PER_S: Final = 200
WITHIN_S: Final = 0.02
SHARE_IN_TIME: Final = Promise(0.99, at_least=True)
RATE_KEPT: Final = Promise(0.95, at_least=True)
TIMES_PREFLIGHT: Final = Promise(1.05)
ASKED_A_TURN: Final = 1_500
_DELAYS: Final = "clearhold_live_delay_seconds"
_PUBLISHED: Final = "clearhold_live_published_entries"
_HISTORY_STEP_US: Final = 16_000
_SETTLE_S: Final = 2.0
_BLOCK_MS: Final = 100


class _Side:
    """One service of a round, with its measurements."""

    def __init__(self, run: Run, live: str, opened: ExitStack) -> None:
        folder = opened.enter_context(TemporaryDirectory(prefix=PREFIX))
        environment = {"CLEARHOLD_LIVE": live}
        self.live = live
        self._service = opened.enter_context(Service(Path(folder) / "data", environment=environment))
        now = time.time_ns() // 1_000
        start_at = now - HISTORY_TRANSFERS * _HISTORY_STEP_US
        self._known = self._service.programs([traffic_of(f"p{number}", start_at) for number in range(PROGRAMS)])
        began = time.monotonic()
        give_history(run, self._service, self._known, at=now)
        self.events_per_s = PROGRAMS * HISTORY_TRANSFERS * 2 / (time.monotonic() - began)
        programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in self._known)
        self._questions = Questions(programs, self._service.operator_token)
        self._delays: Counter[str] = Counter()
        self.latencies_ms: list[float] = []
        self.p99s_ms: list[float] = []
        """One for each turn."""
        self.arrivals_ms: list[float] = []

    def turn(self, number: int, asked: int) -> None:
        """Some seconds of events and pre-flights."""
        service, now = self._service, time.time_ns() // 1_000
        feeds = [
            each.feed._replace(traffic=traffic_of(f"live{number}x{place}", now))
            for place, each in enumerate(self._known)
        ]
        with (
            PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S) as feeder,
            _reading(service, self._known) as arrivals,
        ):
            time.sleep(_SETTLE_S)
            before = service.metric(_DELAYS)
            arrivals.clear()
            tally = call(
                service.address,
                self._questions,
                callers=CONNECTIONS,
                count=asked,
                warm_up=100,
                per_second=ASKED_PER_S,
            ).require(201)
            for name, value in service.metric(_DELAYS).items():
                self._delays[name] += value - before.get(name, 0)  # type: ignore[assignment]
            feeder.stop()
            self.arrivals_ms += arrivals
        self.latencies_ms += tally.latencies_ms
        self.p99s_ms.append(percentile(tally.latencies_ms, 0.99))

    @property
    def in_time(self) -> float | None:
        """The share of commits whose entries were in the streams within 20 ms; None with the streams off."""
        return self._delays[f"_bucket{WITHIN_S}"] / self._delays["_count"] if self._delays["_count"] else None

    def entries(self) -> float:
        return self._service.metric(_PUBLISHED)["_total"]


def run(run: Run) -> Iterator[Figure]:
    rounds: dict[str, list[_Side]] = {"on": [], "off": []}
    entries = 0.0
    for number in range(run.size(4, 1)):
        with ExitStack() as opened:
            order = ("on", "off") if number % 2 else ("off", "on")
            sides = [_Side(run, live, opened) for live in order]
            for turn in range(run.size(6, 2)):
                for side in sides if turn % 2 else reversed(sides):
                    run.say(f"round {number + 1}, turn {turn + 1}, live streams {side.live}")
                    side.turn(turn, ASKED_A_TURN)
            for side in sides:
                rounds[side.live].append(side)
                entries += side.entries() if side.live == "on" else 0
    on, off = rounds["on"], rounds["off"]
    in_time = [each.in_time for each in on if each.in_time is not None]
    shares = ", ".join(f"{share:.3f}" for share in in_time)
    arrivals = sorted(ms for each in on for ms in each.arrivals_ms)
    yield Figure(
        name="commits with all entries in the streams within 20 ms",
        value=min(in_time),
        unit="share",
        promise=SHARE_IN_TIME,
        note=f"the worst of {len(on)} rounds ({shares}); {entries:,.0f} entries",
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
    p99s_on, p99s_off = ([ms for each in rows for ms in each.p99s_ms] for rows in (on, off))
    p99_on, p99_off = median(p99s_on), median(p99s_off)
    yield Figure(
        name="pre-flight p99 with the streams, against without",
        value=p99_on / p99_off,
        unit="times",
        promise=TIMES_PREFLIGHT,
        beside=f"with {p99_on:.1f} ms, without {p99_off:.1f} ms",
        note=f"medians of {len(p99s_on)} turns each ({_range(p99s_on)} and {_range(p99s_off)} ms), "
        f"each turn of {ASKED_A_TURN:,} pre-flights",
    )
    for share in (0.5, 0.9):
        one, other = (percentile(sorted(ms for each in rows for ms in each.latencies_ms), share) for rows in (on, off))
        beside = f"with {one:.1f} ms, without {other:.1f} ms"
        yield Figure(name=f"pre-flight p{share * 100:.0f}, likewise", value=one / other, unit="times", beside=beside)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}"


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
