"""The readers of a feed, and their connections.

A reader that waits for events has no task that a commit would wake: the feed writes to its connection directly, the
same bytes for all readers that want the same.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from clearhold.features.live.reading import End, Wanted

BACKLOG_BYTES: Final = 256 * 1024
STALL_WITHIN_S: Final = 60.0


class Connection(Protocol):
    """What a reader needs of its transport."""

    def write(self, data: bytes) -> None: ...

    def get_write_buffer_size(self) -> int: ...

    def is_closing(self) -> bool: ...


def framed(body: bytes) -> bytes:
    """A chunk of an HTTP/1.1 body."""
    return b"%x\r\n%s\r\n" % (len(body), body)


class FeedReader:
    """One open answer, on the event loop. ``renewed`` gives what its caller may see now, or raises a refusal."""

    __slots__ = ("_connection", "_lags_since", "ended", "renewed", "tenant_id", "wanted")

    def __init__(
        self, tenant_id: str, wanted: Wanted, connection: Connection | None, renewed: Callable[[], Wanted]
    ) -> None:
        self.tenant_id, self.wanted, self.renewed = tenant_id, wanted, renewed
        self._connection = connection
        self._lags_since: float | None = None
        self.ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()

    def end(self, reason: End) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)

    @property
    def lags(self) -> bool:
        return self._lags_since is not None

    @property
    def follows(self) -> bool:
        """Whether it can be given events as they come."""
        return self._connection is not None

    def write(self, frame: bytes, resync: bytes, now: float) -> bool:
        """Write a chunk, or leave it out for a slow reader. Once that has read all, ``resync`` takes the chunk's place,
        and the answer is True. An empty chunk is nothing to write.
        """
        connection = self._connection
        if connection is None or connection.is_closing() or self.ended.done():
            return False
        if self._lags_since is not None:
            if connection.get_write_buffer_size():
                if now - self._lags_since > STALL_WITHIN_S:
                    self.end(End.STALLED)
                return False
            self._lags_since = None
            connection.write(framed(resync))
            return True
        if connection.get_write_buffer_size() > BACKLOG_BYTES:
            self._lags_since = now
        elif frame:
            connection.write(frame)
        return False
