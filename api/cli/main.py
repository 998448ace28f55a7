"""The ``clearhold`` command."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from api.app import serve as run_service
from api.areas import PROVIDERS, ROUTES
from api.cli import explain, rebuild, replay, verify
from api.http.http_app import public_document
from api.settings import Settings
from store.data_dir import StartupError

CANNOT_START: Final = 2

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # their frames can show what was in a variable
    help="Clearhold scores money movement while it happens.",
)
explain.register(app)
rebuild.register(app)
replay.register(app)
verify.register(app)


@app.callback()
def clearhold() -> None:
    """Clearhold scores money movement while it happens."""


@app.command()
def serve(
    data: Annotated[Path, typer.Option(help="The data directory; made when it is not there.", file_okay=False)],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65_535)] = 8080,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="The port for /metrics, on the same host; 0 takes a free one. Left out: 9464, if it is free.",
            min=0,
            max=65_535,
        ),
    ] = None,
) -> None:
    """Run the service: embedded Redis, DuckDB, flow and API in one process.

    Prints "ready http://HOST:PORT" once it can serve. SIGTERM drains, checkpoints and stops.
    """
    try:
        run_service(
            Settings.of(data=data, host=host, port=port, environment=os.environ, metrics_port=metrics_port),
            on_ready=lambda address: print(f"ready {address}", flush=True),
        )
    except StartupError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(CANNOT_START) from error
    # All is closed by now. Giving gigabytes of state back object by object would take longer than a stop may.
    sys.stderr.flush()
    os._exit(0)


@app.command()
def openapi() -> None:
    """Print the OpenAPI document of this version, as it is served at /openapi.json."""
    print(msgspec.json.format(public_document(ROUTES, PROVIDERS, base_url="http://127.0.0.1:8080"), indent=2).decode())


def main() -> None:
    app()
