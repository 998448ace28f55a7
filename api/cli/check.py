"""``clearhold check``: the contents of a data directory, whether its parts agree, and how far back each goes.

Exit codes  0 everything agrees; 1 something does not; 2 the check could not begin
"""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from clearhold.api.cli.exits import fail
from clearhold.api.settings import setting
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import LAYOUT, DataDir
from clearhold.store.errors import StartupError
from clearhold.store.joining.inspection import Inspection, Report
from clearhold.store.joining.joining import name_of
from clearhold.store.keys.secrets import SecretBox
from clearhold.store.keys.signing_keys import SigningKeys
from clearhold.store.redis_log.server import redis_target

EXIT_BROKEN: Final = 1
SHOWN_PROBLEMS: Final = 20


def check(
    data: Annotated[Path, typer.Option(help="Data directory of a stopped service.", file_okay=False)],
) -> None:
    """Print the contents of a data directory, whether its log, lake, database and record agree, and their ages."""
    if not (data / LAYOUT).is_file():
        fail(f"{data} is not a data directory.")
    try:
        with ExitStack() as opened:
            data_dir = opened.enter_context(DataDir.open(data, master_key=setting("master_key_file", os.environ)))
            report = _inspected(data_dir, opened)
    except (StartupError, OSError) as error:
        fail(str(error))
    for label, text in report.lines:
        typer.echo(f"{label:10} {text}")
    for problem in report.problems[:SHOWN_PROBLEMS]:
        typer.echo(f"FAIL: {problem}", err=True)
    more = len(report.problems) - SHOWN_PROBLEMS
    if more > 0:
        typer.echo(f"and {more:,} more problems", err=True)
    if report.problems:
        raise typer.Exit(EXIT_BROKEN)
    typer.echo("ok: log, lake, database and record agree")


def _inspected(data_dir: DataDir, opened: ExitStack) -> Report:
    box, screen = SecretBox(data_dir.master_key()), Console(stderr=True)
    keys = SigningKeys.open(data_dir.signing_keys_path, box=box, clock=SystemClock(), purposes=())
    target, failure = None, None
    try:
        target = redis_target(setting("redis_url", os.environ), data_dir, opened)
    except StartupError as error:
        failure = str(error)
    name = name_of(data_dir, target)
    with screen.status("reading") as status:
        report = Inspection(data_dir, target, redis_name=name, keys=keys).run(
            lambda part: status.update(f"reading {part}")
        )
    if failure is not None:
        report.problems.append(failure)
    return report
