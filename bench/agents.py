"""What does an import of agents cost the pre-flights beside it, and how long does it take?

A simulated scan index serves 10,000 agents and a million settlements to ``clearhold serve``, while the bank's events
come in and callers ask for pre-flights, each with its next question when it has its answer. The same callers beside the
same events without an import are what that is held against.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import httpx

from bench.callers import Tally, call
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.preflight import PARTIES, PROGRAMS, Questions
from bench.service import Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.demo.scan_index import ScanIndex
from clearhold.features.core.instants import DAY_US, SECOND_US, format_instant
from tests.support.scan_items import a_settlement, address, an_agent

TIMES_ALONE: Final = Promise(1.5)
CALLERS: Final = 2
EVENTS_PER_S: Final = 200
PAYERS: Final = 50_000
PAGE: Final = 500
_SETTLE_S: Final = 2.0
_POLL_S: Final = 0.2
_WITHIN_S: Final = 3_600
_STEP_US: Final = SECOND_US * PROGRAMS * 2 // EVENTS_PER_S


class Settlements:
    """Pages of settlements, made as they are asked for, in the order of time."""

    def __init__(self, *, agents: int, settlements: int, now: int) -> None:
        self._agents, self._settlements = agents, settlements
        self._step = 30 * DAY_US // settlements
        self._first = now - 30 * DAY_US

    def page(self, cursor: str | None) -> dict[str, Any]:
        first = int(cursor or "0")
        upto = min(first + PAGE, self._settlements)
        items = [self._item(number) for number in range(first, upto)]
        return {"items": items, "nextCursor": str(upto) if upto < self._settlements else None}

    def _item(self, number: int) -> dict[str, Any]:
        payer = address(0x5000_0000 + number * 7_919 % PAYERS)
        agent = number * 104_729 % self._agents
        return a_settlement(number, self._first + number * self._step, agent=agent, payer=payer)


def run(run: Run) -> Iterator[Figure]:
    agents, settlements = run.size(10_000, 500), run.size(1_000_000, 15_000)
    count, warm_up = run.size(20_000, 3_000), 300
    now = time.time_ns() // 1_000
    source = Settlements(agents=agents, settlements=settlements, now=now)
    with (
        TemporaryDirectory(prefix=PREFIX) as folder,
        ScanIndex(as_of=format_instant(now)) as index,
        Service(Path(folder) / "data", environment=_reaching(index)) as service,
    ):
        known = service.programs(
            [
                Traffic(f"p{number}", entities=PARTIES, counterparties=PARTIES, start_at=now, step_us=_STEP_US)
                for number in range(PROGRAMS)
            ]
        )
        index.put("agents", *(an_agent(number) for number in range(agents)))
        index.serve_pages("settlements", source.page)
        programs = tuple((each.feed.program_id, each.feed.traffic.name) for each in known)
        questions = Questions(programs, service.operator_token)
        with PacedFeeder(service.socket, [each.feed for each in known], per_second=EVENTS_PER_S) as feeder:
            time.sleep(_SETTLE_S)
            run.say("asking without an import")
            alone = call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201)
            with _Import(service) as imported:
                run.say(f"asking beside an import of {settlements:,} settlements")
                beside = call(service.address, questions, callers=CALLERS, count=count, warm_up=warm_up).require(201)
                is_whole = imported.is_under_way
                run.say("waiting for the end of the import")
                imported.wait()
            feeder.stop()
    yield from _figures(alone, beside, is_whole=is_whole)
    note = f"{imported.result['transfers']:,} transfers of {agents:,} agents in {imported.seconds:,.0f} s"
    yield Figure(name="settlements imported", value=settlements / imported.seconds, unit="settlements/s", note=note)


class _Import:
    """An import from entering on, which has come to the settlements when entering returns."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.result: dict[str, Any] = {}
        self.seconds = 0.0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._service.add_program("agents")
        self._thread.start()
        with self._service.client() as client:
            while self.is_under_way and client.get("/api/agents/import").json()["reading"] != "settlements":
                time.sleep(_POLL_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    @property
    def is_under_way(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join(_WITHIN_S)

    def _run(self) -> None:
        headers = self._service.operator_headers
        with httpx.Client(base_url=self._service.url, headers=headers, timeout=_WITHIN_S, trust_env=False) as client:
            began = time.monotonic()
            self.result = client.post("/api/agents/import").raise_for_status().json()
            self.seconds = time.monotonic() - began


def _reaching(index: ScanIndex) -> dict[str, str]:
    return {"CLEARHOLD_SCAN_INDEX_URL": index.url, "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}


def _figures(alone: Tally, beside: Tally, *, is_whole: bool) -> Iterator[Figure]:
    note = "" if is_whole else "the import ended before the callers did"
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        before, value = percentile(alone.latencies_ms, share), percentile(beside.latencies_ms, share)
        yield Figure(
            name=f"pre-flight beside an import, {name}",
            value=value,
            unit="ms",
            ratio=value / before,
            beside=f"{before:.2f} ms without it",
            note=note,
        )
    times = percentile(beside.latencies_ms, 0.99) / percentile(alone.latencies_ms, 0.99)
    yield Figure(name="p99 beside an import against without", value=times, unit="times", promise=TIMES_ALONE)
