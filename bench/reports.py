"""How long do reports and metrics take over five million transfers, and what do they cost the pre-flights beside them?

One program has all the transfers, spread over the last 60 days; some of its alerts were decided. The first half million
at most goes through the log of a real ``clearhold serve``, each event at its own instant. Then the service is stopped,
the rows that reports read are copied until there are as many as wanted (``bench/copies.py``), and it is started again.
What a report wants of the program's owner is totals by day, which cost the same whatever they count, but for one
integer for each alert that a person decided in the period.

First each report is read by itself, for the processor time that it costs the service: others on the machine change it
little. Then 2,000 events a second come in for the program and seven others, and four callers send pre-flights, in turns
of alike length with and without two readers, each with a new report half a second after the last. A
million transfers unless ``--transfers`` says otherwise; the promise is for five million.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.callers import call
from bench.copies import multiply_in
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder, append_all, interleaved
from bench.meanwhile import Meanwhile
from bench.preflight import CALLERS, EVENTS_PER_S, PARTIES, PROGRAMS, Questions
from bench.readers import Readers, read_in_turn
from bench.restart import Feeding
from bench.service import Known, Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.features.core.instants import DAY_US
from clearhold.store.redis_log.connect import connect_sync

READERS: Final = 2
TURNS: Final = 3
HISTORY_US: Final = 60 * DAY_US
TRANSFERS_A_PARTY: Final = 100
TIMES_ALONE: Final = Promise(1.5)
BESIDE_PER_S: Final = Promise(0.95 * EVENTS_PER_S, at_least=True)
_PROMISES: Final = {
    "program report": Promise(300),
    "weekly report": Promise(300),
    "weekly report, html": Promise(300),
    "metrics": Promise(500),
    "metrics of a program": Promise(500),
}
_MOST_FED: Final = 500_000
_SMALL_TRANSFERS: Final = 500
_STEP_US: Final = 1_000_000 * PROGRAMS * 2 // EVENTS_PER_S
_SETTLE_S: Final = 2.0
_PAGE: Final = 100
_ALONE: Final = 40


def run(run: Run) -> Iterator[Figure]:
    wanted = run.asked.transfers or run.size(1_000_000, 20_000)
    times = -(-wanted // run.size(_MOST_FED, 5_000))
    fed = wanted // times
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        known = service.programs([_large(fed, now), *(_small(number, now) for number in range(1, PROGRAMS))])
        _give_history(run, service, known, fed)
        headers = service.operator_headers
        decided = _decide(run, service, run.size(500, 20))
        program_id = known[0].feed.program_id
        rows = multiply_in(run, service, program_id, times)
        yield Figure(name="rows of the program", value=sum(rows.values()), unit="", note=_listed(rows))
        yield from _read_alone(run, service, headers, _paths(program_id))
        cores = f"on {os.cpu_count()} cores, before the events and pre-flights of this benchmark"
        yield Figure(name="load average", value=os.getloadavg()[0], unit="", note=cores)
        feeds = [each.feed._replace(traffic=_stream(f"live{number}", now)) for number, each in enumerate(known)]
        with PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S) as feeder:
            began = time.monotonic()
            time.sleep(_SETTLE_S)
            with Meanwhile(service, Path(folder) / "synced") as meanwhile:
                without, beside, read = _in_turns(run, service, known, headers)
            per_second = feeder.stop() / (time.monotonic() - began)
    note = f"{fed * times:,} transfers, {fed:,} of them fed, the others copies; {decided:,} alerts decided before that"
    yield from _reads(read, note)
    yield from _preflights(without, beside)
    yield Figure(name="events beside them", value=per_second, unit="events/s", promise=BESIDE_PER_S)
    yield from meanwhile.figures()


def _read_alone(run: Run, service: Service, headers: Mapping[str, str], paths: Mapping[str, str]) -> Iterator[Figure]:
    """Each path by itself, so often in a row: what it costs the process that takes requests."""
    count = run.size(_ALONE, 5)
    for name, path in paths.items():
        read_in_turn(service.address, path, headers, count=2)
        began_s = service.processor_s()
        latencies = sorted(read_in_turn(service.address, path, headers, count=count))
        each_ms = 1e3 * (service.processor_s() - began_s) / count
        yield Figure(
            name=f"{name} alone, processor time",
            value=each_ms,
            unit="ms",
            promise=_PROMISES[name],
            beside=f"p50 {percentile(latencies, 0.5):.0f} ms, p95 {percentile(latencies, 0.95):.0f} ms of {count}",
        )


def _in_turns(
    run: Run, service: Service, known: list[Known], headers: Mapping[str, str]
) -> tuple[list[float], list[float], dict[str, list[float]]]:
    """Pre-flights without readers, pre-flights beside them, and the reads; milliseconds."""
    count, warm_up = run.size(6_000, 800), 200
    programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
    questions = Questions(programs, service.operator_token)
    without, beside, read = list[float](), list[float](), dict[str, list[float]]()
    for turn in range(1, TURNS + 1):
        run.say(f"turn {turn} of {TURNS}: pre-flights without readers, then beside {READERS}")
        without += (
            call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201).latencies_ms
        )
        with Readers(service.address, _paths(known[0].feed.program_id), headers, count=READERS) as readers:
            tally = call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201)
            beside += tally.latencies_ms
            for name, latencies in readers.stop().items():
                read.setdefault(name, []).extend(latencies)
    return sorted(without), sorted(beside), {name: sorted(latencies) for name, latencies in read.items()}


def _paths(program_id: str) -> dict[str, str]:
    """What each reader asks for; the names are those of the promises."""
    weekly = f"/api/reports/weekly/{program_id}"
    return {
        "program report": f"/api/reports/program/{program_id}",
        "weekly report": weekly,
        "weekly report, html": f"{weekly}?format=html",
        "metrics": "/api/metrics",
        "metrics of a program": f"/api/metrics?programId={program_id}",
    }


def _give_history(run: Run, service: Service, known: list[Known], transfers: int) -> None:
    large, *small = (each.feed for each in known)
    with closing(connect_sync(service.socket)) as client:
        count = len(small) * _SMALL_TRANSFERS * 2
        append_all(client, interleaved(small, count=count), appended_at=time.time_ns() // 1_000, done=lambda _: None)
    Feeding(service, [large], in_their_time=True).feed_all(run, transfers)


def _decide(run: Run, service: Service, count: int) -> int:
    """Decide some of the open alerts, as a person does; how many there were."""
    decided = 0
    with service.client() as client, run.counting("alerts decided", count) as done:
        while decided < count:
            query = {"status": "open", "limit": str(min(_PAGE, count - decided))}
            alerts = client.get("/api/alerts", params=query).raise_for_status().json()["data"]
            for alert in alerts:
                body = {"decision": ("close", "no_action")[decided % 2], "narrative": "Looked at by the benchmark."}
                client.post(f"/api/alerts/{alert['id']}/decide", json=body).raise_for_status()
                decided += 1
                done(1)
            if not alerts:
                break
    return decided


def _large(transfers: int, now: int) -> Traffic:
    parties = max(PARTIES, transfers // TRANSFERS_A_PARTY)
    step_us = HISTORY_US // transfers
    return Traffic("large", entities=parties, counterparties=parties * 2, start_at=now - HISTORY_US, step_us=step_us)


def _small(number: int, now: int) -> Traffic:
    return _stream(f"small{number}", now - _SMALL_TRANSFERS * _STEP_US)


def _stream(name: str, start_at: int) -> Traffic:
    return Traffic(name, entities=PARTIES, counterparties=PARTIES, start_at=start_at, step_us=_STEP_US)


def _reads(read: Mapping[str, list[float]], note: str) -> Iterator[Figure]:
    for name, latencies in read.items():
        yield Figure(
            name=f"{name}, p95",
            value=percentile(latencies, 0.95),
            unit="ms",
            promise=_PROMISES[name],
            beside=f"p50 {percentile(latencies, 0.5):.0f} ms of {len(latencies):,}",
            note=note,
        )


def _listed(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{table} {count:,}" for table, count in rows.items())


def _preflights(alone: list[float], beside: list[float]) -> Iterator[Figure]:
    for share, promise in ((0.5, None), (0.99, TIMES_ALONE)):
        without, with_readers = percentile(alone, share), percentile(beside, share)
        yield Figure(
            name=f"pre-flights beside readers against without, p{100 * share:.0f}",
            value=with_readers / without,
            unit="times",
            promise=promise,
            beside=f"{with_readers:.2f} ms beside {READERS} readers, {without:.2f} ms without",
        )
