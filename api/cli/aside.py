"""``clearhold aside``: runs an analyst's tool on cores that the service and other programs leave free."""

from typing import Annotated

import typer

from clearhold.store.analysts.aside import run_aside


def aside(
    command: Annotated[
        list[str], typer.Argument(metavar="PROGRAM [ARGUMENT]...", help="The program and its arguments.")
    ],
) -> None:
    """Run a program at low priority beside the service: duckdb, a Python script, a notebook. Returns its exit code."""
    raise typer.Exit(run_aside(command))
