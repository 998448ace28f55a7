"""``clearhold sql``: queries on the lake for analysts, from an argument, a file, standard input or a prompt.

Exit codes  0 every query was answered; 1 one was not, with the reason; 2 there is nothing to query
"""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from api.cli.sql_output import Format, write_answer
from api.cli.sql_prompt import run_prompt
from store.analysts.session import AnalystSession, NoLakeError, QueryError
from store.data_dir import LAYOUT

EXIT_FAILED: Final = 1
EXIT_NOTHING: Final = 2
NICENESS: Final = 10


def register(app: typer.Typer) -> None:
    """Add ``sql`` to the command line."""
    app.command("sql")(sql)


def sql(
    data: Annotated[Path, typer.Option(help="Data directory, of a service that runs or is stopped.", file_okay=False)],
    query: Annotated[str | None, typer.Argument(help="One query, or several with semicolons between them.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the queries from a file.", exists=True, dir_okay=False)
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How answers are written.")] = Format.TABLE,
) -> None:
    """Query the lake for analysts. Without a query it reads standard input, or prompts on a terminal."""
    if query is not None and file is not None:
        _fail("Give either a query or --file.", EXIT_NOTHING)
    if not (data / LAYOUT).is_file() and not (data / "lake").is_dir():
        _fail(f"{data} is not a data directory.", EXIT_NOTHING)
    try:
        session = AnalystSession.open(data)
    except NoLakeError as error:
        _fail(str(error), EXIT_NOTHING)
    os.nice(NICENESS)  # what answers and scores goes first
    with closing(session):
        if query is None and file is None and sys.stdin.isatty():
            run_prompt(session, form)
            return
        try:
            text = query or (sys.stdin.read() if file is None else file.read_text(encoding="utf-8"))
            for answer in session.answers(text):
                write_answer(answer, form)
        except UnicodeDecodeError:
            _fail("The queries are not text in UTF-8.", EXIT_NOTHING)
        except QueryError as error:
            _fail(str(error), EXIT_FAILED)


def _fail(sentence: str, code: int) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(code)
