"""The ``clearhold`` command: a command is imported when it runs, so that help texts come at once."""

import inspect
import os
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from clearhold.api.cli.options import AcceptLoss, Proxy, TakeOver
from clearhold.flows.running.own_python import loaded
from clearhold.store.errors import StartupError

CANNOT_START: Final = 2

_COMMANDS: Final = """
aside      api.cli.lake       Run a program at low priority beside the service; returns its exit code.
backup     api.cli.directory  Back up a data directory, even while the service runs: the whole log, and the record.
restore    api.cli.directory  Create a data directory from a backup: check it, and rebuild the database from the log.
config     api.cli.config     The bank's settings as files in its own git: export, check, plan and apply them.
calibrate  calibrate.command  Fit a scorecard to matured labels, and write it with a report for model-risk review.
check      api.cli.directory  Print the contents of a data directory, and whether log, lake, database and record agree.
demo       demo.command       Start the service on a fresh data directory and move simulated money through it.
explain    api.cli.explain    Print a transfer's score with inputs and reasons, and the nearest amount in another band.
join       api.cli.nodes      Create the data directory of a further node of a log, which then stands by.
lake       api.cli.lake       The lake for analysts: Parquet files behind the commit.
listen     api.cli.listen     Forward the deliveries of a webhook endpoint, signed, to a receiver on this machine.
live       api.cli.live       Readers of the live streams: users of Redis who can read these and nothing else.
nodes      api.cli.nodes      List the nodes of a log in a named Redis: who owns it, who follows, and how far behind.
promote    api.cli.promote    Let a node that stands by own the log: the owner hands it over, and stops.
queue      api.cli.queue      Work the queue at a terminal: the worst first, read, and decide with keys.
rebuild    api.cli.directory  Rebuild the database from the log and the chain files; the old database is set aside.
replay     api.cli.replay     Post a file of bank events, signed. Safe to run again: events are recognised by their id.
rules      api.cli.rules      Rules as files: check them, compare them, backtest them.
sql        api.cli.sql        Query the lake for analysts; without a query, read standard input or prompt on a terminal.
subject    api.cli.exports    Write all stored data about one subject into a file, for an examiner or a court.
verify     api.cli.exports    Check an export of the record or of a subject offline, against kept keys and checkpoints.
serve      api.cli.main       Run the service: embedded Redis, scorers, DuckDB and API.
openapi    api.cli.main       Print the OpenAPI document of this version, as served at /openapi.json.
"""
_ROWS: Final = [row.split(maxsplit=2) for row in _COMMANDS.strip().splitlines()]
COMMANDS: Final = {name: (module, summary) for name, module, summary in _ROWS}
"""The module with the function or group of each name, and its summary, to which a docstring adds."""


class LazyCommands(TyperGroup):
    """Lists names and summaries; a command is imported when it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=summary) for name, (_, summary) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else imported(name), rest


def imported(name: str) -> Any:
    """A command with its options."""
    module, summary = COMMANDS[name]
    part = getattr(import_module(f"clearhold.{module}"), name)
    if isinstance(part, typer.Typer):
        part.info.help = summary
        return get_group(part)
    alone = typer.Typer(add_completion=False)
    settings = {"allow_interspersed_args": False} if name == "aside" else None  # the rest is for its program
    text = "\n\n".join((summary, inspect.getdoc(part) or ""))
    alone.command(name, help=text, context_settings=settings)(part)
    return get_command(alone)


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # their frames can show the values of variables
)


def _print_version(is_wanted: bool) -> None:  # noqa: FBT001 - a flag's callback
    if is_wanted:
        typer.echo(f"clearhold {version('clearhold')}")
        raise typer.Exit


@app.callback()
def clearhold(
    *,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Clearhold scores transfers on a bank's rails for risk, as they happen and before they are sent."""


MetricsPort = Annotated[
    int | None,
    typer.Option(help="Port for /metrics; 0 picks a free one. Default: CLEARHOLD_METRICS_PORT, or 9464 if it is free."),
]
MetricsHost = Annotated[
    str | None,
    typer.Option(help="Address for /metrics, which names tenants. Default: CLEARHOLD_METRICS_HOST, or 127.0.0.1."),
]
ProgramMetrics = Annotated[
    int | None,
    typer.Option(help="Programs that /metrics shows, at most 500. Default: CLEARHOLD_PROGRAM_METRICS, or none."),
]
RedisReplicas = Annotated[
    int | None,
    typer.Option(
        help="Replicas of CLEARHOLD_REDIS_URL that must confirm each write. Default: CLEARHOLD_REDIS_REPLICAS, or none."
    ),
]
Live = Annotated[
    str | None,
    typer.Option(help="on or off: write scores, alerts and KRI snapshots to Redis. Default: CLEARHOLD_LIVE, or on."),
]
LiveEntries = Annotated[
    int | None,
    typer.Option(help="Entries that each program's stream keeps. Default: CLEARHOLD_LIVE_ENTRIES, or 100000."),
]
LiveHours = Annotated[
    int | None, typer.Option(help="Hours for which they are kept. Default: CLEARHOLD_LIVE_HOURS, or 72.")
]


_READY: Final = {"owner": "ready"}
"""The word for a node that accepts requests; another node names its role."""


def serve(
    data: Annotated[Path, typer.Option(help="Data directory; created if it does not exist.", file_okay=False)],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free port.", min=0, max=65_535)] = 8080,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = None,
    program_metrics: ProgramMetrics = None,
    scorers: Annotated[
        int | None,
        typer.Option(help="Scorer processes; 0 scores here. Default: CLEARHOLD_SCORERS, or one a core but the first."),
    ] = None,
    redis_replicas: RedisReplicas = None,
    live: Live = None,
    live_entries: LiveEntries = None,
    live_hours: LiveHours = None,
    accept_loss: AcceptLoss = False,  # noqa: FBT002 - a flag
    take_over: TakeOver = False,  # noqa: FBT002 - a flag
    proxy: Proxy = False,  # noqa: FBT002 - a flag
) -> None:
    """Prints "ready http://HOST:PORT" once it accepts requests, and "standby http://HOST:PORT" while another node owns
    the log. SIGTERM drains the log, saves the state and stops.
    """
    loaded("clearhold.api.app")
    from clearhold.api.app import serve as run_service
    from clearhold.api.settings import Settings

    flags = {"accept_loss": accept_loss, "take_over": take_over, "proxy": proxy}
    try:
        run_service(
            Settings.of(
                data=data,
                host=host,
                port=port,
                environment=os.environ,
                metrics_port=metrics_port,
                metrics_host=metrics_host,
                program_metrics=program_metrics,
                scorers=scorers,
                redis_replicas=redis_replicas,
                live=live,
                live_entries=live_entries,
                live_hours=live_hours,
                **flags,
            ),
            on_ready=lambda address, role: print(f"{_READY.get(role, role)} {address}", flush=True),
        )
    except StartupError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(CANNOT_START) from error
    os._exit(0)  # freeing gigabytes of state object by object would take longer than a stop may take


def openapi(
    *,
    admin: Annotated[bool, typer.Option("--admin", help="The document of the administrative routes instead.")] = False,
) -> None:
    from clearhold.api.areas import openapi_text

    print(openapi_text(administration=admin), end="")


def main() -> None:
    if "--help" not in sys.argv:
        from clearhold.store.logs import configure_logs

        configure_logs()
        if sys.argv[1:2] == ["sql"]:
            from clearhold.api.cli.sql import run_sql_aside

            sys.exit(run_sql_aside(sys.argv[2:]))
    app()
