"""What a benchmark answers with, and how the answers are shown and kept.

A figure that a promise belongs to is kept or missed; the others are there to be read beside it. Every figure that
depends on the machine stands next to one that was measured in the same run, with the ratio of the two.
"""

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

RESULTS: Final = Path(".bench") / "results.json"


class Promise(msgspec.Struct, frozen=True):
    """A bound that the design promises for a figure."""

    bound: float
    at_least: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {number(self.bound)}"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One value, None when there was nothing to measure. ``ratio`` is against ``beside``, of the same run."""

    name: str
    value: float | None
    unit: str
    promise: Promise | None = None
    ratio: float | None = None
    beside: str = ""
    note: str = ""

    @property
    def kept(self) -> bool | None:
        return None if self.promise is None or self.value is None else self.promise.holds(self.value)


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one benchmark."""

    benchmark: str
    question: str
    seconds: float
    figures: tuple[Figure, ...]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line said; ``transfers`` is for flat_cost, restart, reports and backtest, and all from ``data``
    on for detection.
    """

    quick: bool = False
    by_name: bool = False
    transfers: int | None = None
    data: Path | None = None
    world: str = "amlsim"
    half: str = "report"
    sample: int | None = None
    service: bool = False
    dump: Path | None = None
    vectors: Path | None = None
    keep: Path | None = None
    card: Path | None = None
    page: Path | None = None


class Run:
    """How large a run is meant to be, and where it tells how far it is."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.quick = asked.quick
        self._console = Console(stderr=True)

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def say(self, text: str) -> None:
        self._console.print(f"  {text}", style="dim", highlight=False)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """A progress bar; the function it gives takes how many more are done."""
        columns = (SpinnerColumn(), TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda more: progress.advance(task, more)


Benchmark = Callable[[Run], Iterable[Figure]]


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = (line for line in cpuinfo.read_text().splitlines() if line.startswith("model name"))
        model = next(named, f":{model}").partition(":")[2].strip()
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}"


def table_of(answers: Sequence[Answered]) -> Table:
    """Figure, promise, ratio, and whether the promise is kept."""
    table = Table(title=f"Clearhold on {machine()}", caption="Clients, servers and stores share these cores.")
    for heading in ("benchmark", "figure"):
        table.add_column(heading, overflow="fold")
    for heading in ("measured", "promise", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("", "beside, in the same run"):
        table.add_column(heading, overflow="fold")
    for answered in answers:
        for index, figure in enumerate(answered.figures):
            table.add_row(
                answered.benchmark if index == 0 else "",
                figure.name,
                _measured(figure),
                "" if figure.promise is None else f"{figure.promise} {figure.unit}".rstrip(),
                "" if figure.ratio is None else f"{figure.ratio:.2f}",
                {True: "[green]kept[/]", False: "[red]missed[/]", None: ""}[figure.kept],
                "; ".join(part for part in (figure.beside, figure.note) if part),
            )
        table.add_section()
    return table


def in_words(figure: Figure) -> str:
    """A figure as one line, for a run that is under way."""
    return "; ".join(part for part in (f"{figure.name}: {_measured(figure)}", figure.beside, figure.note) if part)


def _measured(figure: Figure) -> str:
    return "not measured" if figure.value is None else f"{number(figure.value)} {figure.unit}".rstrip()


def keep(answers: Sequence[Answered], path: Path) -> None:
    """Write the answers as JSON, with the machine they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = [
        {**msgspec.to_builtins(answered), "kept": [figure.kept for figure in answered.figures]} for answered in answers
    ]
    text = msgspec.json.encode({"machine": machine(), "benchmarks": results})
    path.write_bytes(msgspec.json.format(text, indent=2) + b"\n")


def missed(answers: Sequence[Answered]) -> list[str]:
    return [
        f"{answered.benchmark}: {figure.name}"
        for answered in answers
        for figure in answered.figures
        if figure.kept is False
    ]


def percentile(ordered: Sequence[float], share: float) -> float:
    """Nearest rank of values in ascending order."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def number(value: float) -> str:
    """Three significant digits below a thousand, whole numbers above."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
