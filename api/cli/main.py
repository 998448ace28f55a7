"""The ``clearhold`` command."""

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import typer

from clearhold.api.app import serve as run_service
from clearhold.api.areas import openapi_text
from clearhold.api.cli import directory, explain, exports, lake, listen, replay, rules, sql
from clearhold.api.cli.options import AcceptLoss
from clearhold.api.settings import MOST_SCORERS, Settings
from clearhold.api.telemetry.metrics import MOST_PROGRAMS
from clearhold.calibrate import command as calibrate
from clearhold.demo import command as demo
from clearhold.store.errors import StartupError
from clearhold.store.logs import configure_logs

CANNOT_START: Final = 2

MetricsPort = Annotated[
    int | None,
    typer.Option(
        help="Port for /metrics; 0 picks a free port. Default: CLEARHOLD_METRICS_PORT, or 9464 if it is free.",
        min=0,
        max=65_535,
    ),
]
MetricsHost = Annotated[
    str | None,
    typer.Option(help="Address for /metrics, which names tenants. Default: CLEARHOLD_METRICS_HOST, or 127.0.0.1."),
]
ProgramMetrics = Annotated[
    int | None,
    typer.Option(
        help="Programs whose risk indicators and scores /metrics shows, at most. Default: CLEARHOLD_PROGRAM_METRICS, "
        "or none.",
        min=0,
        max=MOST_PROGRAMS,
    ),
]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # their frames can show the values of variables
)
app.command(context_settings={"allow_interspersed_args": False})(lake.aside)
app.command()(directory.backup)
app.command()(directory.restore)
calibrate.register(app)
app.command()(directory.check)
demo.register(app)
app.command()(explain.explain)
lake.register(app)
app.command()(listen.listen)
app.command()(directory.rebuild)
app.command()(replay.replay)
rules.register(app)
app.command()(sql.sql)
app.command()(exports.subject)
app.command()(exports.verify)


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


@app.command()
def serve(
    data: Annotated[Path, typer.Option(help="Data directory; created if it does not exist.", file_okay=False)],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free port.", min=0, max=65_535)] = 8080,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = None,
    program_metrics: ProgramMetrics = None,
    scorers: Annotated[
        int | None,
        typer.Option(
            help="Scorer processes; 0 scores in this process. Default: CLEARHOLD_SCORERS, or one a core but the first.",
            min=0,
            max=MOST_SCORERS,
        ),
    ] = None,
    accept_loss: AcceptLoss = False,  # noqa: FBT002 - a flag
) -> None:
    """Run the service: embedded Redis, scorers, DuckDB and API.

    Prints "ready http://HOST:PORT" once it accepts requests. SIGTERM drains the log, saves the state and stops.
    """
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
                accept_loss=accept_loss,
            ),
            on_ready=lambda address: print(f"ready {address}", flush=True),
        )
    except StartupError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(CANNOT_START) from error
    # Everything is closed by now; freeing gigabytes of state object by object would take longer than a stop may take.
    sys.stderr.flush()
    os._exit(0)


@app.command()
def openapi(
    *,
    admin: Annotated[bool, typer.Option("--admin", help="The document of the administrative routes instead.")] = False,
) -> None:
    """Print the OpenAPI document of this version, as served at /openapi.json."""
    print(openapi_text(administration=admin), end="")


def main() -> None:
    configure_logs()
    if sys.argv[1:2] == ["sql"]:
        sys.exit(sql.run_sql_aside(sys.argv[2:]))
    app()
