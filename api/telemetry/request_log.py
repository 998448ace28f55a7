"""One line of the log for each request, written in batches.

A separate write for each line would cost a request more than scoring does, because every write hands the interpreter to
another thread. A crash loses the lines of its last twentieth of a second.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec

from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.store.clock import Clock

FLUSH_AFTER_S: Final = 0.05
UNPROVEN_PER_SECOND: Final = 20
"""Lines a second for unknown callers, whose floods would fill the disk. The metrics count all of them."""

_INFO: Final = "info"


class RequestLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line in the form of the log; from the caller it has only the request id and trace id."""

    request_id: str
    trace_id: str | None
    method: str
    route: str
    status: int
    ms: float
    tenant: str
    principal: str | None
    principal_id: str | None
    event: str = "request"
    level: str = _INFO
    timestamp: str


def to_standard_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class UnloggedLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The number of requests of unknown callers without a line."""

    count: int
    event: str = "requests_not_logged"
    level: str = "warning"
    timestamp: str


class RequestLog:
    """Belongs to the API's event loop; ``write`` gets whole lines."""

    def __init__(self, clock: Clock, write: Callable[[str], object] = to_standard_error) -> None:
        self._clock, self._write = clock, write
        self._lines: list[bytes] = []
        self._second = 0
        self._unproven = 0

    def add(self, **fields: Any) -> None:
        """Add a line; ``fields`` are RequestLine's fields without a default, except ``timestamp``."""
        if fields["principal"] is None and not self._has_room_for_unproven():
            return
        line = RequestLine(**fields, timestamp=format_instant(self._clock.now()))
        self._append(line)

    def _has_room_for_unproven(self) -> bool:
        second = self._clock.now() // SECOND_US
        if second != self._second:
            self._report_unlogged()
            self._second, self._unproven = second, 0
        self._unproven += 1
        return self._unproven <= UNPROVEN_PER_SECOND

    def _report_unlogged(self) -> None:
        unlogged = self._unproven - UNPROVEN_PER_SECOND
        if unlogged > 0:
            self._append(UnloggedLine(count=unlogged, timestamp=format_instant(self._clock.now())))

    def _append(self, line: RequestLine | UnloggedLine) -> None:
        self._lines.append(msgspec.json.encode(line))
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_later(FLUSH_AFTER_S, self.flush)

    def flush(self) -> None:
        """Write the lines that are waiting; called once more when the service stops."""
        lines, self._lines = self._lines, []
        if lines:
            self._write(b"\n".join([*lines, b""]).decode())
