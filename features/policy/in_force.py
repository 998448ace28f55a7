"""The policies in force for a program or a tenant at an instant; no other module reads the seeded ones to decide.

A tenant cannot activate a policy yet. Until it can, every program and every instant has the seeded policies, so the
arguments below do not change the result: they are the ones a lookup needs, and callers pass them already.
"""

from typing import Final

import msgspec

from features.policy.bodies import ClockPolicy, LimitLadder, PolicyBody, PolicyVersion, policy_sha256
from features.policy.seeds import CLOCK_V1, CLOCK_VERSION, LADDER_V1, POLICY_V1, seeded_policies


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """The policy and the clocks that route an alert, with the digest that its dispositions cite."""

    policy: PolicyBody
    clock: ClockPolicy
    clock_version: str
    sha256: str


_SEEDED: Final = InForce(policy=POLICY_V1, clock=CLOCK_V1, clock_version=CLOCK_VERSION, sha256=policy_sha256(POLICY_V1))


def policy_in_force(program_id: str, at: int) -> InForce:  # noqa: ARG001 - see the module's docstring
    """The policy and the clocks of a program at ``at``."""
    return _SEEDED


def clock_in_force(tenant_id: str, at: int) -> ClockPolicy:  # noqa: ARG001 - see the module's docstring
    """The decision clocks of a tenant at ``at``."""
    return CLOCK_V1


def ladder_in_force(program_id: str, at: int) -> LimitLadder:  # noqa: ARG001 - see the module's docstring
    """The limits and the screening cadence of a program at ``at``."""
    return LADDER_V1


def policies_of_tenant(tenant_id: str, created_at: int) -> tuple[PolicyVersion, ...]:
    """Every policy that a tenant has had since it was created, as recorded: the seeded ones."""
    return seeded_policies(tenant_id, created_at)
