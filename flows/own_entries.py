"""The entries that the service itself appends: a tick a minute in each shard, so that time is in the log, and policies
that a program has lost.

The policies in force are in the control stream and in the programs' state. Both are written in one transaction, so they
differ only if entries of a shard were lost and the control streams came back from the lake (``--accept-loss``). Missing
policies are appended again, and count from then on.

Errors  none: while the log is unreachable there are no ticks
"""

import asyncio
from typing import Final

import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.shard.questions import LackingPolicies, Owner
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
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


async def restore_lost_policies(registry: Registry, owner: Owner) -> None:
    """Append its missing policies to each program; called after the replay, so that late entries do not look lost."""
    for tenant in registry.tenancy.tenants.list_all():
        for place, in_force in registry.policies_by_place(tenant.id):
            question = LackingPolicies(tuple(each.action_id for each in in_force))
            lacking = (await owner.query(place, question)).value if in_force else ()
            for entry in in_force:
                if entry.action_id in lacking:
                    await registry.restore_policy(place, entry)
                    log.warning("lost_policy_restored", program_id=place, version=entry.version)
