"""A receiver of webhooks on this machine: it keeps what it was sent, and answers as a test says."""

import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self


class Received(NamedTuple):
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        return self.headers[name.lower()]


class WebhookReceiver:
    """``answer`` gets the number of the request and gives its status, or writes its own answer and gives None."""

    def __init__(self, answer: Callable[[int, BaseHTTPRequestHandler], int | None] | None = None) -> None:
        self.received: list[Received] = []
        self.at_once = 0
        self.most_at_once = 0
        self.answer = answer or (lambda _number, _handler: 200)
        self._counting = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._take(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a sender that left is no news
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/hooks?bank=first"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, count: int, *, within_s: float = 60.0) -> list[Received]:
        """All that came, once that is so many."""
        deadline = time.monotonic() + within_s
        while len(self.received) < count:
            assert time.monotonic() < deadline, f"{len(self.received)} of {count} came"
            time.sleep(0.01)
        return list(self.received)

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self._counting:
            self.received.append(Received({name.lower(): value for name, value in handler.headers.items()}, body))
            number = len(self.received)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            status = self.answer(number, handler)
            if status is not None:
                handler.send_response(status)
                handler.send_header("Content-Length", "2")
                handler.end_headers()
                handler.wfile.write(b"ok")
        finally:
            with self._counting:
                self.at_once -= 1
