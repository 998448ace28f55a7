"""The results as two tables and a verdict, for a terminal and for a log."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from clearhold.demo.results import EverydayResult, Results, StoryResult

PLAIN_WIDTH: Final = 160
SHOWN_DETECTORS: Final = 2


def results_parts(results: Results) -> Iterator[RenderableType]:
    """The parts to print, from top to bottom."""
    yield Text("\nResults: alerts from the service's API, compared with the planted scenarios", style="bold")
    yield _stories(results.stories)
    yield Text()
    yield _everyday(results.everyday)
    yield Text()
    yield from _verdict(results)


def _stories(stories: tuple[StoryResult, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", no_wrap=True)
    for name in ("planted", "alerted", "missed", "asked", "held", "review", "clear"):
        table.add_column(name, justify="right")
    table.add_column("detectors that fired, its own first", overflow="fold")
    for story in stories:
        missed = len(story.missed)
        table.add_row(
            story.name,
            str(story.planted),
            str(story.caught),
            Text(str(missed), style="bold red" if missed else "green"),
            str(story.asked),
            str(story.held),
            str(story.reviewed),
            str(story.waved_on),
            _detectors(story.detectors),
        )
    return table


def _everyday(everyday: tuple[EverydayResult, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("everyday, after 30 days", no_wrap=True)
    for name in ("transfers", "alerts for a person", "per 1,000", "in review", "in hold"):
        table.add_column(name, justify="right")
    table.add_column("detectors", overflow="fold")
    for one in everyday:
        rate = one.alerts_per_1_000
        table.add_row(
            one.program,
            f"{one.transfers:,}",
            f"{one.alerts:,}",
            "none yet" if rate is None else f"{rate:.1f}",
            f"{one.in_review:,}",
            f"{one.in_hold:,}",
            _detectors(one.detectors),
        )
    return table


def _verdict(results: Results) -> Iterator[Text]:
    planted = sum(story.planted for story in results.stories)
    caught = sum(story.caught for story in results.stories)
    missed = [story for story in results.stories if story.missed]
    yield Text(f"{caught} of {planted} planted scenarios caught.", style="bold red" if missed else "bold green")
    for story in missed:
        transfers = ", ".join(sorted(min(telling.transfer_ids, default="none sent") for telling in story.missed))
        yield Text(f"  Missed: {story.name}, {len(story.missed)} of {story.planted}; first transfers {transfers}")
    if results.under_way:
        yield Text(f"  Under way when the bank stopped, and not counted: {results.under_way}.")
    if results.untold:
        yield Text(f"  Not planted in this run: {', '.join(results.untold)}.")


def _detectors(counts: tuple[tuple[str, int], ...]) -> str:
    shown = ", ".join(f"{name} {count}" for name, count in counts[:SHOWN_DETECTORS])
    left = len(counts) - SHOWN_DETECTORS
    return f"{shown}, {left} more" if left > 0 else shown
