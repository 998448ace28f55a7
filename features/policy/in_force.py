"""Which policies hold for a program at an instant: the one place that is asked."""

from typing import Final

import msgspec

from features.policy.bodies import ClockPolicy, PolicyBody, policy_sha256
from features.policy.seeds import CLOCK_V1, CLOCK_VERSION, POLICY_V1


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """The policy and the clocks that route an alert, with the digest that its dispositions cite."""

    policy: PolicyBody
    clock: ClockPolicy
    clock_version: str
    sha256: str


_SEEDED: Final = InForce(policy=POLICY_V1, clock=CLOCK_V1, clock_version=CLOCK_VERSION, sha256=policy_sha256(POLICY_V1))


def policy_in_force(_program_id: str, _at: int) -> InForce:
    """The tenant's policies as the program has them at ``at``; every program has those that a tenant starts with."""
    return _SEEDED
