"""Appends items of the scan index to the log: a few at a time, never far ahead of the commits.

An item that is equal to its last version, byte for byte, is not appended again: digests of the last versions are kept
for two imports.

Unit    seconds
Errors  ScanError when the log takes nothing for minutes
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from time import monotonic
from typing import Final

import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.flows.agents.scan_client import ScanError
from clearhold.flows.backfill.step_log import Settle
from clearhold.store.clock import Clock
from clearhold.store.redis_log.appender import LogAppender

AT_ONCE: Final = 16
UNDER_WAY: Final = 12
"""The most appends that wait for their commit: the events of the stream never wait behind more."""

MOST_PER_S: Final = 1_000
"""This many settlements take about half of an interpreted scorer's time; the rest is for events and pre-flights."""

MAX_REMEMBERED: Final = 250_000
MAX_TRIES: Final = 300
_RETRY_S: Final = 0.2
_DIGEST_BYTES: Final = 8

log = structlog.get_logger()


class KnownItems:
    """Digests of the items of a program's newest imports, by the digest of their id, in two generations."""

    def __init__(self) -> None:
        self._now: dict[bytes, bytes] = {}
        self._before: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        content = self._now.get(key)
        return self._before.get(key) if content is None else content

    def put(self, key: bytes, content: bytes) -> None:
        if len(self._now) >= MAX_REMEMBERED:
            self.turn()
        self._now[key] = content

    def turn(self) -> None:
        """After an import: drop items that two imports in a row did not bring."""
        self._before, self._now = self._now, {}


class ItemLog:
    """The log of one program, for an import. Belongs to one event loop."""

    def __init__(
        self, program_id: str, appender: LogAppender, *, shards: int, settle: Settle, clock: Clock, known: KnownItems
    ) -> None:
        self._program_id, self._shard = program_id, shard_of(program_id, shards)
        self._appender, self._settle, self._clock, self.known = appender, settle, clock, known
        self._under_way: deque[int] = deque()
        self._last = 0
        self._due = 0.0

    async def append(self, kind: EntryKind, bodies: Sequence[bytes]) -> int:
        """Append entries in order, once there is room; returns the offset of the last one."""
        while len(self._under_way) >= UNDER_WAY:
            await self._settle(self._shard, self._under_way.popleft())
        await self._take_turn(len(bodies))
        for _ in range(MAX_TRIES):
            try:
                offsets = await self._appender.append_events(
                    self._shard, self._program_id, self._clock.now(), bodies, kind=kind
                )
            except UnavailableError as error:
                log.warning("agent_import_waits", program_id=self._program_id, error=str(error))
                await asyncio.sleep(_RETRY_S)
                continue
            self._under_way.append(offsets[-1])
            self._last = offsets[-1]
            return offsets[-1]
        raise ScanError("The log did not take the items for too long.")

    async def _take_turn(self, items: int) -> None:
        """Wait while the rate of items is too high."""
        now = monotonic()
        if self._due > now:
            await asyncio.sleep(self._due - now)
        self._due = max(self._due, now) + items / MOST_PER_S

    async def settled(self) -> None:
        """Return when all appended entries are committed."""
        self._under_way.clear()
        await self._settle(self._shard, self._last)


def digest_of(item: bytes) -> bytes:
    return blake2b(item, digest_size=_DIGEST_BYTES).digest()
