"""Brings back policies that are in force in the control stream and missing in a program's state.

Both are written in one transaction, so they differ only if entries of a shard were lost and the control streams came
back from the lake (``--accept-loss``). Missing policies are appended again, and count from then on.
"""

import structlog

from clearhold.features.shard.questions import LackingPolicies, Owner
from clearhold.store.control.registry import Registry

log = structlog.get_logger()


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
