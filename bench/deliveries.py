"""How many events a second are delivered beside a thousand scored ones, and what do pre-flights notice of it?

Endpoints on this machine, without TLS, are sent each scoring of their programs. The same pre-flights are sent before
there is an endpoint and beside the deliveries. The events are put into the log: what it costs to take them in over HTTP
is not in the measurement, and the rate beside them is at most that of the scorings that are for endpoints, some 375 a
second. The delivery rate is measured at the end: deliveries wait, under a URL that nothing is sent to, and are then
all due at once, with nothing beside them; what one of them costs of the service's processor time is measured there too.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.callers import Tally, call
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import Feed, PacedFeeder
from bench.preflight import Questions
from bench.service import Known, Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.features.webhooks.delivery import LISTENED_URL

PROGRAMS: Final = 8
WITH_ENDPOINT: Final = 6
EVENTS_PER_S: Final = 1_000
PER_SECOND: Final = Promise(300, at_least=True)
P99_TIMES: Final = Promise(1.5)
CALLERS: Final = 4
PARTIES: Final = 1_000
_STEP_US: Final = 1_000_000 * PROGRAMS * 2 // EVENTS_PER_S
_SETTLE_S: Final = 2.0
_WITHIN_S: Final = 300
_POLL_S: Final = 0.02
_QUIET_S: Final = 3.0  # after which nothing more is expected
_READ_BYTES: Final = 65_536
_ACCEPTED: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def run(run: Run) -> Iterator[Figure]:
    count, waiting_s = run.size(20_000, 4_000), run.size(30, 8)
    os.environ["CLEARHOLD_ALLOW_LOCAL_WEBHOOKS"] = "1"  # of this process, which the service is started from
    with (
        TemporaryDirectory(prefix=PREFIX) as folder,
        _receiver() as (port, received),
        Service(Path(folder) / "data") as service,
    ):
        url = f"http://127.0.0.1:{port}/hooks"
        known = service.programs([_traffic(f"p{number}") for number in range(PROGRAMS)])
        run.say(f"asking beside {EVENTS_PER_S:,} events a second, without an endpoint")
        without, _ = _asked(service, known, "without", count, received)
        endpoints = [_registered(service, each, url) for each in known[:WITH_ENDPOINT]]
        run.say("asking beside the same, and their deliveries")
        beside, per_second = _asked(service, known, "beside", count, received)
        yield Figure(
            name=f"delivered beside {EVENTS_PER_S:,} events/s",
            value=per_second,
            unit="deliveries/s",
            promise=PER_SECOND,
        )
        p99, p99_without = (percentile(tally.latencies_ms, 0.99) for tally in (beside, without))
        note = f"{p99:.2f} ms beside deliveries, {p99_without:.2f} ms without"
        yield Figure(name="pre-flight p99", value=p99 / p99_without, unit="times", promise=P99_TIMES, note=note)
        run.say(f"having the deliveries of {waiting_s} s wait")
        _point(service, endpoints, LISTENED_URL)
        with PacedFeeder(service.socket, _feeds(known, "waiting"), per_second=EVENTS_PER_S):
            time.sleep(waiting_s)
        time.sleep(_SETTLE_S)
        run.say("delivering what waits")
        yield _drained(service, endpoints, url, received)


def _asked(
    service: Service, known: Sequence[Known], name: str, count: int, received: "Synchronized[int]"
) -> tuple[Tally, float]:
    """Pre-flights beside events at a fixed pace, and how many deliveries a second came meanwhile."""
    programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
    with PacedFeeder(service.socket, _feeds(known, name), per_second=EVENTS_PER_S) as feeder:
        time.sleep(_SETTLE_S)
        began, had = time.perf_counter(), received.value
        questions = Questions(programs, service.operator_token)
        tally = call(service.address, questions, callers=CALLERS, count=count, warm_up=500).require(201)
        per_second = (received.value - had) / (time.perf_counter() - began)
        feeder.stop()
    return tally, per_second


def _drained(service: Service, endpoints: Sequence[str], url: str, received: "Synchronized[int]") -> Figure:
    had, processor_s = received.value, service.processor_s()
    began = last_at = time.perf_counter()
    _point(service, endpoints, url)
    last = had
    while (now := time.perf_counter()) - last_at < _QUIET_S and now - began < _WITHIN_S:
        if received.value != last:
            last_at, last = now, received.value
        time.sleep(_POLL_S)
    each_ms = 1e3 * (service.processor_s() - processor_s) / max(1, last - had)
    return Figure(
        name="delivered of the waiting ones",
        value=(last - had) / (last_at - began),
        unit="deliveries/s",
        promise=PER_SECOND,
        note=f"{last - had:,} of them, {each_ms:.2f} ms of the processor each",
    )


def _traffic(name: str) -> Traffic:
    start_at = time.time_ns() // 1_000
    return Traffic(name, entities=PARTIES, counterparties=PARTIES, start_at=start_at, step_us=_STEP_US)


def _feeds(known: Sequence[Known], name: str) -> list[Feed]:
    return [each.feed._replace(traffic=_traffic(f"{name}{number}")) for number, each in enumerate(known)]


def _registered(service: Service, known: Known, url: str) -> str:
    """The id of an endpoint for a program's scorings."""
    body = {"url": url, "events": ["transfer.scored"], "programId": known.feed.program_id}
    with service.client() as client:
        endpoint_id: str = client.post("/api/webhooks", json=body).raise_for_status().json()["id"]
    return endpoint_id


def _point(service: Service, endpoints: Sequence[str], url: str) -> None:
    with service.client() as client:
        for endpoint_id in endpoints:
            client.patch(f"/api/webhooks/{endpoint_id}", json={"url": url}).raise_for_status()


@contextmanager
def _receiver() -> Iterator[tuple[int, "Synchronized[int]"]]:
    """A process that accepts everything: its port, and how many deliveries it has had."""
    context = get_context("spawn")
    port, received, listening = context.Value("i", 0), context.Value("i", 0), context.Event()
    process = context.Process(target=_receive, args=(port, received, listening), daemon=True)
    process.start()
    try:
        if not listening.wait(_WITHIN_S):
            raise SystemExit("The receiver did not start.")
        yield port.value, received
    finally:
        process.terminate()
        process.join()


def _receive(port: "Synchronized[int]", received: "Synchronized[int]", listening: Event) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(_READ_BYTES):
            received.value += 1
            writer.write(_ACCEPTED)
            await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port.value = server.sockets[0].getsockname()[1]
        listening.set()
        await server.serve_forever()

    asyncio.run(serve())
