"""A stand-in for the service's ingest route: real HTTP in a thread, real signatures, and troubles on demand."""

import hashlib
import hmac
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final

SECRET: Final = "whsec_inbound_test"
PROGRAM: Final = "0b0c4a53-0000-4000-8000-000000000001"
TAKE_THEN_DROP: Final = "take, then drop the connection"
DROP: Final = "drop the connection"
BUSY: Final = "503"
CLOSE: Final = "take, answer, and close the connection"


class FakeService:
    """``troubles`` maps the number of a request, from 1, to what goes wrong with it."""

    def __init__(self, troubles: dict[int, str]) -> None:
        self.troubles = troubles
        self.taken: list[bytes] = []
        self.seen: set[str] = set()
        self.requests = 0
        self.lock = Lock()
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.url = ""

    def take(self, body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            event_id = json.loads(body)["id"]
        except (ValueError, KeyError, TypeError):
            return 400, {"error": "Validation failed: the body is not a bank event"}
        duplicate = event_id in self.seen
        self.seen.add(event_id)
        if not duplicate:
            self.taken.append(body)
        return 200, {"received": True, "duplicate": duplicate}

    def _begin(self, signature: str, body: bytes) -> tuple[str | None, tuple[int, dict[str, Any], str | None] | None]:
        """The trouble planned for this request, and the answer that ends it early, if one does."""
        self.requests += 1
        trouble = self.troubles.get(self.requests)
        expected = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            return trouble, (401, {"error": "The signature is missing or wrong"}, None)
        if trouble == BUSY:
            return trouble, (503, {"error": "The log cannot take entries right now"}, None)
        if trouble == DROP:
            return trouble, (0, {}, DROP)
        return trouble, None

    def ingest(self, signature: str, body: bytes) -> tuple[int, dict[str, Any], str | None]:
        with self.lock:
            trouble, refusal = self._begin(signature, body)
            return refusal or (*self.take(body), trouble)

    def ingest_batch(
        self, signature: str, body: bytes
    ) -> tuple[int, list[dict[str, Any]] | dict[str, Any], str | None]:
        """Each event of a batch; it is one request."""
        with self.lock:
            trouble, refusal = self._begin(signature, body)
            if refusal is not None:
                return refusal
            answers = [self.take(line) for line in body.split(b"\n")]
            return (
                200,
                [answer if status == 200 else answer | {"received": False} for status, answer in answers],
                trouble,
            )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    @property
    def service(self) -> FakeService:
        assert isinstance(self.server, _Server)
        return self.server.service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signature = self.headers.get("Bank-Signature", "")
        ingest = {
            f"/api/ingest/bank/{PROGRAM}": self.service.ingest,
            f"/api/ingest/bank/{PROGRAM}/batch": self.service.ingest_batch,
        }.get(self.path)
        if ingest is not None:
            status, answer, trouble = ingest(signature, body)
            if trouble in (DROP, TAKE_THEN_DROP):
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.reply(status, answer, close=trouble == CLOSE)
        else:
            self.answer_as_configured(body)

    def do_PUT(self) -> None:
        self.answer_as_configured(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self) -> None:
        self.answer_as_configured(b"")

    def answer_as_configured(self, body: bytes) -> None:
        service = self.service
        with service.lock:
            service.requests += 1
            service.asked.append((self.command, self.path, dict(self.headers), body))
            busy = service.troubles.get(service.requests) == BUSY
        status, answer = service.answers.get(self.path, (404, {"error": "No such route"}))
        self.reply(503 if busy else status, answer, close=False)

    def reply(self, status: int, answer: dict[str, Any] | list[dict[str, Any]], *, close: bool) -> None:
        lines = answer if isinstance(answer, list) else [answer]
        content = b"" if status == 204 else "\n".join(map(json.dumps, lines)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if close:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name the base class gives it
        """Say nothing."""

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True  # The caller went away, which is what some tests are about.

    def finish(self) -> None:
        try:
            super().finish()
        except ConnectionError:
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    service: FakeService

    def shutdown_request(self, request: Any) -> None:
        try:
            super().shutdown_request(request)
        except OSError:
            self.close_request(request)


@contextmanager
def fake_service(troubles: dict[int, str] | None = None) -> Iterator[FakeService]:
    service = FakeService(troubles or {})
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.service = service
        service.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
