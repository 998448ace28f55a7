"""How a command ends that cannot do its work: a sentence on standard error, and an exit code."""

from typing import Final, NoReturn

import typer

EXIT_NOT_STARTED: Final = 2


def note(sentence: str) -> None:
    typer.echo(sentence, err=True)


def fail(sentence: str, code: int = EXIT_NOT_STARTED) -> NoReturn:
    note(sentence)
    raise typer.Exit(code)
