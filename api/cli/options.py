"""Shared by the commands: the end of one that cannot do its work, progress, and the options for a running service.

Each option has one name, one variable and one check.

Exit codes  2 the command could not start, or an option is invalid
"""

from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress, ProgressColumn

from clearhold.store.data_dir import LAYOUT

EXIT_NOT_STARTED: Final = 2


def note(sentence: str) -> None:
    typer.echo(sentence, err=True)


def fail(sentence: str, code: int = EXIT_NOT_STARTED) -> NoReturn:
    note(sentence)
    raise typer.Exit(code)


def check_data_dir(data: Path) -> None:
    """End the command where the folder is not a data directory."""
    if not (data / LAYOUT).is_file():
        fail(f"{data} is not a data directory.")


def progress(*columns: ProgressColumn) -> Progress:
    """Progress on standard error; nothing without a terminal."""
    screen = Console(stderr=True)
    return Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True)


def check_address(option: typer.CallbackParam, address: str | None) -> str | None:
    from clearhold.client.answers import is_http

    if address is not None and not is_http(address):
        _refuse(option, "must be an http:// or https:// address.")
    return address


def check_header(option: typer.CallbackParam, text: str | None) -> str | None:
    """Check a header's value; the error does not quote it, since it may be a token."""
    if text is not None and not (text.isascii() and text.isprintable() and text.strip() == text != ""):
        _refuse(option, "must be printable ASCII characters, without a space at either end.")
    return text


def token_option(words: str) -> Any:
    return typer.Option(envvar="CLEARHOLD_TOKEN", help=words, callback=check_header)


_URL: Final = typer.Option(
    envvar="CLEARHOLD_URL", help="Base URL of the service, such as http://127.0.0.1:8080.", callback=check_address
)
Url = Annotated[str, _URL]
OptionalUrl = Annotated[str | None, _URL]
StoppedData = Annotated[Path, typer.Option(help="Data directory of a stopped service.", file_okay=False)]
AnyData = Annotated[Path, typer.Option(help="Data directory, of a service that runs or is stopped.", file_okay=False)]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Continue although log entries are lost; the record lists them.")
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over", help="Take the log in CLEARHOLD_REDIS_URL from the service that owns it, which then stops."
    ),
]
Proxy = Annotated[
    bool, typer.Option("--proxy", help="While this node stands by, pass requests on to the node that owns the log.")
]
Operator = Annotated[
    str, typer.Option(help="Your name for the log; used with an operator token.", callback=check_header)
]


def _refuse(option: typer.CallbackParam, rule: str) -> None:
    """End the command. The value may come from the option's variable, so both are named."""
    variable = f" ({option.envvar})" if option.envvar else ""
    fail(f"{option.opts[0]}{variable} {rule}")
