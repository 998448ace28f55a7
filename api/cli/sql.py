"""``clearhold sql``: queries on the lake for analysts, from an argument, a file, standard input or a prompt.

It runs at low priority: ``clearhold sql`` runs this module as a separate process, which steps aside once it is loaded,
and a query takes half of the cores by default. While an answer takes long, standard error says so.

Exit codes  0 every query was answered; 1 one was not, with the reason; 2 there is nothing to query
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Final

import typer

from clearhold.api.cli.exits import fail
from clearhold.api.cli.sql_output import Format, write_answer
from clearhold.api.cli.sql_prompt import run_prompt
from clearhold.flows.running.own_python import import_environment, module_command
from clearhold.store.analysts.aside import run_aside, step_aside
from clearhold.store.analysts.session import AnalystSession, NoLakeError, QueryError
from clearhold.store.data_dir import LAYOUT

EXIT_FAILED: Final = 1
MOST_THREADS: Final = 1_024
SLOW_S: Final = 3.0
SAID_AGAIN_S: Final = 30.0


def sql(
    data: Annotated[Path, typer.Option(help="Data directory, of a service that runs or is stopped.", file_okay=False)],
    query: Annotated[str | None, typer.Argument(help="One query, or several with semicolons between them.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the queries from a file.", exists=True, dir_okay=False)
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How answers are written.")] = Format.TABLE,
    threads: Annotated[
        int | None,
        typer.Option(help="Cores that a query takes at once. Default: half of them.", min=1, max=MOST_THREADS),
    ] = None,
) -> None:
    """Query the lake for analysts. Without a query it reads standard input, or prompts on a terminal."""
    if query is not None and file is not None:
        fail("Give either a query or --file.")
    try:
        if not (data / LAYOUT).is_file() and not (data / "lake").is_dir():
            fail(f"{data} is not a data directory.")
        session = AnalystSession.open(data, threads=threads or max(1, (os.cpu_count() or 1) // 2))
    except NoLakeError as error:
        fail(str(error))
    except PermissionError:
        fail(f"This user may not read {data}; docs/lake.md lists the permissions.")
    with closing(session):
        if query is None and file is None and sys.stdin.isatty():
            run_prompt(session, form)
            return
        try:
            text = _text_of(query, file)
            with _said_when_slow():
                for answer in session.answers(text):
                    write_answer(answer, form)
        except UnicodeDecodeError:
            fail("The queries are not text in UTF-8.")
        except QueryError as error:
            fail(str(error), EXIT_FAILED)


def _text_of(query: str | None, file: Path | None) -> str:
    if query is not None:
        return query
    return sys.stdin.read() if file is None else file.read_text(encoding="utf-8")


@contextmanager
def _said_when_slow() -> Iterator[None]:
    """Says on standard error that the queries are running, and why it can take long."""
    began, is_over = time.monotonic(), Event()

    def say() -> None:
        pause_s = SLOW_S
        while not is_over.wait(pause_s):
            pause_s = SAID_AGAIN_S
            seconds = time.monotonic() - began
            typer.echo(f"Running for {seconds:.0f} s, on cores that no other process uses. Ctrl+C ends it.", err=True)

    Thread(target=say, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def run_sql_aside(arguments: Sequence[str]) -> int:
    """``clearhold sql`` with these arguments, as a process of low priority; its exit code."""
    command = [*module_command(__name__), *arguments]
    return run_aside(command, environment=os.environ | import_environment(), steps_aside=False)


def main() -> None:
    """``clearhold sql`` alone, in the process of low priority."""
    step_aside()
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(sql)
    alone(sys.argv[2:], prog_name="clearhold sql")  # after the name of this module
