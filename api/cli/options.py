"""Options of the commands that call a running service: one name, one variable and one check each.

Exit codes  2 an option is invalid
"""

from typing import Annotated, Any, Final

import typer

from clearhold.api.cli.exits import fail
from clearhold.client.answers import is_http


def check_address(option: typer.CallbackParam, address: str | None) -> str | None:
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
Operator = Annotated[
    str, typer.Option(help="Your name for the log; used with an operator token.", callback=check_header)
]


def _refuse(option: typer.CallbackParam, rule: str) -> None:
    """End the command. The value may come from the option's variable, so both are named."""
    variable = f" ({option.envvar})" if option.envvar else ""
    fail(f"{option.opts[0]}{variable} {rule}")
