"""How long does a full backtest take over five million stored transfers, alone and beside live traffic?

One program has all the transfers, spread over the last 60 days, as in ``reports``: the first 200,000 at most go
through the log of a real ``clearhold serve``, the others are copies of its rows. Each rule is backtested over every
transfer of 90 days, first by itself, then while 2,000 events a second come in. A million transfers unless
``--transfers`` says otherwise; the promise is for five million.

Beside it   ezrules says of itself that it backtests 30,000 rows a second, and 150 to 430 with velocity features, which
            it computes again for each row. Here the values at scoring were stored.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx

from bench.copies import BACKTESTED, multiply_in
from bench.harness import Figure, Promise, Run, percentile
from bench.log_feed import PacedFeeder
from bench.preflight import EVENTS_PER_S, PARTIES
from bench.restart import Feeding
from bench.service import Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.features.core.instants import DAY_US

SECONDS: Final = Promise(2.0)
BESIDE_PER_S: Final = Promise(0.95 * EVENTS_PER_S, at_least=True)
EZRULES_PER_S: Final = {"plain": "30,000", "velocity": "150 to 430"}
_HISTORY_US: Final = 60 * DAY_US
_TRANSFERS_A_PARTY: Final = 100
_MOST_FED: Final = 200_000
_SETTLE_S: Final = 2.0
_PAUSE_S: Final = 1.0
_STEP_US: Final = 1_000_000 * 2 // EVENTS_PER_S

_RULES: Final[Mapping[str, list[dict[str, Any]]]] = {
    "plain": [
        {"field": "rail", "op": "eq", "value": "ach"},
        {"field": "amountCents", "op": "gt", "value": 100_000},
    ],
    "velocity": [
        {"field": "velocity24hCount", "op": "gte", "value": 2},
        {"field": "velocity24hSumCents", "op": "gt", "value": 100_000},
        {"field": "counterparty.firstTime", "op": "eq", "value": False},
        {"field": "entity.priorTransfers", "op": "gt", "value": 5},
    ],
    "every": [{"field": "rail", "op": "not_null"}],
}
_SAID: Final = {"plain": "plain rule", "velocity": "rule on velocity", "every": "rule that matches everything"}


def run(run: Run) -> Iterator[Figure]:
    wanted = run.asked.transfers or run.size(1_000_000, 20_000)
    times = -(-wanted // run.size(_MOST_FED, 5_000))
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        (known,) = service.programs([_history(wanted // times, now)])
        Feeding(service, [known.feed], in_their_time=True).feed_all(run, wanted // times)
        multiply_in(run, service, known.feed.program_id, times, tables=BACKTESTED)
        with service.client() as client:
            for name, when in _RULES.items():
                rule = {"id": name, "name": name, "when": when, "action": "hold", "severity": "low"}
                client.post("/api/rules", json=rule).raise_for_status()
            yield from _alone(run, service, client)
            live = known.feed._replace(traffic=_live(now))
            with PacedFeeder(service.socket, [live], per_second=EVENTS_PER_S) as feeder:
                began = time.monotonic()
                time.sleep(_SETTLE_S)
                yield from _beside(run, client)
                per_second = feeder.stop() / (time.monotonic() - began)
    yield Figure(name="events beside them", value=per_second, unit="events/s", promise=BESIDE_PER_S)


def _alone(run: Run, service: Service, client: httpx.Client) -> Iterator[Figure]:
    for name in _RULES:
        _backtest(client, name)
        count, before_s = run.size(5, 2), service.processor_s()
        answers = [_backtest(client, name) for _ in range(count)]
        each_s = (service.processor_s() - before_s) / count
        yield _figure(f"{_SAID[name]}, alone", answers, f"{each_s:.2f} s of processor time")


def _beside(run: Run, client: httpx.Client) -> Iterator[Figure]:
    for name in _RULES:
        answers = []
        for _ in range(run.size(10, 2)):
            answers.append(_backtest(client, name))
            time.sleep(_PAUSE_S)
        per_s = answers[0][1]["scanned"] / percentile(sorted(seconds for seconds, _ in answers), 0.5)
        theirs = f"{per_s:,.0f} transfers/s" + (f", ezrules {EZRULES_PER_S[name]}" if name in EZRULES_PER_S else "")
        yield _figure(
            f"{_SAID[name]}, beside live traffic", answers, theirs, promise=None if name == "every" else SECONDS
        )


def _figure(
    name: str, answers: list[tuple[float, dict[str, Any]]], beside: str, *, promise: Promise | None = None
) -> Figure:
    ordered = sorted(seconds for seconds, _ in answers)
    result = answers[-1][1]
    return Figure(
        name=f"full backtest, {name}, p50",
        value=percentile(ordered, 0.5),
        unit="s",
        promise=promise,
        beside=f"p95 {percentile(ordered, 0.95):.2f} s of {len(ordered)}; {beside}",
        note=f"{result['scanned']:,} scanned, {result['matched']:,} matched",
    )


def _backtest(client: httpx.Client, rule_id: str) -> tuple[float, dict[str, Any]]:
    """Seconds, and the answer."""
    began = time.perf_counter()
    answer = client.post(f"/api/rules/{rule_id}/backtest", json={"full": True}).raise_for_status()
    return time.perf_counter() - began, answer.json()


def _history(transfers: int, now: int) -> Traffic:
    parties, step_us = max(PARTIES, transfers // _TRANSFERS_A_PARTY), _HISTORY_US // transfers
    return Traffic("past", entities=parties, counterparties=2 * parties, start_at=now - _HISTORY_US, step_us=step_us)


def _live(now: int) -> Traffic:
    return Traffic("live", entities=PARTIES, counterparties=PARTIES, start_at=now, step_us=_STEP_US)
