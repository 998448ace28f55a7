"""The common part of the simulators of outside APIs: real HTTP on this machine."""

from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Self


class SimulatorServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client may keep its connection


class HttpSimulator:
    """Serves on a free port while the block runs."""

    def __init__(self, server: SimulatorServer) -> None:
        self._server = server
        self._thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"
