"""A detector as data: the reasons that open an alert, its subject, its severity and its duration.

Triggers feed a detector. A trigger takes one reason of the scorer and names the subject; it may have further conditions
and another grade. Findings of one detector on one subject within its window are one alert.

The subject is the transfer, one of its parties, a side of its edge in the graph, or the program. An unknown party, or
one without an id from the bank, cannot be named: the subject is then the actor or the transfer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from clearhold.features.catalogue.kris import KriName
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.vocabulary import Reason, Score, Severity, SubjectType
from clearhold.features.landing.stored_transfer import LandingResult, StoredTransfer
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import NOBODY

ONCE: Final = 0
"""The window of an alert on a transfer, which has no end."""
Thresholds = Mapping[str, int | str]
NO_THRESHOLDS: Final[Thresholds] = MappingProxyType({})
Figures = dict[str, int | str]
_SEVERITIES: Final = tuple(Severity)


class AlertSubject(NamedTuple):
    type: SubjectType
    id: str


class Grade(NamedTuple):
    """How severe a finding is; a hard one always goes to a person."""

    severity: Severity
    hard: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One finding of one detector on one subject, at one transfer.

    ``after`` and ``until`` are the ends of the window that its alert would have; an alert on a transfer has none.
    ``topic`` distinguishes the alerts of a detector with several alerts on one subject at a time.
    ``figures`` are evidence beside the vector; ``rule`` is the bank's rule that found it, if one did.
    """

    detector: "Detector"
    subject: AlertSubject
    grade: Grade
    reasons: tuple[Reason, ...] = ()
    sentence: str
    at: int
    after: int
    until: int
    figures: dict[str, int | str] = {}
    topic: str = ""
    said_before: "SaidBefore | None" = None
    rule: RuleInForce | None = None
    is_news: bool  # False for a transfer that was known before and is scored again


class DetectionContext(msgspec.Struct, frozen=True, gc=False):
    """An assessed transfer, and the program's state after it was applied."""

    program: ProgramState
    transfer: StoredTransfer
    landed: LandingResult
    assessment: Assessment
    fired: tuple[Reason, ...]  # every reason that fired, whether the transfer has a score or not

    @property
    def transfer_id(self) -> str:
        return self.landed.transfer_id

    @property
    def vector(self) -> FeatureVector:
        return self.assessment.vector

    @property
    def at(self) -> int:
        """The transfer's own time."""
        return self.landed.taken_at

    @property
    def actor(self) -> Actor | None:
        return self.landed.parties[0]

    @property
    def counterparty(self) -> KnownCounterparty | None:
        return self.landed.parties[1]


SubjectOf = Callable[[DetectionContext], AlertSubject | None]
Regrade = Callable[[DetectionContext, AlertSubject], Grade | None]


class SaidBefore(NamedTuple):
    """How long an earlier alert also covers a finding without news since that alert's first finding."""

    window_us: int
    nothing_new: Callable[[DetectionContext, int], bool]


class Trigger(NamedTuple):
    """One way into a detector. A ``subject`` or ``regrade`` that returns None opens no alert."""

    reason_id: str
    subject: SubjectOf
    grade: Grade
    window_us: int
    regrade: Regrade | None = None
    said_before: SaidBefore | None = None


class IndicatorLine(NamedTuple):
    """An indicator of a program that is compared with the policy's line for it, without further conditions."""

    kri: KriName
    is_over: Callable[[float, float], bool]
    grade: Grade
    sentence: Callable[[float, int, float], str]  # of value, n and line


class Detector(NamedTuple):
    """One row of ``docs/detectors.md``; ``features`` are the columns of the vector that its evidence shows.

    ``unexplained`` and ``next_step`` are the part of a draft for the person who decides, from the figures alone. They
    name no party and guess no intent. ``figures`` measures evidence that is not in the vector. The others are for the
    page alone, where triggers lack them: further severities, when a finding is hard, and the window, subjects and
    indicators of a detector without triggers, which runs on snapshots of the program or looks at the band.
    """

    id: str
    opens_when: str
    unexplained: str
    next_step: str
    triggers: tuple[Trigger, ...] = ()
    features: tuple[str, ...] = ()
    thresholds: Thresholds = NO_THRESHOLDS
    figures: Callable[[DetectionContext], Figures] | None = None
    severities: tuple[Severity, ...] = ()
    hard_when: str = ""
    window: str = ""
    subjects: tuple[str, ...] = ()
    kris: tuple[KriName, ...] = ()
    line: IndicatorLine | None = None


LOW: Final = Grade(Severity.LOW, hard=False)
MEDIUM: Final = Grade(Severity.MEDIUM, hard=False)
HIGH: Final = Grade(Severity.HIGH, hard=False)
HARD: Final = Grade(Severity.HIGH, hard=True)


def worse_of(one: Grade, other: Grade) -> Grade:
    """Both grades together: the higher severity, and hard when either is hard."""
    if one == other:
        return one
    severity = max(one.severity, other.severity, key=_SEVERITIES.index)
    return Grade(severity, one.hard or other.hard)


def graded_with(score: Score, grade: Grade) -> Grade:
    """The grade of an alert that opens at a score: it is hard, too, when a reason of the score is."""
    return Grade(grade.severity, grade.hard or score.hard)


def transfer_subject(context: DetectionContext) -> AlertSubject:
    return AlertSubject(SubjectType.TRANSFER, context.transfer_id)


def program_subject(context: DetectionContext) -> AlertSubject:
    return AlertSubject(SubjectType.PROGRAM, context.program.id)


def actor_subject(context: DetectionContext) -> AlertSubject:
    actor = context.actor
    return transfer_subject(context) if actor is None else named_actor(actor)


def counterparty_subject(context: DetectionContext) -> AlertSubject:
    party = context.counterparty
    return actor_subject(context) if party is None or party.unlisted else named_counterparty(party)


def account_subject(context: DetectionContext) -> AlertSubject:
    """The transfer's own account, because a card's attempts are counted by account."""
    account_id = context.transfer.account_id()
    if account_id is None:
        return actor_subject(context)
    return AlertSubject(SubjectType.ACCOUNT, account_id)


def payer_subject(context: DetectionContext) -> AlertSubject:
    return _side(context, 0)


def payee_subject(context: DetectionContext) -> AlertSubject:
    return _side(context, 1)


def shared_account_subject(context: DetectionContext) -> AlertSubject:
    """The counterparty with the account; of several names for one account the first one seen."""
    party = context.counterparty
    if party is None:
        return actor_subject(context)
    sharing = context.program.counterparties.sharing(party.routing, party.last4)
    listed = [other for other in sharing if not other.unlisted]
    return named_counterparty(min(listed, key=lambda other: other.index)) if listed else actor_subject(context)


def named_actor(actor: Actor) -> AlertSubject:
    return AlertSubject(SubjectType.ACCOUNT if actor.is_account else SubjectType.ENTITY, actor.id)


def named_counterparty(party: KnownCounterparty) -> AlertSubject:
    return AlertSubject(SubjectType.COUNTERPARTY, party.id)


def _side(context: DetectionContext, side: int) -> AlertSubject:
    """The node that paid (0) or was paid (1)."""
    program = context.program
    node = context.transfer.nodes()[side]
    if node == NOBODY:
        return actor_subject(context)
    if node % 2 == 0:
        return named_actor(program.actors[node // 2])
    party = program.counterparties.all[node // 2]
    return actor_subject(context) if party.unlisted else named_counterparty(party)
