"""Which benchmarks there are, and how one is run; importable by the process that each of them runs in."""

import signal
import sys
import time
from typing import Final

from bench import (
    agents,
    alerts,
    backtest,
    console,
    deliveries,
    feed,
    flat_cost,
    graph,
    hubs,
    lake,
    lake_readers,
    latency,
    lists,
    live,
    memory,
    polars_choice,
    preflight,
    questions,
    record,
    reports,
    rescoring,
    restart,
    rules,
    scorers,
    shadow,
    snapshots,
    throughput,
    webhooks,
)
from bench.detection import benchmark as detection
from bench.harness import Answered, Asked, Benchmark, Figure, Run, in_words

BENCHMARKS: Final[dict[str, Benchmark]] = {
    "throughput": throughput.run,
    "scorers": scorers.run,
    "snapshots": snapshots.run,
    "latency": latency.run,
    "feed": feed.run,
    "live": live.run,
    "preflight": preflight.run,
    "webhooks": webhooks.run,
    "deliveries": deliveries.run,
    "flat_cost": flat_cost.run,
    "hubs": hubs.run,
    "memory": memory.run,
    "restart": restart.run,
    "lake": lake.run,
    "lake_readers": lake_readers.run,
    "polars_choice": polars_choice.run,
    "rescoring": rescoring.run,
    "reports": reports.run,
    "lists": lists.run,
    "console": console.run,
    "graph": graph.run,
    "backtest": backtest.run,
    "record": record.run,
    "detection": detection.run,
    "agents": agents.run,
    "alerts": alerts.run,
    "rules": rules.run,
    "shadow": shadow.run,
    "questions": questions.run,
}


def answered(name: str, request: Asked) -> Answered:
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that started processes are stopped
    started, run, figures = time.monotonic(), Run(request), list[Figure]()
    for figure in BENCHMARKS[name](run):
        figures.append(figure)
        run.say(in_words(figure))  # a long run is stopped now and then
    seconds = round(time.monotonic() - started, 1)
    return Answered(benchmark=name, question=question(name), seconds=seconds, figures=tuple(figures))


def question(name: str) -> str:
    module = sys.modules[BENCHMARKS[name].__module__]
    return (module.__doc__ or "").partition("\n")[0]
