"""``clearhold queue``: the waiting alerts of a running service at a terminal, the worst first, to read and to decide.

Exit codes  0 ended with q, or the list was printed; 2 the service refused the list or did not answer
"""

import json
import signal
from typing import Annotated, Final

import typer

from clearhold.api.cli.options import Url, check_header, fail, token_option

MOST_AT_ONCE: Final = 100


def queue(
    url: Url,
    token: Annotated[str, token_option("An operator token, or an API key of scopes alerts:read and alerts:decide.")],
    operator: Annotated[
        str | None,
        typer.Option(
            envvar="CLEARHOLD_OPERATOR", help="Your name, which signs what you decide.", callback=check_header
        ),
    ] = None,
    program: Annotated[str | None, typer.Option(help="Id of a program; without it, all programs.")] = None,
    limit: Annotated[int, typer.Option(help="Items at a time.", min=1, max=MOST_AT_ONCE)] = 50,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the items, one JSON object a line, and end.")] = False,
) -> None:
    """Stacks of alerts that belong together, where the service has stacks. At a terminal, keys read and choose, and a
    typed yes signs; otherwise one page is printed as plain lines.
    """
    from clearhold.api.cli.queue_session import Queue, QueueSession
    from clearhold.api.cli.terminal import Terminal, inert
    from clearhold.client.answers import RefusedError, UnreachableError
    from clearhold.client.client import ClearholdClient

    is_session = not as_json and Terminal.is_there()
    if is_session and operator is None:
        fail("Name yourself with --operator: decisions are signed with your name.")
    name = operator or "clearhold queue"
    filters = {} if program is None else {"programId": program}
    with ClearholdClient(url, token=token, operator=name, max_tries=2) as client:
        waiting = Queue(client, filters, limit=limit)
        try:
            waiting.read_more()
            if is_session:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                QueueSession(client, waiting, Terminal(), name).run()
                return
        except KeyboardInterrupt:
            typer.echo("Ended. Nothing is signed without a typed yes.")
            return
        except (RefusedError, UnreachableError) as error:
            fail(inert(str(error)))
        for item in waiting.items:
            typer.echo(json.dumps(item.whole) if as_json else inert(item.line()))
