"""``clearhold listen``: the deliveries of a test endpoint as they come, each posted to a receiver on this machine.

Exit codes  0 ended by Ctrl-C or SIGTERM; 1 the service refused to go on, or the endpoint could not be removed;
            2 the command could not start
"""

import signal
from contextlib import suppress
from typing import Annotated, Final

import typer

from clearhold.api.cli.options import Operator, Url, check_address, fail, note, token_option
from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.client.listening import Forwarded, Forwarder, ListenedEndpoint, heard
from clearhold.features.core.instants import format_instant
from clearhold.features.webhooks.delivery import LEAST_SECRET_BYTES, SECRET_BYTES, SECRET_PREFIX, is_secret, secret_of
from clearhold.features.webhooks.payloads import SUBSCRIBABLE
from clearhold.store.clock import SystemClock
from clearhold.store.ids import random_bytes

EXIT_STOPPED: Final = 1
_EVENT_WIDTH: Final = max(map(len, SUBSCRIBABLE))
_TIME_OF_DAY: Final = slice(11, 19)


def listen(
    forward_to: Annotated[
        str,
        typer.Option(
            help="Where each delivery is posted, such as http://localhost:3000/hooks.", callback=check_address
        ),
    ],
    url: Url,
    token: Annotated[str, token_option("An API key of scope webhooks, or the operator token.")],
    program: Annotated[
        str | None,
        typer.Option(help="Id of the program. An API key needs it; without it, an operator gets all programs."),
    ] = None,
    events: Annotated[
        str | None, typer.Option(help="Names of events, with commas between. Default: every event.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            envvar="CLEARHOLD_WEBHOOK_SECRET",
            help="Sign with this secret (whsec_...). Default: a fresh one, which is printed.",
        ),
    ] = None,
    operator: Operator = "clearhold listen",
) -> None:
    names = _names_of(events)
    if secret is not None and not is_secret(secret):
        fail(f"--secret must be {SECRET_PREFIX} and the base64 of at least {LEAST_SECRET_BYTES} bytes.")
    signing = secret or secret_of(random_bytes(SECRET_BYTES))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        ClearholdClient(url, token=token, operator=operator, max_tries=1) as client,
        Forwarder(forward_to, secret=signing, clock=SystemClock()) as forwarder,
    ):
        try:
            endpoint = ListenedEndpoint.open(client, program_id=program, events=names)
        except (RefusedError, UnreachableError) as error:
            fail(str(error))
        opening = [f"Listening as endpoint {endpoint.id}, forwarding to {forward_to}. Ctrl-C ends."]
        if secret is None:
            opening.append(f"Verify with this secret: {signing}")
        _listen(endpoint, forwarder, opening)


def _listen(endpoint: ListenedEndpoint, forwarder: Forwarder, opening: list[str]) -> None:
    """Runs until it is ended or the output is closed; the endpoint is removed either way."""
    refusal = None
    try:
        with suppress(KeyboardInterrupt, BrokenPipeError):
            typer.echo("\n".join(opening))
            for delivery in heard(endpoint, note):
                typer.echo(_line(forwarder.forward(delivery)))
    except RefusedError as error:
        refusal = str(error)
    finally:
        failure = _close(endpoint)
        for sentence in filter(None, (refusal, failure)):
            note(sentence)
    if refusal or failure:
        raise typer.Exit(EXIT_STOPPED)


def _close(endpoint: ListenedEndpoint) -> str | None:
    """Remove the endpoint, also when interrupted; returns the reason if it could not be removed."""
    for impatient in (signal.SIGINT, signal.SIGTERM):
        signal.signal(impatient, signal.SIG_IGN)
    try:
        endpoint.close()
    except (RefusedError, UnreachableError) as error:
        return f"Endpoint {endpoint.id} stays enabled, because it could not be removed: {error}"
    return None


def _line(forwarded: Forwarded) -> str:
    result = forwarded.failure if forwarded.status is None else f"{forwarded.status}  {forwarded.ms} ms"
    at, delivery = format_instant(forwarded.at)[_TIME_OF_DAY], forwarded.delivery
    return f"{at}  {delivery.event:{_EVENT_WIDTH}}  {delivery.id}  {result}"


def _names_of(events: str | None) -> list[str]:
    names = [name for each in (events or "").split(",") if (name := each.strip())]
    if [name for name in names if name not in SUBSCRIBABLE]:
        fail(f"--events must be of {', '.join(SUBSCRIBABLE)}.")
    return list(dict.fromkeys(names))
