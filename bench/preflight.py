"""How long does a pre-flight take over HTTP, recorded durably, beside an idle flow and beside a busy one?

One caller and then four, each with its next question when it has its answer, against ``clearhold serve``; four fill
two cores, and a faster service answers more of them at a time. So beside the busy flow it is also asked at random
times, at a fixed rate whatever it answers. The echo endpoint is the same framework and server doing nothing, with four
callers. Beside the busy flow, events come straight into the log's Redis, so that the figure is the flow's and not
the webhook's share of the event loop. An answer waits for an fsync, so the disk's own is measured beside it: 814 bytes
appended and synced, idle, one after the other. Possible causes of the tail beside the busy flow are counted while four
callers ask: commits, snapshots, and the disk's fsync then.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench.callers import Tally, call, post
from bench.echo import echoing
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import Feed, PacedFeeder, append_all
from bench.meanwhile import Meanwhile, fsync_ms
from bench.service import OPERATOR, Known, Service
from bench.stream_events import Made, Traffic
from bench.workbench import PREFIX
from clearhold.store.redis_log.connect import connect_sync

CALLERS: Final = 4
CONNECTIONS: Final = 32
ASKED_PER_S: Final = 500
FSYNCS: Final = 500
ANSWER_BYTES: Final = 814  # a recorded pre-flight
EVENTS_PER_S: Final = 2_000
PROGRAMS: Final = 8
PARTIES: Final = 1_000
HISTORY_TRANSFERS: Final = 2_000
FSYNCS_OF_ONE: Final = 2
REST_OF_ONE_MS: Final = 1.5
IDLE_P50_MS: Final = Promise(2)
IDLE_P99_MS: Final = Promise(6)
TIMES_ECHO: Final = Promise(3)
LOADED_P99_MS: Final = Promise(10)
LOADED_P999_MS: Final = Promise(30)
BESIDE_PER_S: Final = Promise(0.95 * 2_000, at_least=True)
_STEP_US: Final = 1_000_000 * PROGRAMS * 2 // EVENTS_PER_S
_HISTORY_WITHIN_S: Final = 300
_SETTLE_S: Final = 2.0


class Questions(msgspec.Struct, frozen=True):
    """Proposed transfers of the programs' own entities and counterparties, each question once."""

    programs: tuple[tuple[str, str], ...]  # program id and the name of its traffic
    token: str

    def made(self, count: int) -> Iterator[bytes]:
        chance = Random(count)
        for index in range(count):
            program_id, name = self.programs[index % len(self.programs)]
            entity = chance.randrange(PARTIES)
            transfer = {
                "rail": "ach",
                "direction": "outgoing",
                "type": "CREDIT",
                "amountCents": str(int(chance.lognormvariate(10, 1.2)) + 1),
                "entityId": f"enti_{name}_{entity}",
                "counterpartyId": f"cpty_{name}_{entity * 7 % PARTIES}",
            }
            body = msgspec.json.encode({"programId": program_id, "transfer": transfer})
            yield post("/api/preflight", body, f"Authorization: Bearer {self.token}", f"X-Operator: {OPERATOR}")


def run(run: Run) -> Iterator[Figure]:
    count, warm_up = run.size(20_000, 4_000), 500
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        start_at = now - HISTORY_TRANSFERS * _STEP_US
        known = service.programs([traffic_of(f"p{number}", start_at) for number in range(PROGRAMS)])
        give_history(run, service, known, at=now)
        programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
        questions = Questions(programs, service.operator_token)
        run.say("asking beside an idle flow, one at a time")
        alone = call(service.address, questions, callers=1, count=count // 4, warm_up=warm_up).require(201)
        run.say("asking beside an idle flow")
        idle = call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201)
        run.say("syncing a file")
        fsync_ms = _fsyncs_ms(Path(folder) / "synced")
        with echoing() as address:
            run.say("asking the echo endpoint")
            echo = call(address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201)
        feeds = [each.feed._replace(traffic=traffic_of(f"live{number}", now)) for number, each in enumerate(known)]
        with PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S) as feeder:
            began = time.monotonic()
            time.sleep(_SETTLE_S)
            run.say(f"asking beside {EVENTS_PER_S:,} events a second")
            with Meanwhile(service, Path(folder) / "synced") as meanwhile:
                loaded = call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201)
            run.say(f"asking {ASKED_PER_S:,} times a second beside {EVENTS_PER_S:,} events a second")
            paced = call(
                service.address,
                questions,
                callers=CONNECTIONS,
                count=count // 2,
                warm_up=warm_up,
                per_second=ASKED_PER_S,
            ).require(201)
            per_second = feeder.stop() / (time.monotonic() - began)
    for share, label in ((0.5, "p50"), (0.99, "p99")):
        promise = Promise(FSYNCS_OF_ONE * percentile(fsync_ms, share) + REST_OF_ONE_MS)
        value = percentile(alone.latencies_ms, share)
        yield Figure(name=f"idle, one caller, {label}", value=value, unit="ms", promise=promise)
    yield from _figures(idle, loaded, echo)
    for share, label in ((0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")):
        value = percentile(paced.latencies_ms, share)
        note = f"{paced.per_second:,.0f} questions/s at random times" if share == 0.5 else ""
        yield Figure(name=f"loaded and paced, {label}", value=value, unit="ms", note=note)
    beside = f"p99 {percentile(fsync_ms, 0.99):.2f} ms"
    yield Figure(name="the disk's fsync, p50", value=percentile(fsync_ms, 0.5), unit="ms", beside=beside)
    yield Figure(name="events beside the loaded ones", value=per_second, unit="events/s", promise=BESIDE_PER_S)
    yield from meanwhile.figures()


def _fsyncs_ms(path: Path) -> list[float]:
    with path.open("ab", buffering=0) as file:
        return sorted(fsync_ms(file, ANSWER_BYTES) for _ in range(FSYNCS))


def give_history(run: Run, service: Service, known: list[Known], *, at: int) -> None:
    """Enough of the past that scores have something to look at."""
    count = PROGRAMS * HISTORY_TRANSFERS * 2
    newest: dict[str, Made] = {}

    def bodies() -> Iterator[tuple[Feed, bytes]]:
        sources = [(each.feed, each.feed.traffic.events()) for each in known]
        for index in range(count):
            feed, events = sources[index % len(sources)]
            made = next(events)
            newest[feed.program_id] = max(made, newest.get(feed.program_id, made), key=attrgetter("transfer"))
            yield feed, made.body

    with run.counting("history", count) as done, closing(connect_sync(service.socket)) as client:
        append_all(client, bodies(), appended_at=at, done=done)
    for made in newest.values():
        service.wait_for(made.transfer_id, within_s=_HISTORY_WITHIN_S)


def traffic_of(name: str, start_at: int) -> Traffic:
    return Traffic(name, entities=PARTIES, counterparties=PARTIES, start_at=start_at, step_us=_STEP_US)


def _figures(idle: Tally, loaded: Tally, echo: Tally) -> Iterator[Figure]:
    echo_p50 = percentile(echo.latencies_ms, 0.5)
    beside = f"echo p50 {echo_p50:.2f} ms, p99 {percentile(echo.latencies_ms, 0.99):.2f} ms"
    rows: tuple[tuple[str, Tally, float, Promise | None], ...] = (
        ("idle, p50", idle, 0.5, IDLE_P50_MS),
        ("idle, p99", idle, 0.99, IDLE_P99_MS),
        ("idle, p99.9", idle, 0.999, None),
        ("loaded, p50", loaded, 0.5, None),
        ("loaded, p99", loaded, 0.99, LOADED_P99_MS),
        ("loaded, p99.9", loaded, 0.999, LOADED_P999_MS),
    )
    for name, tally, share, promise in rows:
        value = percentile(tally.latencies_ms, share)
        yield Figure(
            name=name,
            value=value,
            unit="ms",
            promise=promise,
            ratio=value / percentile(echo.latencies_ms, share),
            note=f"{tally.per_second:,.0f} answers/s to {CALLERS} callers" if share == 0.5 else "",
        )
    times = percentile(idle.latencies_ms, 0.5) / echo_p50
    yield Figure(name="idle against echo, p50", value=times, unit="times", promise=TIMES_ECHO, beside=beside)
