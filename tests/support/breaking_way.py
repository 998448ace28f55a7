"""A way to a Redis on which the connection of a write breaks where a test wants it."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.support.redis_replicas import HOST

_WRITE: Final = b"SET\r\n$11\r\nlog:written"
_END: Final = b"EXEC\r\n"
_MOST_BYTES: Final = 1 << 20


class Break(StrEnum):
    """Where a write breaks off."""

    BEFORE = "before"  # nothing of it reaches the server
    HALF = "half"  # the server gets its first half
    AFTER = "after"  # the server has executed it, and its answer is lost
    LATE = "late"  # it reaches the server after the connection ended here


class BreakingWay:
    """Passes all bytes to a port; ``breaks`` are those of the next writes."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.breaks: deque[Break] = deque()
        self.broken = 0
        self._opened: list[asyncio.StreamWriter] = []
        self._late: list[tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, on = await asyncio.open_connection(HOST, self.port)
        except OSError:
            writer.close()
            return
        self._opened += [on, writer]
        answering = asyncio.create_task(_pass(back, writer))
        with contextlib.suppress(ConnectionError):
            while some := await reader.read(_MOST_BYTES):
                while _WRITE in some and _END not in some:
                    some += await reader.read(_MOST_BYTES)
                if self.breaks and _WRITE in some:
                    answering.cancel()
                    await asyncio.wait([answering])
                    await self._break(self.breaks.popleft(), some, back, on)
                    writer.transport.abort()
                    return
                on.write(some)
        on.close()
        await answering

    async def _break(self, how: Break, some: bytes, back: asyncio.StreamReader, on: asyncio.StreamWriter) -> None:
        self.broken += 1
        if how is Break.LATE:
            self._late.append((back, on, some))
            return
        if how is not Break.BEFORE:
            on.write(some if how is Break.AFTER else some[: len(some) // 2])
        if how is Break.AFTER:
            await back.read(_MOST_BYTES)
        on.close()

    async def let_arrive(self) -> None:
        """Send the delayed bytes, and wait until the server answers or closes the connection."""
        for back, on, some in self._late:
            with contextlib.suppress(ConnectionError):
                on.write(some)
                await asyncio.wait_for(back.read(_MOST_BYTES), 10)
            on.close()
        self._late.clear()

    def close(self) -> None:
        for each in self._opened:
            each.transport.abort()


@contextlib.asynccontextmanager
async def breaking_way(folder: Path, port: int) -> AsyncIterator[BreakingWay]:
    """A way at ``folder/way.sock``."""
    way = BreakingWay(port)
    async with await asyncio.start_unix_server(way.serve, folder / "way.sock"):
        yield way
        way.close()


async def _pass(back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while some := await back.read(_MOST_BYTES):
            writer.write(some)
    writer.close()
