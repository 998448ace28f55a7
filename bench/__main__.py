"""The benchmarks, all or by name, as one table of figure, promise and ratio.

Each runs in a separate process, so that none inherits another's memory, caches or collector settings. The table shows
the gap to a missed promise; the exit code says that one was missed.
"""

import argparse
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.catalogue import BENCHMARKS, answered, question
from bench.detection.worlds import WORLDS
from bench.harness import RESULTS, Answered, Asked, keep, missed, table_of

_MISSED: Final = 1


def main() -> int:
    arguments = _arguments()
    wanted = Asked(
        quick=arguments.quick,
        by_name=bool(arguments.names),
        transfers=arguments.transfers,
        data=arguments.data,
        world=arguments.world,
        half=arguments.half,
        sample=arguments.sample,
        service=arguments.service,
        dump=arguments.dump,
        vectors=arguments.vectors,
        keep=arguments.keep,
        card=arguments.card,
        page=arguments.page,
    )
    console, answers = Console(stderr=True), list[Answered]()
    signal.signal(signal.SIGTERM, _end)
    for name in arguments.names or BENCHMARKS:
        console.print(f"[bold]{name}[/]  {question(name)}", highlight=False)
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
            answers.append(process.submit(answered, name, wanted).result())
    keep(answers, arguments.json)
    Console(width=None if sys.stdout.isatty() else 180).print(table_of(answers))
    for sentence in missed(answers):
        console.print(f"missed: {sentence}", style="red", highlight=False)
    return _MISSED if missed(answers) else 0


def _end(number: int, _: object) -> None:
    """Pass the end on, so that the benchmark stops what it started and removes what it made."""
    for child in active_children():
        child.terminate()
    sys.exit(128 + number)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures what the design promises.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(BENCHMARKS)}; all when none")
    parser.add_argument("--quick", action="store_true", help="smaller runs, for a first look")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"where to ({RESULTS})")
    growing = parser.add_argument_group("flat_cost, restart, reports, backtest")
    growing.add_argument("--transfers", type=_count, metavar="COUNT", help="how far the state grows")
    detection = parser.add_argument_group("detection")
    detection.add_argument("--data", type=Path, metavar="FOLDER", help="where the transfers and labels are")
    detection.add_argument(
        "--world", choices=(*WORLDS, "all"), default="amlsim", help="which labelled transfers (amlsim)"
    )
    detection.add_argument(
        "--half", choices=("tune", "report", "both", "last"), default="report", help="of the scenarios"
    )
    detection.add_argument("--rows", dest="sample", type=_count, metavar="ROWS", help="only the first ROWS rows")
    detection.add_argument("--card", type=Path, metavar="FILE", help="a card to score the same vectors with")
    detection.add_argument("--page", type=Path, metavar="FILE.md", help="write the page; with --half last")
    way = detection.add_mutually_exclusive_group()
    way.add_argument("--service", action="store_true", help="over signed webhooks to a service")
    way.add_argument("--dump", type=Path, metavar="FILE.parquet", help="keep vectors and labels in")
    way.add_argument("--vectors", type=Path, metavar="FILE.parquet", help="score the vectors of an earlier run")
    way.add_argument("--keep", type=Path, metavar="FOLDER", help="the vectors of each world, written if not there")
    arguments = parser.parse_args()
    if arguments.world == "all" and (arguments.dump or arguments.vectors):
        parser.error("--world all goes with --keep")
    if arguments.page is not None and arguments.half != "last":
        parser.error("--page is of --half last")
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark: {', '.join(unknown)}")
    return arguments


def _count(text: str) -> int:
    if (count := int(text)) < 1:
        raise ValueError(text)
    return count


if __name__ == "__main__":
    raise SystemExit(main())
