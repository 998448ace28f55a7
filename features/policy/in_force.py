"""The policies of one program: by prefix the versions that came into force, each with the instant from which it counts;
no other module reads the seeded ones to decide.

A version activated for the program has precedence over one for the whole tenant. Without an activation the seeds are in
force, so an empty book is complete. Rules count from their entry on, whatever the clock says, so replaced versions of
rules are not kept.

``Governed`` is anything with a ``PolicyBook``: the state of a program, or its series. A decision (a route, an approval)
takes the policy at the entry's instant; a measurement takes it at the transfer's own time, so that history that is
loaded late is measured with the policies of its time.

Errors  none: a prefix without a seed, and without a version at that instant, is None
"""

from bisect import bisect_right
from functools import lru_cache
from typing import Any, Final, Protocol, cast

import msgspec

from clearhold.features.catalogue.thresholds import COUNTRY_LISTS, Thresholds
from clearhold.features.core.money import UsdRate
from clearhold.features.policy.autonomy import AutonomyBook, as_left_by
from clearhold.features.policy.bodies import (
    CLOCK,
    FX,
    KRI,
    LADDER,
    LIMITS,
    POLICY,
    RULES,
    SHADOW,
    THRESHOLDS,
    ActiveVersion,
    ClockPolicy,
    FxBody,
    KriBody,
    LimitLadder,
    LimitsBody,
    PolicyBody,
    RulesBody,
    ThresholdsBody,
    decode_body,
    policy_sha256,
    prefix_of,
    shared_rates,
)
from clearhold.features.policy.rule_set import RuleSet, rule_set, shared_body
from clearhold.features.policy.seeds import SEEDS
from clearhold.features.windows.series import ALWAYS

SEEDED: Final = {
    prefix_of(version): ActiveVersion(version=version, body=body, since=ALWAYS, action_id="", of_program=False)
    for version, body in SEEDS
}


class PolicyBook:
    """At most one version of a prefix counts at an instant; versions are only ever added, in the order of the log."""

    def __init__(self, program_id: str) -> None:
        self._program_id = program_id
        self._of_tenant: dict[str, list[ActiveVersion]] = {}
        self._of_program: dict[str, list[ActiveVersion]] = {}
        self._activations: set[str] = set()
        self._last = SEEDED  # by prefix: the version that counts from its instant on
        self._thresholds = _SEEDED_THRESHOLDS  # by version, compiled once
        self._capped: dict[str, Thresholds] = {}  # the same with the program's caps among their lines
        self._rule_set: RuleSet | None = None  # None until a transfer is matched with it

    def activate(self, version: ActiveVersion) -> ActiveVersion | None:
        """Bring a version into force, never before the one that it replaces; None if it was applied before."""
        if version.action_id in self._activations:
            return None
        self._activations.add(version.action_id)
        return self._put(version)

    def in_force(self, prefix: str, at: int) -> ActiveVersion | None:
        """The version of a prefix that counts at an instant."""
        last = self._last.get(prefix)
        if last is None or last.since <= at:
            return last
        for book in (self._of_program, self._of_tenant):
            versions = book.get(prefix)
            if versions is not None:
                if versions[-1].since <= at:
                    return versions[-1]
                place = bisect_right(versions, at, key=lambda version: version.since)
                if place:
                    return versions[place - 1]
        return SEEDED.get(prefix)

    def is_only_later(self, version: str, at: int) -> bool:
        """Whether a version came into force only after an instant; true in a replay alone, which knows all rates."""
        prefix = prefix_of(version)
        if self._last[prefix].since <= at:
            return False
        books = (self._of_program.get(prefix, ()), self._of_tenant.get(prefix, ()))
        return all(each.since > at for versions in books for each in versions if each.version == version)

    def thresholds(self, at: int) -> Thresholds:
        """The thresholds that count at an instant, the program's caps among them, ready for use."""
        version, limits = self.in_force(THRESHOLDS, at), self.in_force(LIMITS, at)
        assert version is not None
        thresholds = self._thresholds[version.version]
        return thresholds if limits is None else self._with_caps(thresholds, limits)

    def rules(self) -> RuleSet:
        """The rules of the newest versions that count in the program, ready for use."""
        if self._rule_set is None:
            self._rule_set = rule_set(self._newest(RULES), self._newest(SHADOW), self._program_id)
        return self._rule_set

    def _newest(self, prefix: str) -> ActiveVersion | None:
        versions = self._of_program.get(prefix) or self._of_tenant.get(prefix)
        return versions[-1] if versions else None

    def _with_caps(self, thresholds: Thresholds, limits: ActiveVersion) -> Thresholds:
        assert isinstance(limits.body, LimitsBody)
        version = f"{thresholds.version}+{limits.version}"
        capped = self._capped.get(version)
        if capped is None:
            capped = self._capped[version] = thresholds.with_lines(version, limits.body.lines_cents)
        return capped

    def knows(self, action_id: str) -> bool:
        """Whether the activation by this action was applied; of rules, only the newest is remembered."""
        return action_id in self._activations

    def dump(self) -> Any:
        """Every version that came into force, of each prefix in the order of the log."""
        books = (*self._of_tenant.values(), *self._of_program.values())
        return [msgspec.to_builtins(each) for versions in books for each in versions]

    def load(self, dumped: Any) -> None:
        for fields in dumped:
            body = decode_body(fields["version"], fields["body"])
            if isinstance(body, RulesBody):
                body = shared_body(body)
            elif isinstance(body, FxBody):
                body = shared_rates(body)
            self.activate(ActiveVersion(**{**fields, "body": body}))

    def _put(self, version: ActiveVersion) -> ActiveVersion:
        """Two versions never change places, wherever the clock stood."""
        book = self._of_program if version.of_program else self._of_tenant
        versions = book.setdefault(prefix_of(version.version), [])
        since = max(version.since, versions[-1].since) if versions else version.since
        in_force = msgspec.structs.replace(version, since=since)
        if isinstance(in_force.body, RulesBody):
            self._activations.difference_update([each.action_id for each in versions])
            versions.clear()  # replaced for good: the order of the log decides, not the clock
            self._rule_set = None
        versions.append(in_force)
        last = self._newest(prefix_of(version.version))
        assert last is not None
        self._last = {**self._last, prefix_of(version.version): last}
        if isinstance(version.body, ThresholdsBody):
            self._thresholds = {**self._thresholds, version.version: compiled(version.version, version.body)}
        return in_force


def compiled(version: str, body: ThresholdsBody) -> Thresholds:
    """Thresholds in the form that transfers are compared with."""
    lists = {name: getattr(body, name).countries for name in COUNTRY_LISTS}
    return Thresholds(version, map(int, body.structuring_thresholds_cents), lists)


_SEEDED_THRESHOLDS: Final = {
    each.version: compiled(each.version, each.body) for each in SEEDED.values() if isinstance(each.body, ThresholdsBody)
}


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
    return _in_force(effective_policy(program, at), cast(ClockPolicy, clock.body), clock.version)


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
