"""The benchmarks, all or by name, as one table of figure, promise and ratio.

Each runs in a process of its own, so that none inherits another's memory, caches or collector settings. What a
promise was missed by is in the table; the exit code says that one was.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import flat_cost, latency, memory, preflight, restart, throughput, webhooks
from bench.harness import RESULTS, Answered, Benchmark, Run, keep, missed, table_of

BENCHMARKS: Final[dict[str, Benchmark]] = {
    "throughput": throughput.run,
    "latency": latency.run,
    "preflight": preflight.run,
    "webhooks": webhooks.run,
    "flat_cost": flat_cost.run,
    "memory": memory.run,
    "restart": restart.run,
}
_MISSED: Final = 1


def main() -> int:
    asked = _arguments()
    console, answers = Console(stderr=True), list[Answered]()
    for name in asked.names or BENCHMARKS:
        console.print(f"[bold]{name}[/]  {_question(name)}", highlight=False)
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
            answers.append(process.submit(_answered, name, quick=asked.quick).result())
    keep(answers, asked.json)
    Console(width=None if sys.stdout.isatty() else 180).print(table_of(answers))
    for sentence in missed(answers):
        console.print(f"missed: {sentence}", style="red", highlight=False)
    return _MISSED if missed(answers) else 0


def _answered(name: str, *, quick: bool) -> Answered:
    started = time.monotonic()
    figures = tuple(BENCHMARKS[name](Run(quick=quick)))
    seconds = round(time.monotonic() - started, 1)
    return Answered(benchmark=name, question=_question(name), seconds=seconds, figures=figures)


def _question(name: str) -> str:
    module = sys.modules[BENCHMARKS[name].__module__]
    return (module.__doc__ or "").partition("\n")[0]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures what the design promises.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(BENCHMARKS)}; all when none")
    parser.add_argument("--quick", action="store_true", help="smaller runs, for a first look")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"where to ({RESULTS})")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark: {', '.join(unknown)}")
    return asked


if __name__ == "__main__":
    raise SystemExit(main())
