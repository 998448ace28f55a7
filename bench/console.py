"""Is the console within its budgets at a bank that has 200 programs and 10,000 waiting alerts?

The bank is the one of ``bench lists``, and beside it a simulated program with all scenarios of the sandbox three times:
its stacks are the workspaces that are read, with their transfers, scores and explanations. Each page is read alone, for
the processor time that it costs the service: the stacks each for the first time, then all pages again and again, after
two reads that are not counted. Sizes are of the answers as ``gzip -6`` makes them. Then pre-flights are asked at random
times beside the events of four programs, in turns with and without ten analysts who read stacks and rows of the queue
at a human pace; the events make answers in memory old, as on any day. Where Chromium is installed, a browser works
through the queue by keys and by scrolling.

Unit    milliseconds; kB is 1,024 bytes
"""

import gzip
import http.client
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bench import lists
from bench.analysts import PART, QUEUE, ROWS, Analysts, ask, signed_in
from bench.callers import call
from bench.console_browser import browsed
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.preflight import CONNECTIONS, Questions, traffic_of
from bench.service import Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.features.core.canonical import json_text
from clearhold.store.duck.database import BatchWriter, open_database

TODAY: Final = Promise(150)
CHUNK: Final = Promise(40)
WORKSPACE: Final = Promise(150)
COLD: Final = Promise(60)
SHEET: Final = Promise(12)
SCRIPTS: Final = Promise(30)
WARM: Final = Promise(15)
TIMES_PREFLIGHT: Final = Promise(1.1)
ANALYSTS: Final = 10
ASKED_PER_S: Final = 100
EVENTS_PER_S: Final = 50
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
_ALONE: Final = 30
_SETTLED_S: Final = 5
_KB: Final = 1_024
_GZIP_LEVEL: Final = 6
_SIMULATED: Final = "sandbox"
_LIVE: Final = 4  # programs with events
_QUEUE_OF_100: Final = f"{QUEUE}?limit=100"
_SEEDS: Final = 3
_DRAFT: Final = json_text({"narrative": "The person paid eight times within a day. " * 20, "recommendation": "hold"})
_OF_STACKS: Final = "workspace.js"
_FILE: Final = re.compile(rb'(?:src|href)="(/console/static/[^"]+)"')
_STACK: Final = re.compile(rb'id="stack-([0-9a-f-]{36})"')
_NEXT: Final = re.compile(rb'rel="next" href="([^"]+)"|href="([^"]+)" rel="next"')


def run(run: Run) -> Iterator[Figure]:
    programs, waiting = run.size(lists.PROGRAMS, 20), run.size(lists.WAITING, 1_000)
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        known = service.programs(
            [Traffic(f"program{number}", entities=1, counterparties=1) for number in range(programs)]
        )
        ids = [each.feed.program_id for each in known]
        service.stop()
        run.say(f"writing {waiting:,} waiting alerts")
        with closing(open_database(service.database_path)) as database:
            lists.write_bank(
                BatchWriter(database),
                service.tenant_id,
                ids,
                waiting,
                now,
                draft=_DRAFT,
            )
        service.start()
        simulated = _stories(service)
        time.sleep(_SETTLED_S)
        headers = signed_in(service.address, service.operator_token, "bench@bank.example")
        with closing(http.client.HTTPConnection(*service.address)) as link:
            stories = [each.decode() for each in _STACK.findall(ask(link, simulated, headers)[1])]
        run.say(f"{len(stories)} stacks of the sandbox")
        yield from _pages(run, service, headers, stories, f"{programs} programs, {waiting:,} waiting alerts")
        feeds = [each.feed._replace(traffic=traffic_of(f"live{at}", now)) for at, each in enumerate(known[:_LIVE])]
        with PacedFeeder(service.socket, feeds, per_second=EVENTS_PER_S):
            programs_of = tuple((each, f"program{at}") for at, each in enumerate(ids))
            yield from _beside_preflights(run, service, stories, programs_of)
        chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
        if chromium is None:
            run.say("Chromium is not on PATH: the browser is not measured")
            return
        run.say("a browser works through the queue")
        yield from browsed(run, chromium, service.url, service.operator_token, simulated)


def _stories(service: Service) -> str:
    """Run all scenarios of the sandbox; the address of the queue with their stacks."""
    service.add_program(_SIMULATED, source="simulated")
    with service.client() as client:
        programs = client.get("/api/programs").raise_for_status().json()
        program_id = next(each["id"] for each in programs if each["slug"] == _SIMULATED)
        key = {"name": "bench", "mode": "test", "programId": program_id, "scopes": ["sandbox"]}
        secret = client.post("/api/keys", json=key).raise_for_status().json()["secret"]
        sent = {"Authorization": f"Bearer {secret}"}
        scenarios = client.get("/api/sandbox/scenarios", headers=sent).raise_for_status().json()
        for seed in range(_SEEDS):
            for each in scenarios:
                body = {"scenario": each["name"], "seed": seed}
                client.post(f"/api/sandbox/{program_id}/scenario", json=body, headers=sent).raise_for_status()
    return f"{QUEUE}?program={_SIMULATED}"


def _pages(run: Run, service: Service, headers: Mapping[str, str], stories: list[str], note: str) -> Iterator[Figure]:
    with closing(http.client.HTTPConnection(*service.address)) as link:
        _, queue = ask(link, _QUEUE_OF_100, headers)
        following = _NEXT.search(queue)
        assert following is not None, "the queue has further rows"
        rows = (following[1] or following[2]).decode().replace("&amp;", "&")
        began_s, part_of = service.processor_s(), dict(headers) | dict(PART)
        lengths = {each: len(ask(link, f"/console/stacks/{each}", part_of)[1]) for each in stories}
        yield Figure(
            name="a workspace for the first time, processor time",
            value=1e3 * (service.processor_s() - began_s) / len(stories),
            unit="ms",
            promise=WORKSPACE,
            note=f"the mean of {len(stories)}",
        )
        largest = max(stories, key=lengths.__getitem__)
        pages: tuple[tuple[str, str, Mapping[str, str], Promise | None], ...] = (
            ("Today", "/console/today", {}, TODAY),
            ("Programs", "/console/programs", {}, None),
            ("the queue with its head", _QUEUE_OF_100, {}, None),
            ("100 rows of the queue", rows, ROWS, CHUNK),
            ("a workspace", f"/console/stacks/{stories[0]}", PART, WORKSPACE),
            ("the largest workspace", f"/console/stacks/{largest}", PART, WORKSPACE),
        )
        sizes: dict[str, float] = {}
        count = run.size(_ALONE, 10)
        for name, path, part, promise in pages:
            sent = dict(headers) | dict(part)
            sizes[name] = max(_zipped(ask(link, path, sent)[1]) for _ in range(2))
            began_s = service.processor_s()
            latencies = sorted(ask(link, path, sent)[0] for _ in range(count))
            each_ms = 1e3 * (service.processor_s() - began_s) / count
            times = f"p50 {percentile(latencies, 0.5):.0f} ms, p95 {percentile(latencies, 0.95):.0f} ms of {count}"
            yield Figure(
                name=f"{name}, processor time", value=each_ms, unit="ms", promise=promise, beside=times, note=note
            )
        for name, size in sizes.items():
            whole = name in {"Today", "Programs", "100 rows of the queue", "a workspace"}
            yield Figure(name=f"{name}, zipped", value=size, unit="kB", promise=WARM if whole else None)
        yield from _files(link, headers, queue, sizes["the queue with its head"])


def _files(
    link: http.client.HTTPConnection, headers: Mapping[str, str], page: bytes, page_kb: float
) -> Iterator[Figure]:
    """What a browser without a cache reads for one page: the files that it names, and the modules that these import or
    that come with the first stack.
    """
    names = {each.decode() for each in _FILE.findall(page)}
    names |= {f"{each.rpartition('/')[0]}/{_OF_STACKS}" for each in names if each.endswith("/console.js")}
    read: dict[str, bytes] = {}
    while names - set(read):
        name = (names - set(read)).pop()
        read[name] = ask(link, name, headers)[1]
        folder = name.rpartition("/")[0]
        modules = re.findall(rb"""(?:from|import) ?['"]\./([a-z_]+\.js)['"]""", read[name])
        names |= {f"{folder}/{each.decode()}" for each in modules}
    sheets = sum(_zipped(each) for name, each in read.items() if name.endswith(".css"))
    scripts = sum(_zipped(each) for name, each in read.items() if name.endswith(".js"))
    yield Figure(name="the sheet, zipped", value=sheets, unit="kB", promise=SHEET)
    yield Figure(name="scripts, zipped", value=scripts, unit="kB", promise=SCRIPTS, note=f"{len(read)} files in all")
    yield Figure(name="the queue without a cache, zipped", value=page_kb + sheets + scripts, unit="kB", promise=COLD)


def _zipped(body: bytes) -> float:
    return len(gzip.compress(body, _GZIP_LEVEL)) / _KB


def _beside_preflights(
    run: Run, service: Service, stacks: list[str], programs: tuple[tuple[str, str], ...]
) -> Iterator[Figure]:
    sessions = [
        signed_in(service.address, service.operator_token, f"analyst{at}@bank.example") for at in range(ANALYSTS)
    ]
    questions = Questions(programs, service.operator_token)
    p99: dict[bool, list[float]] = {False: [], True: []}
    read_ms: list[float] = []

    def asked() -> float:
        answers = call(
            service.address,
            questions,
            callers=CONNECTIONS,
            count=run.size(3_000, 1_500),
            warm_up=100,
            per_second=ASKED_PER_S,
        ).require(201)
        return percentile(answers.latencies_ms, 0.99)

    for number in range(run.size(4, 1)):
        for beside in (True, False) if number % 2 else (False, True):
            run.say(f"pre-flights {'beside ten analysts' if beside else 'alone'}")
            if not beside:
                p99[False].append(asked())
                continue
            with Analysts(service.address, sessions, stacks) as analysts:
                p99[True].append(asked())
                read_ms += analysts.stop()
    read_ms.sort()
    with_ms, without_ms = median(p99[True]), median(p99[False])
    yield Figure(
        name="pre-flight p99 beside ten analysts, against without",
        value=with_ms / without_ms,
        unit="times",
        promise=TIMES_PREFLIGHT,
        beside=f"with {with_ms:.1f} ms, without {without_ms:.1f} ms",
        note=f"medians of {len(p99[True])} rounds; {len(read_ms)} answers to analysts, "
        f"p95 {percentile(read_ms, 0.95):.0f} ms",
    )
