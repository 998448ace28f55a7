"""Brings back policies that a program's state lacks although the control stream has them in force.

Both are written in one transaction, so they differ only where entries of a shard were lost for good while the control
streams came back from the lake (``--accept-loss``). What is missing is appended again, and counts from then on.
"""

from typing import Final

import msgspec
import structlog

from features.core.log_entry import EntryKind, shard_of
from features.core.policies import PolicyEntry
from features.shard.questions import LackingPolicies, Owner
from store.clock import Clock
from store.control.registry import Registry
from store.redis_log.appender import LogAppender

_ENCODE: Final = msgspec.json.Encoder().encode

log = structlog.get_logger()


async def restore_lost_policies(
    registry: Registry, owner: Owner, appender: LogAppender, clock: Clock, *, shards: int
) -> None:
    """Append to each program what it lacks; for when the log is replayed, so that nothing else can be missing."""
    for tenant in registry.tenancy.tenants.list_all():
        for place, in_force in registry.policies_by_place(tenant.id):
            if in_force:
                await _restore(place, in_force, owner, appender, clock, shards=shards)


async def _restore(
    place: str,
    in_force: tuple[PolicyEntry, ...],
    owner: Owner,
    appender: LogAppender,
    clock: Clock,
    *,
    shards: int,
) -> None:
    lacking = (await owner.query(place, LackingPolicies(tuple(each.action_id for each in in_force)))).value
    for entry in in_force:
        if entry.action_id in lacking:
            shard = shard_of(place, shards)
            await appender.append(shard, EntryKind.POLICY, place, clock.now(), _ENCODE(entry))
            log.warning("lost_policy_restored", program_id=place, version=entry.version)
