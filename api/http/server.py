"""The HTTP server in this process: socket, signals, shutdown.

Errors  ``StartupError`` when the address is not available
"""

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import uvicorn
from litestar.types import ASGIApp

from clearhold.api.http.limits import Connections
from clearhold.api.http.protocol import Protocol
from clearhold.store.errors import StartupError

DRAIN_WITHIN_S: Final = 1
KEEP_ALIVE_S: Final = 75
BACKLOG: Final = 2_048
YOUNG_OBJECTS: Final = 5_000
"""Net new objects between two garbage collections."""

_POLL_S: Final = 0.02
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Server(uvicorn.Server):
    """Leaves signals to the composition root, so that the process ends cleanly."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listening_socket(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Bind the address before anything else starts, so that a used port is reported; ``option`` sets the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise StartupError(
                f"Port {port} is already in use on {host}. Choose a different port with {option}."
            ) from error
        raise StartupError(f"Cannot listen on {host}:{port}: {error}.") from error
    return listening


def address_of(listening: socket.socket) -> str:
    """``http://HOST:PORT`` of a bound socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: ASGIApp, connections: Connections, *, protocol: type[Protocol] = Protocol) -> Server:
    config = uvicorn.Config(
        app=app,
        http=partial(protocol, connections=connections),  # type: ignore[arg-type]  # called like the class
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=DRAIN_WITHIN_S,
    )
    return Server(config)


async def serve_until_signalled(
    app: ASGIApp,
    listening: socket.socket,
    connections: Connections,
    *,
    is_ready: Callable[[], bool],
    on_ready: Callable[[], None],
    on_stop: Sequence[Callable[[], None]],
) -> None:
    """Serve; call ``on_ready`` once when ready; return after SIGTERM or SIGINT, when open requests are answered.

    At the signal each of ``on_stop`` is called, to cancel work that takes longer than the last answers may.
    """
    server = server_of(app, connections)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True
        for call in on_stop:
            call()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    announcing = asyncio.create_task(_announce(server, is_ready, on_ready))
    try:
        await server.serve(sockets=[listening])
    finally:
        announcing.cancel()
        await asyncio.gather(announcing, return_exceptions=True)


async def _announce(server: Any, is_ready: Callable[[], bool], on_ready: Callable[[], None]) -> None:
    while not (server.started and await asyncio.to_thread(is_ready)):  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(_POLL_S)
    _look_for_little_garbage()
    on_ready()


def _look_for_little_garbage() -> None:
    """A collection over all objects delays answers most. Present objects are frozen, and the threshold is so high
    that most objects of requests are freed before the next collection.
    """
    gc.freeze()
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, YOUNG_OBJECTS), *older)
