"""The share of Redis's memory limit in use. At the limit it refuses to grow (``noeviction``), and callers get a 503.

Idempotency claims stay for a day and would fill it first: they are refused above half of the limit, so that events and
decisions still have room.
"""

import asyncio
import os
from pathlib import Path
from typing import Final

import redis.asyncio
from redis.exceptions import RedisError

EMBEDDED_SHARE: Final = 4
"""The embedded Redis may use a quarter of this process's memory limit."""

LEAST_BYTES: Final = 256 * 1024 * 1024
READ_EVERY_S: Final = 1.0

_CLAIMS_SHARE: Final = 2
_CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


class RedisMemory:
    """The last reading; ``limit_bytes`` 0 is no limit. Belongs to the event loop; any thread may read it."""

    def __init__(self) -> None:
        self.used_bytes = 0
        self.limit_bytes = 0

    @property
    def has_room_for_claims(self) -> bool:
        return not self.limit_bytes or self.used_bytes <= self.limit_bytes // _CLAIMS_SHARE

    async def read(self, client: redis.asyncio.Redis) -> None:
        """Read it now; while Redis does not answer the last reading stays, and other metrics show the outage."""
        try:
            reading = await client.info("memory")
        except (RedisError, OSError):
            return
        self.used_bytes, self.limit_bytes = int(reading["used_memory"]), int(reading["maxmemory"])

    async def read_regularly(self, client: redis.asyncio.Redis) -> None:
        """Read it regularly until cancelled."""
        while True:
            await self.read(client)
            await asyncio.sleep(READ_EVERY_S)


def embedded_limit_bytes() -> int:
    """The limit of an embedded Redis: a share of the machine's memory, or of the container's if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        text = _CGROUP_LIMIT.read_text().strip()
    except OSError:  # no container, or another system
        text = ""
    if text.isdigit():
        memory = min(memory, int(text))
    return max(LEAST_BYTES, memory // EMBEDDED_SHARE)
