"""One HTTP/1.1 connection to a program's ingest route that carries several requests at a time.

The server answers a connection's requests one after the other, so what is sent in order is taken in order, and the
sender still does not wait a round trip an event.

Limits  the caller keeps few enough in flight that their answers fit in the socket's buffers (``MAX_IN_FLIGHT``)
Errors  ``OSError`` when the connection is lost; what was sent and not answered may or may not have been taken
"""

import socket
import ssl
from collections import deque
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import httptools
import msgspec

from api.client.client import ANSWER_TIMEOUT_S, ENDPOINT_HEADER, SIGNATURE_HEADER, ingest_path, sign

MAX_IN_FLIGHT: Final = 256
READ_BYTES: Final = 65_536


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where events go, and what they are signed with."""

    url: str
    program_id: str
    secret: str
    endpoint_id: str | None = None
    timeout_s: float = ANSWER_TIMEOUT_S


class EventAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the service said to one event. After ``last`` the server closes the connection."""

    status: int
    body: bytes
    last: bool


class EventPipe:
    """Sends events and reads their answers, in the same order."""

    def __init__(self, target: Target) -> None:
        parts = urlsplit(target.url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"{target.url} is not an http:// or https:// address")
        self._secret = target.secret
        self._head = _head(parts.netloc.rpartition("@")[2], parts.path, target)
        self._reader = _AnswerReader()
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._socket = socket.create_connection((parts.hostname, port), timeout=target.timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "https":
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=parts.hostname)

    def send(self, bodies: Iterable[bytes]) -> None:
        """Hand over events without waiting for their answers."""
        requests = [b"%b%d\r\n%b\r\n\r\n%b" % (self._head, len(body), self._signature(body), body) for body in bodies]
        if requests:
            self._socket.sendall(b"".join(requests))

    def answers(self) -> list[EventAnswer]:
        """At least one answer, waiting for it if need be, and whatever else has come with it."""
        while not self._reader.finished:
            received = self._socket.recv(READ_BYTES)
            if not received:
                raise ConnectionResetError("the service closed the connection")
            try:
                self._reader.parser.feed_data(received)
            except httptools.HttpParserError as error:
                raise ConnectionResetError("what came back is not HTTP") from error
        answers = list(self._reader.finished)
        self._reader.finished.clear()
        return answers

    def close(self) -> None:
        self._socket.close()

    def _signature(self, body: bytes) -> bytes:
        return f"{SIGNATURE_HEADER}: {sign(self._secret, body)}".encode()


class _AnswerReader:
    """The callbacks of the response parser, which goes on with the next answer by itself."""

    def __init__(self) -> None:
        self.finished: deque[EventAnswer] = deque()
        self.parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []

    def on_message_begin(self) -> None:
        self._body = []

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self.parser.get_status_code()
        if status >= 200:  # noqa: PLR2004 - 1xx is a remark before the answer
            last = not self.parser.should_keep_alive()
            self.finished.append(EventAnswer(status=status, body=b"".join(self._body), last=last))


def _head(host: str, prefix: str, target: Target) -> bytes:
    """The request as far as the length of its body, the same for every event."""
    lines = [
        f"POST {prefix.rstrip('/')}{ingest_path(target.program_id)} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        *([f"{ENDPOINT_HEADER}: {target.endpoint_id}"] if target.endpoint_id is not None else []),
        "Content-Length: ",
    ]
    text = "\r\n".join(lines)
    if any(ord(letter) < ord(" ") for line in lines for letter in line):
        raise ValueError("the address, program and endpoint may not hold control characters")
    return text.encode()
