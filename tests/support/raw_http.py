"""The running application behind a real socket, and clients that speak whatever bytes a test hands them."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final, Self

import msgspec

from clearhold.api.http.limits import Connections
from clearhold.api.http.protocol import Protocol
from clearhold.api.http.server import listening_socket, server_of
from tests.support.error_answers import error_of
from tests.support.running_app import RunningApp
from tests.support.waiting import eventually

ANSWERS_WITHIN_S: Final = 60.0


class Answer(msgspec.Struct, frozen=True):
    """One answer as it came over the wire; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The sentence of an error, which must be the envelope under the headers of every answer."""
        assert self.headers["content-type"] == "application/json"
        assert self.headers["score-version"] == "2026-09-17"
        assert self.headers["x-content-type-options"] == "nosniff"
        assert self.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert self.headers["referrer-policy"] == "no-referrer"
        assert self.headers["cache-control"] == "no-store"
        envelope = error_of(self.status, self.body)
        assert envelope["requestId"] == self.headers["x-request-id"]
        sentence: str = envelope["error"]
        return sentence


class RawClient:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWERS_WITHIN_S)
        self._read = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._read.close()
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.socket.sendall(part)

    def answer(self) -> Answer:
        """The next answer, whose length its head must say."""
        status = self._read.readline()
        assert status.startswith(b"HTTP/1.1 "), status
        headers: dict[str, str] = {}
        while (line := self._read.readline()) not in {b"\r\n", b""}:
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return Answer(int(status.split(b" ")[1]), headers, self._read.read(int(headers["content-length"])))

    def is_hung_up_on(self) -> bool:
        """True once the service closed the connection and nothing more came."""
        try:
            return self._read.read(1) == b""
        except ConnectionError:
            return True


@contextmanager
def served(
    api: RunningApp, protocol: type[Protocol] = Protocol, connections: Connections | None = None
) -> Iterator[int]:
    """The application on a port of its own, on its own event loop."""
    with closing(listening_socket("127.0.0.1", 0)) as listening, api.client.portal() as portal:
        server = server_of(api.app, connections or Connections(), protocol=protocol)
        serving = portal.start_task_soon(server.serve, [listening])
        try:
            eventually(lambda: server.started)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            serving.result(ANSWERS_WITHIN_S)
