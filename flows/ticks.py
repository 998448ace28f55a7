"""Appends a tick to each shard every minute, so that time is in the log.

Errors  none: while the log is unreachable there are no ticks
"""

import asyncio
from typing import Final

import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.clock import Clock
from clearhold.store.redis_log.appender import LogAppender

log = structlog.get_logger()
_BEHIND_S: Final = 0.005  # a timer may wake a millisecond early, and the minute would have two ticks


async def tick_every_minute(appender: LogAppender, *, shards: int, clock: Clock) -> None:
    """Run until cancelled; ticks fall just behind the full minute."""
    while True:
        await asyncio.sleep((MINUTE_US - clock.now() % MINUTE_US) / SECOND_US + _BEHIND_S)
        now = clock.now()
        try:
            await asyncio.gather(*(appender.append(shard, EntryKind.TICK, "", now, b"") for shard in range(shards)))
        except UnavailableError as error:
            log.warning("tick_missed", error=str(error))
