"""A dry run of a policy: how the alerts of some days would have been routed, had it been in force when they opened.

An alert is taken as it opened, from the body that its dispositions cite: the inputs of its routing and the answer are
both in there. It is routed again twice, by ``routing.route``: under the version that routed it, which must give the
stored answer, and under the draft. Each time the program's autonomy of that place in the log is applied. Where the
first does not give the stored answer, the second says nothing, and the alert is not considered.

Alerts stay as they opened. Under another policy a finding may have joined an alert that was closed without a
person, or opened a new one: that is not played again.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from clearhold.features.core.entries.actions import AutonomyBody
from clearhold.features.core.vocabulary import Band, Route, Severity, SlaTier, SubjectType
from clearhold.features.policy.autonomy import AS_THE_POLICY_STANDS, as_left_by
from clearhold.features.policy.bodies import PolicyBody
from clearhold.features.policy.routing import Routing, RoutingInput, route

MOST_EXAMPLES: Final = 20


class OpenedAlert(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the stored body of an alert says of its routing; None is a field that the body does not have.

    ``offset`` is the entry in the program's shard that opened it. ``score``, ``band``, ``program_n`` and ``degraded``
    are the evidence's.
    """

    id: str
    program_id: str
    offset: int
    opened_at: int
    detector: str
    severity: str
    subject_type: str
    hard: bool | None
    is_appeal: bool
    is_indicators: bool
    """Whether it is of a snapshot of the program's indicators, which measures neither history nor degraded inputs."""
    score: int | None
    band: str | None
    program_n: int | None
    degraded: bool | None
    policy_version: str
    route: str
    route_reason: str | None
    sla_tier: str
    auto_hold: bool | None


class KnownPolicy(NamedTuple):
    """A stored version; ``of_program`` when it is of one program alone."""

    body: PolicyBody
    of_program: bool


Autonomies = Mapping[str, Sequence[tuple[int, AutonomyBody]]]
"""By program, each version of its autonomy with the offset of its entry, oldest first."""


class NotConsidered(StrEnum):
    """Why the dry run says nothing of an alert."""

    APPEAL = "appeal"
    OWN_POLICY = "own_policy"
    UNKNOWN_POLICY = "unknown_policy"
    INCOMPLETE_EVIDENCE = "incomplete_evidence"
    NOT_REPRODUCED = "not_reproduced"


class Placement(NamedTuple):
    """Where an alert goes as it opens; ``auto_hold``: it opens as held."""

    route: Route
    sla_tier: SlaTier
    auto_hold: bool


class Rerouted(NamedTuple):
    """An alert with its stored routing, and under the draft."""

    alert: OpenedAlert
    before: Routing
    after: Routing

    @property
    def is_otherwise(self) -> bool:
        return placement(self.before) != placement(self.after)


class RunTotals(NamedTuple):
    """``by_detector`` and ``by_program`` have the considered alerts, and how many of them went otherwise."""

    same: int
    not_considered: Counter[NotConsidered]
    changes: Counter[tuple[Placement, Placement]]
    by_detector: dict[str, tuple[int, int]]
    by_program: dict[str, tuple[int, int]]
    examples: tuple[Rerouted, ...]


def placement(routing: Routing) -> Placement:
    return Placement(routing.route, routing.sla_tier, routing.auto_hold)


def dry_run(
    alerts: Iterable[OpenedAlert],
    draft: KnownPolicy,
    versions: Mapping[str, KnownPolicy],
    autonomies: Autonomies,
) -> RunTotals:
    """The totals over the alerts; the examples are the first alerts that go otherwise, in the order given."""
    not_considered, changes = Counter[NotConsidered](), Counter[tuple[Placement, Placement]]()
    detectors, programs = dict[str, tuple[int, int]](), dict[str, tuple[int, int]]()
    examples: list[Rerouted] = []
    same = 0
    for alert in alerts:
        again = routed_again(alert, draft, versions, autonomies)
        if isinstance(again, NotConsidered):
            not_considered[again] += 1
            continue
        for counts, key in ((detectors, alert.detector), (programs, alert.program_id)):
            number, otherwise = counts.get(key, (0, 0))
            counts[key] = (number + 1, otherwise + again.is_otherwise)
        if not again.is_otherwise:
            same += 1
            continue
        changes[placement(again.before), placement(again.after)] += 1
        if len(examples) < MOST_EXAMPLES:
            examples.append(again)
    return RunTotals(same, not_considered, changes, detectors, programs, tuple(examples))


def routed_again(
    alert: OpenedAlert, draft: KnownPolicy, versions: Mapping[str, KnownPolicy], autonomies: Autonomies
) -> Rerouted | NotConsidered:
    """The alert under its own version and under the draft, or why that says nothing."""
    autonomy = _autonomy_at(autonomies.get(alert.program_id, ()), alert.offset)
    policy = _policy_of(alert, draft, versions, autonomy)
    if isinstance(policy, NotConsidered):
        return policy
    inputs = _inputs_of(alert)
    if inputs is None:
        return NotConsidered.INCOMPLETE_EVIDENCE
    before = route(inputs, policy)
    if not _is_as_stored(before, alert):
        return NotConsidered.NOT_REPRODUCED
    return Rerouted(alert, before, route(inputs, as_left_by(autonomy, draft.body)))


def _policy_of(
    alert: OpenedAlert, draft: KnownPolicy, versions: Mapping[str, KnownPolicy], autonomy: AutonomyBody
) -> PolicyBody | NotConsidered:
    """The policy that routed an alert in whose place the draft would have been."""
    if alert.is_appeal:
        return NotConsidered.APPEAL
    base = versions.get(alert.policy_version.partition(".")[0])
    if base is None:
        return NotConsidered.UNKNOWN_POLICY
    if base.of_program and not draft.of_program:
        return NotConsidered.OWN_POLICY
    policy = as_left_by(autonomy, base.body)
    return policy if policy.version == alert.policy_version else NotConsidered.UNKNOWN_POLICY


def _autonomy_at(versions: Sequence[tuple[int, AutonomyBody]], offset: int) -> AutonomyBody:
    """The autonomy that the entries before an offset left in force."""
    place = bisect_left(versions, offset, key=lambda version: version[0])
    return versions[place - 1][1] if place else AS_THE_POLICY_STANDS


def _inputs_of(alert: OpenedAlert) -> RoutingInput | None:
    """The inputs of its routing, None where the body lacks one. An alert on the program has no score."""
    on_program = alert.subject_type == SubjectType.PROGRAM
    degraded = False if alert.is_indicators else alert.degraded
    if alert.hard is None or alert.route_reason is None or alert.auto_hold is None or degraded is None:
        return None
    if not on_program and alert.band is None:
        return None
    try:
        return RoutingInput(
            detector=alert.detector,
            severity=Severity(alert.severity),
            hard=alert.hard,
            score=None if on_program else alert.score,
            band=None if on_program or alert.band is None else Band(alert.band),
            program_n=None if alert.is_indicators else alert.program_n,
            degraded=degraded,
        )
    except ValueError:  # a word that this build does not know
        return None


def _is_as_stored(routing: Routing, alert: OpenedAlert) -> bool:
    stored = alert.route, alert.sla_tier, alert.auto_hold, alert.route_reason
    return stored == (routing.route, routing.sla_tier, routing.auto_hold, routing.reason)


WHY_NOT: Final[Mapping[NotConsidered, str]] = {
    NotConsidered.APPEAL: "It is an appeal, which always goes to a person.",
    NotConsidered.OWN_POLICY: "Its program had its own policy, which stands above the tenant's.",
    NotConsidered.UNKNOWN_POLICY: "The version that routed it, with the program's autonomy of then, is not stored.",
    NotConsidered.INCOMPLETE_EVIDENCE: "Its evidence lacks an input of routing.",
    NotConsidered.NOT_REPRODUCED: "Routed again under its own version it gives another answer than the stored one.",
}
