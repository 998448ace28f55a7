"""The prompt of ``clearhold sql``: queries over several lines up to a semicolon, history, and a listing."""

import readline
from contextlib import suppress
from pathlib import Path
from typing import Final

import typer

from clearhold.api.cli.sql_output import Format, write_answer
from clearhold.store.analysts.session import AnalystSession, QueryError

HISTORY: Final = ".clearhold_sql_history"
MOST_LINES: Final = 1_000
_NO_HISTORY: Final = (OSError, RuntimeError)
"""Without a writable home, as in a container, only the history is missing."""
_HELP: Final = """A query ends with a semicolon.
\\d          views and ready questions
\\d NAME     columns of a view, with their meanings
\\f FORMAT   table, csv, json or ndjson
\\q          the end"""


def run_prompt(session: AnalystSession, form: Format) -> None:
    """Answer until the end of the input. A mistake or Ctrl-C ends its query only; Ctrl-D ends the prompt."""
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


def _obeyed(session: AnalystSession, line: str, form: Format) -> Format:
    """Run a backslash command; returns the format from now on."""
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
