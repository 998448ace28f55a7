"""The last use of each API key: noted in memory, written to Redis every few seconds.

It serves the key list only and takes part in no decision, so a crash may lose the last seconds of it.
"""

import asyncio
from typing import Final

import redis
import redis.asyncio
import structlog
from redis.exceptions import RedisError

LAST_USED: Final = "keys:last_used"
FLUSH_EVERY_S: Final = 5.0

log = structlog.get_logger()


class KeyUsage:
    """Belongs to the API's event loop. Instants in microseconds, by key id."""

    def __init__(self, last_used: dict[str, int]) -> None:
        self._last_used = last_used
        self._unwritten: set[str] = set()

    @classmethod
    def read_from(cls, client: redis.Redis) -> "KeyUsage":
        stored = client.hgetall(LAST_USED)
        return cls({key_id.decode(): int(at) for key_id, at in stored.items()})  # type: ignore[union-attr]

    def note(self, key_id: str, at: int) -> None:
        self._last_used[key_id] = at
        self._unwritten.add(key_id)

    def last_used_at(self, key_id: str) -> int | None:
        return self._last_used.get(key_id)

    async def flush(self, client: redis.asyncio.Redis) -> None:
        """Write the uses since the last flush."""
        pending, self._unwritten = self._unwritten, set()
        if not pending:
            return
        try:
            await client.hset(LAST_USED, mapping={key_id: self._last_used[key_id] for key_id in pending})
            pending = set()
        except (RedisError, OSError) as error:
            log.warning("key_usage_not_written", keys=len(pending), reason=type(error).__name__)
        finally:
            self._unwritten |= pending  # The next flush tries again, also after a cancellation.

    async def flush_regularly(self, client: redis.asyncio.Redis) -> None:
        """Flush every few seconds until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            await self.flush(client)
