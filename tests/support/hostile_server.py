"""A server that answers with bytes of a test's choice, on threads: what it does costs the test's event loop nothing."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final, Self

Script = Callable[[socket.socket, int], None]
"""Gets a connection and its number, from 1 on; the connection closes at its end."""

_END: Final = b"\r\n\r\n"


def read_request(connection: socket.socket) -> bytes:
    """The head of a request without a body; b"" when the client has closed."""
    head = b""
    while _END not in head:
        part = connection.recv(65_536)
        if not part:
            return b""
        head += part
    return head


class HostileServer:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.connections = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            self._script(connection, number)
