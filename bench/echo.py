"""The least that the same framework, server, loop and parser can do: an endpoint that answers what it was sent."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import uvicorn
from litestar import Litestar, post
from litestar.params import JSONBody


@post("/api/preflight")
async def echo(data: JSONBody[dict[str, Any]]) -> dict[str, Any]:
    return data


@contextmanager
def echoing() -> Iterator[tuple[str, int]]:
    """The address of an echo endpoint in a separate process."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    pipe.send(listening.getsockname())
    app = Litestar([echo], openapi_config=None)
    config = uvicorn.Config(
        app=app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
    )
    uvicorn.Server(config).run(sockets=[listening])
