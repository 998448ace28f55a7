"""The port for Prometheus: only ``GET /metrics``, on a separate thread.

It is meant for this machine or an internal network: no TLS, no credentials. It answers one request at a time, within a
few seconds, outside the event loop of the interface.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from clearhold.api.http.server import address_of, listening_socket
from clearhold.store.errors import StartupError

PATH: Final = "/metrics"
USUAL_PORT: Final = 9464
_ANSWER_WITHIN_S: Final = 5
_STOP_POLL_S: Final = 0.1

log = structlog.get_logger()


@contextmanager
def metrics_socket(host: str, port: int | None) -> Iterator[socket.socket | None]:
    """The socket for the named port, or for the default one, without which the service also starts.

    Raises StartupError when the named port is not available.
    """
    try:
        listening = listening_socket(host, USUAL_PORT if port is None else port, option="--metrics-port")
    except StartupError as error:
        if port is not None:
            raise
        log.warning("metrics_off", reason=str(error))
        yield None
        return
    with closing(listening):
        yield listening


@contextmanager
def metrics_served(listening: socket.socket | None, registry: CollectorRegistry) -> Iterator[None]:
    """Answer on the socket until the end of the block."""
    if listening is None:
        yield
        return
    log.info("metrics_on", address=address_of(listening) + PATH)
    server = _Server(listening, registry)
    thread = Thread(target=server.serve_forever, args=(_STOP_POLL_S,), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(_ANSWER_WITHIN_S)


class _Server(HTTPServer):
    def __init__(self, listening: socket.socket, registry: CollectorRegistry) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.registry = registry

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        log.warning("metrics_not_given", error=repr(sys.exc_info()[1]))


class _Handler(BaseHTTPRequestHandler):
    timeout = _ANSWER_WITHIN_S
    server: _Server

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"This port serves /metrics only.\n")
            return
        encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        self._answer(HTTPStatus.OK, content_type, encode(self.server.registry))

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Drop the base class's own lines on standard error."""

    def version_string(self) -> str:
        return "clearhold"
