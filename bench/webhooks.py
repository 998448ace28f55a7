"""How many signed webhooks a second does the service take in, verified and durable before it answers?

Keep-alive connections, each with its next event when the last one was answered. Signing is done before the clock
runs. The flow scores the events at the same time, on the same cores.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench.callers import call, post
from bench.harness import Figure, Run, percentile
from bench.service import Known, Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.client.answers import SIGNATURE_HEADER, ingest_path, sign

CONNECTIONS: Final = (8, 32)
PROGRAMS: Final = 4
_US: Final = 1_000_000


class Deliveries(msgspec.Struct, frozen=True):
    """Signed events, one program after the other: (program id, secret, name of the traffic) each."""

    programs: tuple[tuple[str, str, str], ...]
    start_at: int

    def made(self, count: int) -> Iterator[bytes]:
        sources = [
            (ingest_path(program_id), secret, _traffic(name, self.start_at).events())
            for program_id, secret, name in self.programs
        ]
        for index in range(count):
            path, secret, events = sources[index % len(sources)]
            body = next(events).body
            yield post(path, body, f"{SIGNATURE_HEADER}: {sign(secret, body)}")


def run(run: Run) -> Iterator[Figure]:
    count = run.size(20_000, 4_000)
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        start_at = time.time_ns() // 1_000 - 3_600 * _US
        names = [f"c{connections}p{number}" for connections in CONNECTIONS for number in range(PROGRAMS)]
        known = iter(service.programs([_traffic(name, start_at) for name in names]))
        for connections in CONNECTIONS:
            run.say(f"delivering over {connections} connections")
            deliveries = Deliveries(tuple(_named(each) for each in islice(known, PROGRAMS)), start_at)
            tally = call(service.address, deliveries, callers=connections, count=count, warm_up=500).require(200)
            p50, p99 = (percentile(tally.latencies_ms, share) for share in (0.5, 0.99))
            yield Figure(
                name=f"taken in over {connections} connections",
                value=tally.per_second,
                unit="webhooks/s",
                note=f"p50 {p50:.1f} ms, p99 {p99:.1f} ms",
            )


def _named(known: Known) -> tuple[str, str, str]:
    return known.feed.program_id, known.secret, known.feed.traffic.name


def _traffic(name: str, start_at: int) -> Traffic:
    return Traffic(name, entities=1_000, counterparties=2_000, start_at=start_at, step_us=100_000)
