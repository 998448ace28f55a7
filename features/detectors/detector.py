"""A detector as data: the reasons that open an alert, its subject, its severity and its duration.

Triggers feed a detector. A trigger takes one reason of the scorer and names the subject; it may have further conditions
and another grade. Findings of one detector on one subject within its window are one alert.

The subject is the transfer, one of its parties, a side of its edge in the graph, or the program. An unknown party, or
one without an id from the bank, cannot be named: the subject is then the actor or the transfer.

The transfers behind a finding are selected by amount, rail, type and status.

Bounds  the newest ``NAMED`` transfers are named; where a transfer's amount, type or return decides, the newest
        ``READ`` are read
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from clearhold.features.catalogue.kris import KriName
from clearhold.features.catalogue.thresholds import MICRO_BELOW_CENTS, is_round, lines_of
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import ACH_CLASSES, ACH_DEBIT, CARD_CLASSES, ORIGINATED_CLASS
from clearhold.features.core.vocabulary import Reason, Score, Severity, SubjectType
from clearhold.features.landing.stored_transfer import LandingResult, StoredTransfer
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import TransferBrief, priced
from clearhold.features.windows.edges import NOBODY
from clearhold.features.windows.series_kinds import DECLINED, FRAUD_REASONS

ONCE: Final = 0
"""The window of an alert on a transfer, which has no end."""
Thresholds = Mapping[str, int | str]
NO_THRESHOLDS: Final[Thresholds] = MappingProxyType({})
Figures = dict[str, int | str]
_SEVERITIES: Final = tuple(Severity)
NAMED: Final = 100
READ: Final = 500
_WITHIN_PARTS: Final = 10
Place = tuple[int, int]  # own time and row of a transfer
Places = set[Place]
Keep = Callable[[TransferBrief], bool]


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


class SupportingTransfers(NamedTuple):
    """``rows`` are the newest ones, oldest first; ``total`` counts all."""

    rows: tuple[int, ...]
    total: int


def supporting(places: Places, total: int) -> SupportingTransfers:
    """The newest of these transfers, of ``total`` or more."""
    newest = sorted(places)[-NAMED:]
    return SupportingTransfers(tuple([row for _, row in newest]), max(len(places), total))


def newest_of_program(
    program: ProgramState, after: int, upto: int, keep: Callable[[ProgramState, TransferBrief], bool]
) -> Places:
    """The program's newest transfers in (after, upto], among the newest that it has."""
    places = Places()
    for row in range(len(program.transfers) - 1, max(-1, len(program.transfers) - 1 - READ), -1):
        record = program.transfers.glance(row)
        if after < record.at <= upto and keep(program, record):
            places.add((record.at, row))
            if len(places) == NAMED:
                break
    return places


def in_zone(context: DetectionContext) -> Keep:
    lines = lines_of(context.vector.structuring_thresholds)
    zones = frozenset(lines.zones(context.vector.amount_cents))
    return lambda record: record.class_id not in CARD_CLASSES and not zones.isdisjoint(lines.zones(record.cents))


def alike(context: DetectionContext) -> Keep:
    cents = context.vector.amount_cents or 0  # a transfer without US cents repeats no amount
    slack = cents // _WITHIN_PARTS
    return lambda record: cents - slack <= record.cents <= cents + slack


def in_thousands(_context: DetectionContext) -> Keep:
    return lambda record: record.class_id not in CARD_CLASSES and is_round(record.cents)


def is_below(record: TransferBrief, line_cents: int) -> bool:
    """True for an amount under the line; False without US cents."""
    cents = priced(record.cents)
    return cents is not None and cents < line_cents


def micro(_context: DetectionContext) -> Keep:
    return lambda record: record.class_id in ACH_CLASSES and is_below(record, MICRO_BELOW_CENTS)


def but_cards(_context: DetectionContext) -> Keep:
    return lambda record: record.class_id not in CARD_CLASSES


def fraud_declined(program: ProgramState, record: TransferBrief) -> bool:
    text = program.strings.text
    return (
        record.class_id in CARD_CLASSES
        and text(record.status) == DECLINED
        and text(record.card_reason) in FRAUD_REASONS
    )


def originated(_program: ProgramState, record: TransferBrief) -> bool:
    return record.moved and record.class_id == ORIGINATED_CLASS and record.ach_type == ACH_DEBIT
