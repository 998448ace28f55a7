"""The service under the demo: ``clearhold serve`` as a child process.

Errors  ``DemoError`` with one sentence, and the end of the service's log if it has the reason
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from clearhold.client.client import ClearholdClient
from clearhold.demo.bank_api import BankApi
from clearhold.demo.scan_index import ScanIndex
from clearhold.flows.running.own_python import import_environment

HOST: Final = "127.0.0.1"
READY_WITHIN_S: Final = 60.0
STOPPED_WITHIN_S: Final = 20.0
POLL_S: Final = 0.05
LOG_LINES: Final = 15
REQUESTS_PER_SECOND: Final = 200  # a history of months names all parties within seconds


class DemoError(Exception):
    """Why the demo cannot go on."""


def serve_command(data_dir: Path, port: int) -> list[str]:
    """``clearhold serve`` under the demo's interpreter; ``-P`` keeps modules of the working directory out."""
    serve = [sys.executable, "-P", "-c", "from clearhold.api.cli.start import main; main()", "serve"]
    return [*serve, "--data", str(data_dir), "--host", HOST, "--port", str(port)]


def reaching(api: BankApi, index: ScanIndex) -> dict[str, str]:
    """The service's settings for the simulated bank, on loopback in plain HTTP with a higher rate, and for the
    simulated scan index.
    """
    return {
        "CLEARHOLD_BANK_URL": api.url,
        "CLEARHOLD_SCAN_INDEX_URL": index.url,
        "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1",
        "CLEARHOLD_BANK_RATE": str(REQUESTS_PER_SECOND),
    }


def require_free(port: int) -> None:
    """Fail now, rather than call a different service on this port later."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise DemoError(
                f"Port {port} is taken on {HOST}; name another with --port, or stop what listens there."
            ) from error


class Service:
    """Runs while the block runs."""

    def __init__(
        self, command: list[str], *, url: str, log_path: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._command = command
        self._environment = os.environ | import_environment() | dict(environment or {})
        self._url = url
        self._log_path = log_path

    def __enter__(self) -> Self:
        with self._log_path.open("wb") as log:
            # A separate session: Ctrl-C reaches the demo only, which then stops the service.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def require_running(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise DemoError(f"The service ended with code {code}.\n{self._last_words()}")

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        with ClearholdClient(self._url) as client:
            while not client.ready():
                self.require_running()
                if time.monotonic() > deadline:
                    raise DemoError(f"The service was not ready within {READY_WITHIN_S:.0f} s.\n{self._last_words()}")
                time.sleep(POLL_S)

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOPPED_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def _last_words(self) -> str:
        lines = self._log_path.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"Its log ({self._log_path}) ends with:", *lines])
