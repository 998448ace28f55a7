"""The number of open connections, in all and from one address, so that idle ones do not block other callers.

Limits  ``RESERVED_FILES`` of the process's files are for the stores; three quarters of the connections may come from
        one address, which may be a proxy for many callers
Errors  ``StartupError`` when the process has too few files to serve
"""

import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import structlog

from clearhold.store.errors import StartupError

MOST_CONNECTIONS: Final = 4_096
RESERVED_FILES: Final = 256
LOG_EVERY_S: Final = 60.0

_MOST_FILES: Final = 65_536
_FEWEST_FILES: Final = 2 * RESERVED_FILES

log = structlog.get_logger()


class Connections:
    """Belongs to the event loop of the server."""

    def __init__(self, most: int = MOST_CONNECTIONS, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._most_of_one = most, most - most // 4
        self._now = now
        self._by_address: Counter[str] = Counter()
        self._logged_at: float | None = None
        self.open = 0
        self.refused = 0

    def add(self, address: str) -> bool:
        """Whether there is room for one more. It counts until it is removed, also without room."""
        self.open += 1
        self._by_address[address] += 1
        if self.open <= self._most and self._by_address[address] <= self._most_of_one:
            return True
        self.refused += 1
        if self._logged_at is None or self._now() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = self._now()
            log.warning("connections_refused", open=self.open - 1, limit=self._most, refused_so_far=self.refused)
        return False

    def remove(self, address: str) -> None:
        self.open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


def raise_file_limit() -> int:
    """Raise the process's limit of files to its maximum; returns the number of connections that fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if files < _FEWEST_FILES:
        raise StartupError(
            f"The process may open {files} files; raise its limit (ulimit -n) to {_FEWEST_FILES} or more."
        )
    return min(MOST_CONNECTIONS, files - RESERVED_FILES)
