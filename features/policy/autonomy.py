"""A program's autonomy applied to the policy of its tenant: the closable alerts, and the effect of a change;
and its versions, of which the newest is in force.

The resulting policy has a version, ``policy-v1.autonomy-v2``, wherever it differs from the tenant's, so that an alert
names both and a disposition cites a body that allows the decision.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.actions import (
    TIERS,
    AutonomyBody,
    AutonomyTier,
    AutonomyVersion,
    autonomy_version,
)
from clearhold.features.core.instants import DAYS_7
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

    Detectors of the policy that are not withdrawn need no evidence; a withdrawn one stays so until it is eligible.
    """
    if is_narrower(tier, current.tier):
        return AutonomyBody(version=version, tier=tier, granted=(), withdrawn=current.withdrawn, note=note)
    listed = set(policy.auto_closable_detectors)
    allowed = closable_but_for_tier(policy, current) | set(eligible)
    granted = allowed - listed if tier is AutonomyTier.TRUSTED else set[str]()
    return AutonomyBody(
        version=version,
        tier=tier,
        granted=tuple(sorted(granted)),
        withdrawn=tuple(sorted((listed | set(current.withdrawn)) - allowed)),
        note=note,
    )


def without(
    current: AutonomyBody, detectors: Collection[str], policy: PolicyBody, *, version: str, note: str
) -> AutonomyBody:
    """The detectors are not closable any more.

    Without a granted detector ``trusted`` falls to ``standard``; without a closable one every tier to ``supervised``.
    """
    granted = tuple(name for name in current.granted if name not in detectors)
    falls = current.tier is AutonomyTier.TRUSTED and not granted
    body = AutonomyBody(
        version=version,
        tier=AutonomyTier.STANDARD if falls else current.tier,
        granted=granted,
        withdrawn=tuple(sorted({*current.withdrawn, *detectors})),
        note=note,
    )
    if closable_but_for_tier(policy, body):
        return body
    return msgspec.structs.replace(body, tier=AutonomyTier.SUPERVISED, granted=())


def closable_detectors(policy: PolicyBody, autonomy: AutonomyBody) -> set[str]:
    return set() if autonomy.tier is AutonomyTier.SUPERVISED else closable_but_for_tier(policy, autonomy)


def closable_but_for_tier(policy: PolicyBody, autonomy: AutonomyBody) -> set[str]:
    """The detectors that ``supervised`` alone would keep from being closed without a person."""
    closable = set(policy.auto_closable_detectors) - set(autonomy.withdrawn)
    return closable | (set(autonomy.granted) - set(policy.always_reviewed))


WIDENED_ONCE_IN_US: Final = DAYS_7
AS_THE_POLICY_STANDS: Final = AutonomyBody(
    version=autonomy_version(0), tier=AutonomyTier.STANDARD, granted=(), withdrawn=(), note=""
)
"""The autonomy of a program without a recorded version."""


class AutonomyBook:
    __slots__ = ("versions", "widened_at")

    def __init__(self) -> None:
        self.versions: list[AutonomyVersion] = []  # oldest first
        self.widened_at: int | None = None

    @property
    def body(self) -> AutonomyBody:
        return self.versions[-1].body if self.versions else AS_THE_POLICY_STANDS

    @property
    def version(self) -> str | None:
        """None for a program without a recorded version."""
        return self.versions[-1].body.version if self.versions else None

    @property
    def next_widening_at(self) -> int | None:
        """The instant from which it may be widened again; None when it never was."""
        return None if self.widened_at is None else self.widened_at + WIDENED_ONCE_IN_US

    @property
    def next_version(self) -> str:
        return autonomy_version(len(self.versions) + 1)

    def put_in_force(self, body: AutonomyBody, at: int, *, widens: bool) -> None:
        self.versions.append(AutonomyVersion(body=body, created_at=at))
        if widens:
            self.widened_at = at

    def dump(self) -> Any:
        return self.versions, self.widened_at

    def load(self, dumped: Any) -> None:
        versions, self.widened_at = dumped
        self.versions = msgspec.convert(versions, list[AutonomyVersion])
