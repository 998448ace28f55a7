"""What do 500 readers of the feed cost pre-flights?

One service takes 1,000 events a second while pre-flights are asked at random times, in turns with and without readers
that follow alerts, dispositions and actions, as consoles do. The readers are one further process, which takes the bytes
and counts the events; its processor time is part of the cost.

Unit    milliseconds; events that readers got, all together
"""

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bench.callers import call
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.preflight import CONNECTIONS, HISTORY_TRANSFERS, PROGRAMS, Questions, give_history, traffic_of
from bench.service import OPERATOR, Service
from bench.workbench import PREFIX

READERS: Final = 500
EVENTS_PER_S: Final = 1_000
ASKED_PER_S: Final = 200
TIMES_PREFLIGHT: Final = Promise(1.1)
_KINDS: Final = "alert.opened,alert.changed,disposition.created,action.changed"
_HISTORY_STEP_US: Final = 16_000
_SETTLE_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.05
_BYTES: Final = 65_536
_WITHIN_S: Final = 60.0


def run(run: Run) -> Iterator[Figure]:
    p99_ms: dict[int, list[float]] = {0: [], READERS: []}
    events = 0
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        start_at = now - HISTORY_TRANSFERS * _HISTORY_STEP_US
        known = service.programs([traffic_of(f"p{number}", start_at) for number in range(PROGRAMS)])
        give_history(run, service, known, at=now)
        programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
        questions = Questions(programs, service.operator_token)
        feeds = [each.feed._replace(traffic=traffic_of(f"live{number}", now)) for number, each in enumerate(known)]
        with PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S):
            for number in range(run.size(4, 1)):
                for readers in (0, READERS) if number % 2 == 0 else (READERS, 0):
                    run.say(f"{readers} readers")
                    with _reading(service, readers) as counts:
                        time.sleep(_SETTLE_S)
                        asked = call(
                            service.address,
                            questions,
                            callers=CONNECTIONS,
                            count=run.size(4_000, 2_000),
                            warm_up=200,
                            per_second=ASKED_PER_S,
                        ).require(201)
                    p99_ms[readers].append(percentile(asked.latencies_ms, 0.99))
                    events += sum(counts)
    with_readers, without = median(p99_ms[READERS]), median(p99_ms[0])
    yield Figure(
        name=f"pre-flight p99 with {READERS} readers, against without",
        value=with_readers / without,
        unit="times",
        promise=TIMES_PREFLIGHT,
        beside=f"with {with_readers:.1f} ms, without {without:.1f} ms",
        note=f"{events:,} events read",
    )


@contextmanager
def _reading(service: Service, readers: int) -> Iterator[list[int]]:
    """Gives the number of events that were read, once the block has ended."""
    counts: list[int] = []
    if not readers:
        yield counts
        return
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(
        target=_read, args=(service.address, service.operator_token, readers, theirs), daemon=True
    )
    process.start()
    try:
        if not ours.poll(_WITHIN_S) or ours.recv() != readers:
            raise SystemExit("The readers did not get through.")
        yield counts
        ours.send(None)
        if ours.poll(_WITHIN_S):
            counts.append(ours.recv())
    finally:
        process.terminate()
        process.join()


def _read(address: tuple[str, int], token: str, readers: int, control: Connection) -> None:
    """In a process: open the answers, say how many there are, read until asked, and say how many events came."""
    head = (
        f"GET /api/live?kind={_KINDS} HTTP/1.1\r\nHost: {address[0]}\r\n"
        f"Authorization: Bearer {token}\r\nX-Operator: {OPERATOR}\r\n\r\n"
    )
    selector = selectors.DefaultSelector()
    opened = 0
    for _ in range(readers):
        link = socket.create_connection(address, timeout=_WITHIN_S)
        link.sendall(head.encode())
        opened += b"200 OK" in link.recv(_BYTES)
        selector.register(link, selectors.EVENT_READ)
        time.sleep(0.006)  # below the limit of reads a second
    control.send(opened)
    events = 0
    while not control.poll():
        for key, _ in selector.select(_LOOK_EVERY_S):
            assert isinstance(key.fileobj, socket.socket), "only connections are registered"
            events += key.fileobj.recv(_BYTES).count(b"\nevent: ")
    control.send(events)
    time.sleep(_WITHIN_S)
