"""Brings back policies that a program's state lacks although the control stream has them in force.

Both are written in one transaction, so they differ only where entries of a shard were lost for good while the control
streams came back from the lake (``--accept-loss``). What is missing is appended again, and counts from then on.
"""

import structlog

from clearhold.features.shard.questions import LackingPolicies, Owner
from clearhold.store.control.registry import Registry

log = structlog.get_logger()


async def restore_lost_policies(registry: Registry, owner: Owner) -> None:
    """Append to each program what it lacks; for when the log is replayed, so that nothing is merely late."""
    for tenant in registry.tenancy.tenants.list_all():
        for place, in_force in registry.policies_by_place(tenant.id):
            question = LackingPolicies(tuple(each.action_id for each in in_force))
            lacking = (await owner.query(place, question)).value if in_force else ()
            for entry in in_force:
                if entry.action_id in lacking:
                    await registry.restore_policy(place, entry)
                    log.warning("lost_policy_restored", program_id=place, version=entry.version)
