"""How many events a second does the service deliver to endpoints, while it takes in webhooks as fast as it can?

An endpoint for each program, on this machine and without TLS, is told of each scoring. The clock runs from the first
event sent to the last delivery received.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx

from bench.callers import call
from bench.harness import Figure, Promise, Run
from bench.service import OPERATOR, Known, Service
from bench.stream_events import Traffic
from bench.webhooks import Deliveries
from bench.workbench import PREFIX

PROGRAMS: Final = 4
CONNECTIONS: Final = 8
PER_SECOND: Final = 300
_WITHIN_S: Final = 300
_POLL_S: Final = 0.02
_QUIET_S: Final = 3.0  # after which nothing more is expected
_READ_BYTES: Final = 65_536
_US: Final = 1_000_000
_ACCEPTED: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def run(run: Run) -> Iterator[Figure]:
    count = run.size(20_000, 2_000)
    os.environ["CLEARHOLD_ALLOW_LOCAL_WEBHOOKS"] = "1"  # of this process, which the service is started from
    with (
        TemporaryDirectory(prefix=PREFIX) as folder,
        _receiver() as (port, received),
        Service(Path(folder) / "data") as service,
    ):
        start_at = time.time_ns() // 1_000 - 3_600 * _US
        known = service.programs(
            [
                Traffic(f"p{number}", entities=1_000, counterparties=2_000, start_at=start_at, step_us=100_000)
                for number in range(PROGRAMS)
            ]
        )
        _register(service, known, port)
        run.say(f"taking in {count:,} events over {CONNECTIONS} connections, and delivering each")
        began = time.perf_counter()
        programs = tuple((each.feed.program_id, each.secret, each.feed.traffic.name) for each in known)
        tally = call(service.address, Deliveries(programs, start_at), callers=CONNECTIONS, count=count, warm_up=1)
        tally.require(200)
        last_at, last = time.perf_counter(), -1
        while (now := time.perf_counter()) - last_at < _QUIET_S and now - began < _WITHIN_S:
            if received.value != last:
                last_at, last = now, received.value
            time.sleep(_POLL_S)
        seconds = last_at - began
        yield Figure(
            name=f"delivered to {PROGRAMS} endpoints",
            value=received.value / seconds,
            unit="deliveries/s",
            promise=Promise(PER_SECOND, at_least=True),
            note=f"{received.value:,} deliveries; {tally.per_second:,.0f} events/s taken in meanwhile",
        )


def _register(service: Service, known: list[Known], port: int) -> None:
    headers = {"Authorization": f"Bearer {service.operator_token}", "X-Operator": OPERATOR}
    with httpx.Client(base_url=service.url, headers=headers) as client:
        for each in known:
            body = {
                "url": f"http://127.0.0.1:{port}/{each.feed.program_id}",
                "events": ["transfer.scored"],
                "programId": each.feed.program_id,
            }
            client.post("/api/webhooks", json=body).raise_for_status()


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
