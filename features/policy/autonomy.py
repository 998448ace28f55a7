"""A program's autonomy applied to the policy of its tenant: the closable alerts, and the effect of a change.

The resulting policy has a version, ``policy-v1.autonomy-v2``, wherever it differs from the tenant's, so that an alert
names both and a disposition cites a body that allows the decision.
"""

from collections.abc import Collection
from functools import lru_cache

import msgspec

from clearhold.features.core.entries.autonomy import TIERS, AutonomyBody, AutonomyTier
from clearhold.features.policy.bodies import PolicyBody


@lru_cache(maxsize=1024)
def as_left_by(autonomy: AutonomyBody, policy: PolicyBody) -> PolicyBody:
    """The policy that holds on the program: the tenant's where autonomy changes nothing."""
    closable = closable_detectors(policy, autonomy)
    if closable == set(policy.auto_closable_detectors):
        return policy
    return msgspec.structs.replace(
        policy, version=f"{policy.version}.{autonomy.version}", auto_closable_detectors=tuple(sorted(closable))
    )


def is_narrower(tier: AutonomyTier, than: AutonomyTier) -> bool:
    return TIERS.index(tier) < TIERS.index(than)


def changed(
    current: AutonomyBody, tier: AutonomyTier, eligible: Collection[str], policy: PolicyBody, *, version: str, note: str
) -> AutonomyBody:
    """The body that the tier leads to. A tier that is not narrower includes every eligible detector that it can.

    Closable detectors stay closable. A detector of the policy that is neither closable nor eligible is withdrawn, so
    that ``supervised`` keeps only detectors with evidence.
    """
    if is_narrower(tier, current.tier):
        return AutonomyBody(version=version, tier=tier, granted=(), withdrawn=current.withdrawn, note=note)
    listed = set(policy.auto_closable_detectors)
    allowed = closable_detectors(policy, current) | set(eligible)
    granted = allowed - listed if tier is AutonomyTier.TRUSTED else set[str]()
    return AutonomyBody(
        version=version,
        tier=tier,
        granted=tuple(sorted(granted)),
        withdrawn=tuple(sorted((listed | set(current.withdrawn)) - allowed)),
        note=note,
    )


def without(current: AutonomyBody, detectors: Collection[str], *, version: str, note: str) -> AutonomyBody:
    """The detectors are not closable any more; without a granted one the tier is ``standard`` again."""
    granted = tuple(name for name in current.granted if name not in detectors)
    falls = current.tier is AutonomyTier.TRUSTED and not granted
    return AutonomyBody(
        version=version,
        tier=AutonomyTier.STANDARD if falls else current.tier,
        granted=granted,
        withdrawn=tuple(sorted({*current.withdrawn, *detectors})),
        note=note,
    )


def closable_detectors(policy: PolicyBody, autonomy: AutonomyBody) -> set[str]:
    if autonomy.tier is AutonomyTier.SUPERVISED:
        return set()
    closable = set(policy.auto_closable_detectors) - set(autonomy.withdrawn)
    return closable | (set(autonomy.granted) - set(policy.always_reviewed))
