"""The policies in force for a program at an instant; no other module reads the seeded ones to decide.

``Governed`` is anything with a ``PolicyBook``: the state of a program, or its series. A decision (a route, an approval)
takes the policy at the entry's instant; a measurement takes it at the transfer's own time, so that history that is
loaded late is measured with the policies of its time.
"""

from functools import lru_cache
from typing import Protocol, cast

import msgspec

from clearhold.features.catalogue.thresholds import Thresholds
from clearhold.features.core.money import UsdRate
from clearhold.features.policy.autonomy import AutonomyBook, as_left_by
from clearhold.features.policy.bodies import (
    CLOCK,
    FX,
    KRI,
    LADDER,
    POLICY,
    ActiveVersion,
    ClockPolicy,
    FxBody,
    KriBody,
    LimitLadder,
    PolicyBody,
    policy_sha256,
)
from clearhold.features.policy.book import PolicyBook


class Governed(Protocol):
    """Anything that policies are in force for."""

    @property
    def policies(self) -> PolicyBook: ...


class Autonomous(Governed, Protocol):
    """The state of a program, which has an autonomy beside the policies of its tenant."""

    @property
    def autonomy(self) -> AutonomyBook: ...


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """The policy and the clocks that route an alert, with the digest that its dispositions cite."""

    policy: PolicyBody
    clock: ClockPolicy
    clock_version: str
    sha256: str


def policy_in_force(program: Autonomous, at: int) -> InForce:
    clock = version_in_force(program, CLOCK, at)
    policy = effective_policy(program, at)
    return _in_force(policy, cast(ClockPolicy, clock.body), clock.version)


def effective_policy(program: Autonomous, at: int) -> PolicyBody:
    """What the platform may close alone on this program: the policy in force, as its autonomy tier leaves it."""
    return as_left_by(program.autonomy.body, given_policy(program, at))


def given_policy(program: Governed, at: int) -> PolicyBody:
    """The policy in force as activated, without the program's autonomy."""
    return cast(PolicyBody, version_in_force(program, POLICY, at).body)


def clock_in_force(program: Governed, at: int) -> ClockPolicy:
    return cast(ClockPolicy, version_in_force(program, CLOCK, at).body)


def ladder_in_force(program: Governed, at: int) -> LimitLadder:
    """The limits and the screening cadence of a program at ``at``."""
    return cast(LimitLadder, version_in_force(program, LADDER, at).body)


def kris_in_force(program: Governed, at: int) -> KriBody:
    return cast(KriBody, version_in_force(program, KRI, at).body)


def thresholds_of(program: Governed, at: int) -> Thresholds:
    """The reporting thresholds and lists of countries that a transfer of ``at`` is compared with."""
    return program.policies.thresholds(at)


def usd_rate(program: Governed, currency: str | None, at: int, *, decided_at: int) -> UsdRate | None:
    """The rate of the day of ``at``, of the policy in force at ``decided_at``; None without a policy or a rate."""
    version = program.policies.in_force(FX, decided_at)
    if version is None or currency is None:
        return None
    return cast(FxBody, version.body).table.at(currency, at, version.version)


def version_in_force(program: Governed, prefix: str, at: int) -> ActiveVersion:
    """The version of a prefix that has a seed, so that there always is one."""
    version = program.policies.in_force(prefix, at)
    assert version is not None
    return version


@lru_cache(maxsize=256)
def _in_force(policy: PolicyBody, clock: ClockPolicy, clock_version: str) -> InForce:
    return InForce(policy=policy, clock=clock, clock_version=clock_version, sha256=policy_sha256(policy))
