"""Readers of a benchmark: every path has its latencies, and an answer that is no 200 is no figure."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from bench.readers import Readers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response_only(200 if self.path.startswith("/there") and self.headers["X-Operator"] else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Keep the lines of the base class off standard error."""


@contextmanager
def answering() -> Iterator[tuple[str, int]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield "127.0.0.1", server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_given_two_readers_that_are_stopped_at_once_then_every_path_was_read_by_each() -> None:
    paths = {"one": "/there?n=1", "other": "/there?n=2"}

    with answering() as address, Readers(address, paths, {"X-Operator": "bench"}, count=2) as readers:
        latencies = readers.stop()

    assert latencies.keys() == paths.keys()
    assert all(len(each) >= 2 and min(each) > 0 for each in latencies.values())


def test_given_an_answer_that_is_no_200_then_the_run_ends_with_it() -> None:
    with (
        answering() as address,
        pytest.raises(SystemExit, match="/missing was answered 404"),
        Readers(address, {"one": "/missing"}, {"X-Operator": "bench"}, count=1),
    ):
        pass
