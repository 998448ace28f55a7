"""Time as log entries: a tick per minute in each shard.

Errors  none: a minute in which the log cannot be reached has no tick, and the next one comes
"""

import asyncio

import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.clock import Clock
from clearhold.store.redis_log.appender import LogAppender

log = structlog.get_logger()


async def tick_every_minute(appender: LogAppender, *, shards: int, clock: Clock) -> None:
    """Run until cancelled; ticks fall on the full minute."""
    while True:
        await asyncio.sleep((MINUTE_US - clock.now() % MINUTE_US) / SECOND_US)
        now = clock.now()
        try:
            await asyncio.gather(*(appender.append(shard, EntryKind.TICK, "", now, b"") for shard in range(shards)))
        except UnavailableError as error:
            log.warning("tick_missed", error=str(error))
