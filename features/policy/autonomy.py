"""A program's autonomy applied to the policy of its tenant: the closable alerts, and the effect of a change; its
versions, of which the newest is in force; and when the evidence on a detector lets the platform close its alerts alone,
and when it no longer does.

The resulting policy has a version, ``policy-v1.autonomy-v2``, wherever it differs from the tenant's, so that an alert
names both and a disposition cites a body that allows the decision.

Bound   the upper end of the one-sided 95 % interval of Clopper and Pearson on the share of labelled alerts that are bad
Unit    shares are compared as integers or in decimal arithmetic of fixed precision, the same on every machine
Source  risk-domain.md section 7 [P]; C. J. Clopper, E. S. Pearson, Biometrika 26 (1934)
"""

from collections.abc import Collection
from decimal import Context, Decimal
from enum import StrEnum
from functools import lru_cache
from math import comb
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.actions import (
    TIERS,
    AutonomyBody,
    AutonomyTier,
    AutonomyVersion,
    DetectorTally,
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
    """The detectors are not closable any more, and the tier is what that leaves."""
    granted = tuple(name for name in current.granted if name not in detectors)
    body = AutonomyBody(
        version=version,
        tier=current.tier,
        granted=granted,
        withdrawn=tuple(sorted({*current.withdrawn, *detectors})),
        note=note,
    )
    tier = tier_under(policy, body)
    return msgspec.structs.replace(body, tier=tier, granted=() if tier is AutonomyTier.SUPERVISED else granted)


def tier_under(policy: PolicyBody, autonomy: AutonomyBody) -> AutonomyTier:
    """The tier that is in force: ``supervised`` where no detector may be closed alone, and ``trusted`` with a grant."""
    if not closable_detectors(policy, autonomy):
        return AutonomyTier.SUPERVISED
    has_grant = not set(policy.always_reviewed).issuperset(autonomy.granted)
    return AutonomyTier.STANDARD if autonomy.tier is AutonomyTier.TRUSTED and not has_grant else autonomy.tier


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


MOST_BAD: Final = Decimal("0.02")  # the bound, to be eligible
MOST_OVERTURNED_PERCENT: Final = 2
FEWEST_REVIEWED: Final = 50
WITHDRAWN_OVER_PERCENT: Final = 5  # of the reviews of 30 days
WITHDRAWN_FROM_REVIEWED: Final = 20

_MISSED: Final = Decimal("0.05")  # how often the true share may be beyond the bound
_STEPS: Final = 10_000  # the bound is rounded up to four places
_EXACTLY: Final = Context(prec=50, Emin=-(10**12), Emax=10**12)


class Objection(StrEnum):
    """The objection to a detector; more words may be added."""

    ALWAYS_REVIEWED = "always_reviewed"
    BAD_RATE_BOUND = "bad_rate_bound"  # too few labelled alerts, or too many bad ones among them
    REVIEWED_TOO_FEW = "reviewed_too_few"
    OVERTURN_RATE = "overturn_rate"
    OVERTURNED_RECENTLY = "overturned_recently"


def objections(detector: str, tally: DetectorTally, policy: PolicyBody) -> tuple[Objection, ...]:
    """The objections to closing the detector's alerts alone; empty for an eligible one."""
    bound = bad_rate_bound(tally.bad, tally.labelled)
    standing = (
        (Objection.ALWAYS_REVIEWED, detector in policy.always_reviewed),
        (Objection.BAD_RATE_BOUND, bound is None or bound > MOST_BAD),
        (Objection.REVIEWED_TOO_FEW, tally.reviewed < FEWEST_REVIEWED),
        (Objection.OVERTURN_RATE, tally.overturned * 100 > tally.reviewed * MOST_OVERTURNED_PERCENT),
        (Objection.OVERTURNED_RECENTLY, is_overturned_recently(tally)),
    )
    return tuple(objection for objection, is_so in standing if is_so)


def is_overturned_recently(tally: DetectorTally) -> bool:
    """Whether persons overturned too many alerts in 30 days, so that the detector is withdrawn."""
    return (
        tally.recent_reviewed >= WITHDRAWN_FROM_REVIEWED
        and tally.recent_overturned * 100 > tally.recent_reviewed * WITHDRAWN_OVER_PERCENT
    )


@lru_cache(maxsize=1024)
def bad_rate_bound(bad: int, labelled: int) -> Decimal | None:
    """The bound, rounded up to four places; None when nothing is labelled.

    >>> bad_rate_bound(0, 150), bad_rate_bound(0, 148)
    (Decimal('0.0198'), Decimal('0.0201'))
    """
    if not labelled:
        return None
    ways = _EXACTLY.create_decimal(comb(labelled, bad))
    low, high = bad * _STEPS // labelled, _STEPS  # the bound is above ``low`` and at ``high`` at most
    while high - low > 1:
        middle = (low + high) // 2
        if _is_at_least_bound(Decimal(middle) / _STEPS, bad, labelled, ways):
            high = middle
        else:
            low = middle
    return Decimal(high) / _STEPS


def _is_at_least_bound(share: Decimal, bad: int, labelled: int, ways: Decimal) -> bool:
    """Whether a true share this large shows so few bad alerts with a probability of 5 % at most.

    ``ways`` counts the choices of the bad alerts. The probabilities are summed downwards from the observed number until
    they no longer change the sum.
    """
    multiply, divide, add = _EXACTLY.multiply, _EXACTLY.divide, _EXACTLY.add
    odds = divide(1 - share, share)
    term = multiply(multiply(ways, _power(share, bad)), _power(1 - share, labelled - bad))
    total = term
    for number in range(bad, 0, -1):
        term = divide(multiply(multiply(term, odds), Decimal(number)), Decimal(labelled - number + 1))
        before, total = total, add(total, term)
        if total == before or total > _MISSED:
            break
    return total <= _MISSED


def _power(base: Decimal, exponent: int) -> Decimal:
    """By squaring: every product is rounded correctly, which ``Decimal.__pow__`` does not promise."""
    result, square = Decimal(1), base
    while exponent:
        if exponent & 1:
            result = _EXACTLY.multiply(result, square)
        square = _EXACTLY.multiply(square, square)
        exponent >>= 1
    return result
