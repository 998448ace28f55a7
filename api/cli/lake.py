"""Commands beside the lake for analysts: its status, and a program on cores that nothing else uses.

``clearhold lake status`` prints how current and how large it is; ``clearhold aside`` runs an analyst's tool.

Exit codes  of status: 0 current; 1 over a minute late, as when no service runs; 2 no lake; 3 a damaged file
            (``--verify`` only)
"""

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from clearhold.api.cli.options import AnyData, check_data_dir, fail
from clearhold.store.clock import SystemClock
from clearhold.store.scheduling import run_aside

if TYPE_CHECKING:
    from clearhold.store.analysts.session import LakeStatus

LATE_AFTER_S: Final = 60.0
EXIT_LATE: Final = 1
EXIT_DAMAGED: Final = 3
_MB: Final = 1 << 20

lake = typer.Typer(no_args_is_help=True)


@lake.command()
def status(
    data: AnyData,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")] = False,
    verify: Annotated[bool, typer.Option(help="Read every file, and compare it with its listed checksum.")] = False,
) -> None:
    """Print up to when the lake is complete, and the size of each table. Exit code 1 when that is over a minute ago."""
    from clearhold.store.analysts.session import damaged_files, lake_status

    check_data_dir(data)
    state = lake_status((data / "lake").absolute(), SystemClock().now(), late_after_s=LATE_AFTER_S)
    if state is None:
        fail(f"{data} has no lake yet: a service makes it within a minute of its start.")
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(state)).decode())
    else:
        _print(state)
    if verify and (damaged := damaged_files(data / "lake")):
        for file in damaged:
            typer.echo(f"{data / 'lake' / file} is damaged.", err=True)
        typer.echo("Remove these files and start the service again: it copies their tables again.", err=True)
        raise typer.Exit(EXIT_DAMAGED)
    if state.is_late:
        raise typer.Exit(EXIT_LATE)


def _print(lake: "LakeStatus") -> None:
    late = "  late: no service copies, or it fails; its log says lake_failed" if lake.is_late else ""
    typer.echo(f"{lake.folder}: all that was committed before {lake.as_of}, {lake.behind_seconds:,.0f} s ago{late}")
    table = Table(box=None, pad_edge=False)
    for heading in ("table", "rows", "files", "MB", "days", "newest"):
        table.add_column(heading, justify="left" if heading in {"table", "newest"} else "right")
    for each in lake.tables:
        size = f"{each.bytes / _MB:,.1f}"
        table.add_row(each.table, f"{each.rows:,}", f"{each.parts:,}", size, f"{each.days:,}", each.newest_day or "")
    Console().print(table)
    _print_retention(lake)
    if lake.replaced_parts:
        typer.echo(
            f"{lake.replaced_parts:,} replaced or ended files, {lake.replaced_bytes / _MB:,.1f} MB, wait to be removed."
        )


def _print_retention(lake: "LakeStatus") -> None:
    """Rows that retention removed or will remove; nothing where everything is kept."""
    for each in lake.tables:
        if each.kept_days is None and each.ended_through is None:
            continue
        kept = "kept for good" if each.kept_days is None else f"kept for {each.kept_days:,} days"
        ended = (
            f"{each.ended_rows:,} rows to {each.ended_through} have ended" if each.ended_through else "nothing ended"
        )
        typer.echo(f"{each.table}: {kept}; {ended}, {each.due_rows:,} rows are due")


def aside(
    command: Annotated[
        list[str], typer.Argument(metavar="PROGRAM [ARGUMENT]...", help="The program and its arguments.")
    ],
) -> None:
    raise typer.Exit(run_aside(command))
