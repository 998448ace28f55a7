"""A file of bank events, one JSON object a line, read without waiting for more lines than are needed.

Lines end at LF or CRLF, blank ones are skipped, the last one may lack its ending. A line's bytes are kept exactly,
because they are signed. A line over ``MAX_LINE_BYTES`` is passed on without its body.
"""

import select
from typing import Final, Protocol

import msgspec

MAX_LINE_BYTES: Final = 1_048_576  # what the ingest route takes
READ_BYTES: Final = 262_144


class ByteStream(Protocol):
    """A file, or a pipe that is still being written."""

    def fileno(self) -> int: ...

    def read1(self, size: int, /) -> bytes: ...


class EventLine(msgspec.Struct, frozen=True, kw_only=True):
    """One event; ``body`` is None when the line is too long to send. ``end`` is the file offset after it."""

    number: int
    body: bytes | None
    end: int


class LineReader:
    """Hands out lines in file order."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffered = b""
        self._at = 0  # the part of the buffer that was handed out
        self._dropped = 0  # dropped bytes of an overlong line that has not ended yet
        self._before_buffered = 0
        self._number = 0
        self._ended = False
        self.beginning = b""  # of the file, as much as came with the first read

    def take(self, limit: int, *, wait: bool) -> list[EventLine]:
        """Up to ``limit`` lines; fewer when no more have arrived. With ``wait``, none means the end of the file."""
        taken: list[EventLine] = []
        while len(taken) < limit:
            newline_at = self._buffered.find(b"\n", self._at)
            if newline_at >= 0:
                taken += self._line(newline_at, newline_at + 1)
            elif self._ended:
                taken += self._line(len(self._buffered), len(self._buffered))
                break
            elif (taken or not wait) and not select.select([self._stream], [], [], 0)[0]:
                break
            else:
                self._read()
        return taken

    def _read(self) -> None:
        received = self._stream.read1(READ_BYTES)
        self._ended = not received
        self.beginning = self.beginning or received
        self._before_buffered += self._at
        self._buffered = self._buffered[self._at :] + received
        self._at = 0
        if len(self._buffered) > MAX_LINE_BYTES + READ_BYTES and b"\n" not in self._buffered:
            self._dropped += len(self._buffered)
            self._before_buffered += len(self._buffered)
            self._buffered = b""

    def _line(self, until: int, following: int) -> list[EventLine]:
        """The line that ends at ``until``, unless it is blank."""
        body = self._buffered[self._at : until].removesuffix(b"\r")
        too_long = self._dropped + len(body) > MAX_LINE_BYTES
        self._number += following > self._at or self._dropped > 0
        self._at = following
        self._dropped = 0
        if not too_long and not body.strip():
            return []
        return [EventLine(number=self._number, body=None if too_long else body, end=self._before_buffered + following)]
