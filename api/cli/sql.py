"""``clearhold sql``: queries on the lake for analysts, from an argument, a file, standard input or a prompt.

Answers are a table, CSV or JSON: instants in UTC with their Z, null as itself or as nothing. A table reads and shows
only the first rows, with control characters escaped; the other formats have all rows. At the prompt a query may stand
on several lines, up to a semicolon.

It runs at low priority: ``clearhold sql`` runs this module as a separate process, which steps aside once it is loaded,
and a query takes half of the cores by default. While an answer takes long, standard error says so, and when it ends.

Exit codes  0 every query was answered; 1 one was not, with the reason; 2 there is nothing to query; 143 ended after
            ``--within``
"""

import csv
import os
import readline
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import chain, count, islice
from math import isfinite
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from typer.main import get_command

from clearhold.api.cli.options import AnyData, fail, note
from clearhold.flows.running.own_python import import_environment, loaded, module_command
from clearhold.store.data_dir import LAYOUT
from clearhold.store.given_files import read_given
from clearhold.store.scheduling import run_aside, step_aside

if TYPE_CHECKING:
    from clearhold.store.analysts.session import AnalystSession, QueryAnswer

EXIT_FAILED: Final = 1
MOST_THREADS: Final = 1_024
SLOW_S: Final = 3.0
SAID_AGAIN_S: Final = 30.0
WITHIN_S: Final = 600
MOST_SHOWN: Final = 500
PLAIN_WIDTH: Final = 400
_NUMBERS: Final = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "NUMBER")
SESSION: Final = "clearhold.store.analysts.session"
HISTORY: Final = ".clearhold_sql_history"
MOST_LINES: Final = 1_000
_NO_HISTORY: Final = (OSError, RuntimeError)
"""Without a writable home, as in a container, only the history is missing."""
_HELP: Final = """A query ends with a semicolon.
\\d          views and ready questions
\\d NAME     columns of a view, with their meanings
\\f FORMAT   table, csv, json or ndjson
\\q          the end"""


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"


def write_answer(answer: "QueryAnswer", form: Format) -> None:
    """Write one answer to standard output."""
    names = _distinct(answer.names)
    match form:
        case Format.TABLE:
            _write_table(answer)
        case Format.CSV:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(answer.names)
            writer.writerows(["" if value is None else _text(plain(value)) for value in row] for row in answer.rows)
        case Format.JSON:
            ahead = "["
            for row in answer.rows:
                sys.stdout.write(f"{ahead}\n{_line(names, row)}")
                ahead = ","
            sys.stdout.write("[]\n" if ahead == "[" else "\n]\n")
        case Format.NDJSON:
            sys.stdout.writelines(f"{_line(names, row)}\n" for row in answer.rows)


def plain(value: Any) -> Any:
    """A value for JSON; a value that JSON lacks becomes null or a text."""
    if isinstance(value, float | Decimal):
        return float(value) if isfinite(value) else None
    if isinstance(value, datetime):
        return f"{value.isoformat()}{'Z' if value.tzinfo is None else ''}"
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of a JSON object's fields: the second ``n`` of an answer is ``n_1``, as DuckDB calls it in a subquery.

    >>> _distinct(("n", "n", "m", "n"))
    ('n', 'n_1', 'm', 'n_2')
    """
    taken: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in count(1))
        taken.append(next(each for each in chain([name], others) if each not in taken))
    return tuple(taken)


def _line(names: Sequence[str], row: tuple[Any, ...]) -> str:
    return msgspec.json.encode(dict(zip(names, map(plain, row), strict=True))).decode()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _write_table(answer: "QueryAnswer") -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    table = Table(box=None, pad_edge=False)
    for name, kind in zip(answer.names, answer.types, strict=True):
        is_number = any(word in kind.upper() for word in _NUMBERS)
        table.add_column(_visible(name), justify="right" if is_number else "left", overflow="fold")
    first = list(islice(answer.rows, MOST_SHOWN))
    for row in first:
        table.add_row(*("null" if value is None else _visible(_text(_short(plain(value)))) for value in row))
    console.print(table)
    has_more = next(answer.rows, None) is not None
    counted = f"{len(first):,} rows"
    console.print(f"the first {counted} of more; --format csv has all" if has_more else counted, style="dim")


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _visible(text: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def run_prompt(session: "AnalystSession", form: Format) -> None:
    """Answer until the end of the input. A mistake or Ctrl-C ends its query only; Ctrl-D ends the prompt."""
    from clearhold.store.analysts.session import QueryError

    with suppress(*_NO_HISTORY):
        readline.read_history_file(Path.home() / HISTORY)
    typer.echo("The lake, read-only. \\? lists the commands.")
    lines: list[str] = []
    while True:
        try:
            line = input("   ... " if lines else "lake> ")
            if not lines and line.startswith("\\"):
                if line.strip() == "\\q":
                    break
                form = _obeyed(session, line, form)
                continue
            lines += [line] if line.strip() or lines else []
            text = "\n".join(lines)
            if text.rstrip().endswith(";") and session.is_finished(text):
                lines = []
                for answer in session.answers(text):
                    write_answer(answer, form)
        except QueryError as error:
            typer.echo(str(error), err=True)
        except EOFError:
            typer.echo()
            break
        except KeyboardInterrupt:
            lines = []
            typer.echo()
    with suppress(*_NO_HISTORY):
        readline.set_history_length(MOST_LINES)
        readline.write_history_file(history := Path.home() / HISTORY)
        history.chmod(0o600)


def _obeyed(session: "AnalystSession", line: str, form: Format) -> Format:
    """Run a backslash command; returns the format from now on."""
    from clearhold.store.analysts.session import QueryError

    command, _, rest = line.strip().partition(" ")
    if command == "\\d" and rest:
        columns = list((answer := session.columns(rest)).rows)
        if not columns:
            raise QueryError("There is no view of this name. \\d lists the views.")
        write_answer(answer._replace(rows=iter(columns)), Format.TABLE)
    elif command == "\\d":
        write_answer(session.listing(), Format.TABLE)
    elif command == "\\f" and rest in set(Format):
        return Format(rest)
    else:
        typer.echo(_HELP)
    return form


def sql(
    data: AnyData,
    query: Annotated[str | None, typer.Argument(help="One query, or several with semicolons between them.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the queries from a file.", exists=True, dir_okay=False)
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How answers are written.")] = Format.TABLE,
    threads: Annotated[
        int | None,
        typer.Option(help="Cores that a query takes at once. Default: half of them.", min=1, max=MOST_THREADS),
    ] = None,
    within: Annotated[  # noqa: ARG001 - read by run_sql_aside, beside the process that may get no core
        int, typer.Option(help="Seconds after which it ends without an answer; a prompt does not.", min=1)
    ] = WITHIN_S,
) -> None:
    from clearhold.store.analysts.session import AnalystSession, NoLakeError, QueryError

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
            for answer in session.answers(text):
                write_answer(answer, form)
        except UnicodeDecodeError:
            fail("The queries are not text in UTF-8.")
        except QueryError as error:
            fail(str(error), EXIT_FAILED)


def _text_of(query: str | None, file: Path | None) -> str:
    if query is not None:
        return query
    if file is None:
        return sys.stdin.read()
    try:
        return read_given(file).decode()
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.")


@contextmanager
def _watched(within_s: int) -> Iterator[None]:
    """Says on standard error that the queries are running, and why it can take long; ends this process in the end."""
    began, is_over = time.monotonic(), Event()

    def watch() -> None:
        pause_s = SLOW_S
        while not is_over.wait(min(pause_s, max(0.0, began + within_s - time.monotonic()))):
            pause_s, seconds = SAID_AGAIN_S, time.monotonic() - began
            if seconds >= within_s:
                note(f"Ended after {within_s} s without an answer. A larger --within waits longer.")
                os.kill(os.getpid(), signal.SIGTERM)
                return
            note(f"Running for {seconds:.0f} s of {within_s}, on cores that no other process uses. Ctrl+C ends it.")

    Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _alone() -> typer.Typer:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(sql)
    return alone


def run_sql_aside(arguments: Sequence[str]) -> int:
    """``clearhold sql`` with these arguments, as a process of low priority; its exit code.

    A process that gets no core says nothing, so this one speaks for it.
    """
    words = get_command(_alone()).make_context("sql", [*arguments], resilient_parsing=True).params
    is_prompt = words.get("query") is None and words.get("file") is None and sys.stdin.isatty()
    command = [*module_command(__name__), *arguments]
    with nullcontext() if is_prompt else _watched(words.get("within") or WITHIN_S):
        return run_aside(command, environment=os.environ | import_environment(), steps_aside=False)


def main() -> None:
    """``clearhold sql`` alone, in the process of low priority."""
    loaded(SESSION)
    step_aside()
    _alone()(sys.argv[2:], prog_name="clearhold sql")  # after the name of this module
