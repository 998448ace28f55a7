"""``clearhold aside``: any tool of an analyst, run only when the service and everything else leaves cores free."""

from typing import Annotated

import typer

from clearhold.store.analysts.aside import run_aside


def register(app: typer.Typer) -> None:
    """Add ``aside`` to the command line."""
    app.command("aside", context_settings={"allow_interspersed_args": False})(aside)


def aside(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGUMENT]...", help="What to run, as it stands.")],
) -> None:
    """Run a program that gives way to the service: duckdb, a Python script, a notebook. The exit code is its own."""
    raise typer.Exit(run_aside(command))
