"""``clearhold explain``: a transfer's inputs, the score recomputed from them, and the nearest other band.

The inputs of the newest scoring come from the data directory of a stopped service, or over HTTP from a running one,
which locks its database. The score is recomputed here with the card that gave it.

Exit codes  0 the stored score was reproduced; 1 it was not; 2 there is nothing to explain
"""

from pathlib import Path
from typing import Annotated, Final

import typer

from clearhold.api.cli.options import Operator, OptionalUrl, fail, token_option
from clearhold.store.errors import StartupError

EXIT_DIFFERS: Final = 1


def explain(
    context: typer.Context,
    transfer_id: Annotated[str, typer.Argument(help="The bank's id of the transfer.")],
    data: Annotated[Path | None, typer.Option(help="Data directory of a stopped service.", file_okay=False)] = None,
    url: OptionalUrl = None,
    token: Annotated[str | None, token_option("An API key or the operator token.")] = None,
    operator: Operator = "clearhold explain",
    program: Annotated[
        str | None, typer.Option(help="Id of the program, if several have a transfer with this id.")
    ] = None,
) -> None:
    """Needs --data of a stopped service, or --url and --token of one that runs."""
    from clearhold.api.cli.explanation import show, stored_at, stored_in
    from clearhold.client.answers import RefusedError, UnreachableError

    if data is not None and _is_of_variable(context, "url"):
        url = None
    if (data is None) == (url is None) or (url is not None and token is None):
        fail("Name either --data, or --url with --token.")
    try:
        if data is not None:
            stored, card = stored_in(data, transfer_id, program)
        else:
            stored, card = stored_at(url or "", token, operator, transfer_id, program)
    except (StartupError, RefusedError, UnreachableError) as error:
        fail(str(error))
    if not show(stored, card):
        raise typer.Exit(EXIT_DIFFERS)


def _is_of_variable(context: typer.Context, option: str) -> bool:
    """Whether an option's value comes from its variable, which other options override."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "ENVIRONMENT"
