"""The findings of all detectors in one assessed transfer, or in a delivered return, in a fixed order.

Several reasons of one detector for one subject are one finding, with the highest severity among them. The bank's rules
are detectors ``rule:<id>`` of a transfer, and open at most one alert on it. A transfer over a cap of the program is
recorded and not held at the rail; there is one alert a kind of cap and a period.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from clearhold.features.bank.statuses import FROZEN_RETURN_CODE, UNAUTHORIZED_RETURN_CODES
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.instants import DAYS_7, DAYS_30, DAYS_60
from clearhold.features.core.money import BOOK_CLASSES
from clearhold.features.core.vocabulary import Reason, VerificationStatus, words
from clearhold.features.detectors.detector import (
    HARD,
    HIGH,
    ONCE,
    AlertSubject,
    DetectionContext,
    Detector,
    Figures,
    Finding,
    Grade,
    Trigger,
    counterparty_subject,
    named_actor,
    named_counterparty,
    program_subject,
    transfer_subject,
    worse_of,
)
from clearhold.features.detectors.parties import (
    DENIED,
    SANCTIONS_RETURN,
    SCREENING,
    UNAUTHORIZED_RETURN,
    UNAUTHORIZED_RETURNS,
)
from clearhold.features.detectors.supporting import LIMIT
from clearhold.features.detectors.table import (
    DETECTOR_OF,
    DETECTOR_OF_BAND,
    GRADE_OF_BAND,
    OF_SHAPES,
    PROGRAM_LIMIT_BREACH,
    SHAPES_FROM,
    TRIGGERS,
)
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.limits.caps import CapCrossing, sentence_of
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.scorers.engine import in_order
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState
from clearhold.features.windows.series import ALWAYS, count_of
from clearhold.features.windows.series_kinds import SeriesKind, count_in

RULE: Final = Detector(
    id="rule",
    opens_when="",
    unexplained="whether the transfer is one that the bank's rule is meant for",
    next_step="compare the transfer with the purpose of the rule",
)
"""The detector of all the bank's rules; each has its own id and columns."""
FED_BY_RETURNS: Final = frozenset({UNAUTHORIZED_RETURN, SANCTIONS_RETURN})
"""The detectors that can find one transfer twice: at its landing, and at its return."""


class _Triggered(NamedTuple):
    detector: Detector
    trigger: Trigger
    grade: Grade
    reasons: tuple[Reason, ...]


def reason_findings(context: DetectionContext) -> list[Finding]:
    """The findings that the transfer's own reasons trigger."""
    triggered: dict[tuple[str, AlertSubject], _Triggered] = {}
    for reason in context.fired:
        if reason.id in OF_SHAPES and _is_usual(context):
            continue
        for detector, trigger in TRIGGERS.get(reason.id, ()):
            subject = trigger.subject(context)
            if subject is None:
                continue
            grade = trigger.grade if trigger.regrade is None else trigger.regrade(context, subject)
            if grade is None:
                continue
            key = detector.id, subject
            earlier = triggered.get(key)
            if earlier is None:
                triggered[key] = _Triggered(detector, trigger, grade, (reason,))
            else:
                together = worse_of(earlier.grade, grade)
                triggered[key] = earlier._replace(grade=together, reasons=(*earlier.reasons, reason))
    return [_reason_finding(context, subject, each) for (_, subject), each in triggered.items()]


def _is_usual(context: DetectionContext) -> bool:
    """Whether the program's usual is known, and little beside a shape speaks against the transfer."""
    value = context.assessment.score.value
    return value is not None and value < SHAPES_FROM and context.vector.common_signals is not None


def _reason_finding(context: DetectionContext, subject: AlertSubject, triggered: _Triggered) -> Finding:
    at, window_us = context.at, triggered.trigger.window_us
    reasons, figures = in_order(triggered.reasons), triggered.detector.figures
    return Finding(
        detector=triggered.detector,
        subject=subject,
        grade=triggered.grade,
        reasons=reasons,
        sentence=" ".join(reason.sentence for reason in reasons),
        at=at,
        after=at - window_us,
        until=at if window_us == ONCE else at + window_us,
        figures={} if figures is None else figures(context),
        said_before=triggered.trigger.said_before,
        is_news=context.landed.is_new,
    )


def _around(
    at: int,
    span_us: int,
    detector: str,
    subject: AlertSubject,
    sentence: str,
    *,
    grade: Grade = HARD,
    figures: Figures | None = None,
    is_news: bool = True,
) -> Finding:
    """The finding of a statement, at its delivery, with a window on both sides of it."""
    return Finding(
        detector=DETECTOR_OF[detector],
        subject=subject,
        grade=grade,
        sentence=sentence,
        at=at,
        after=at - span_us,
        until=at + span_us,
        figures=figures or {},
        is_news=is_news,
    )


def is_of_listed(program: ProgramState, parties: tuple[Actor | None, KnownCounterparty | None]) -> bool:
    """Whether the wallet of an agent, or of its payer, is on a sanctions list."""
    (actor, party), book = parties, program.agents
    return (party is not None and party.index in book.listed) or (actor is not None and book.is_hit(actor.index))


def listed_findings(context: DetectionContext) -> Iterator[Finding]:
    """The wallets of a settlement that are on a sanctions list at the entry, no matter when it was paid."""
    (actor, party), book = context.landed.parties, context.program.agents
    if party is not None and party.index in book.listed:
        yield listed_finding(context, party, at=context.at)
    if actor is not None and book.is_hit(actor.index):
        yield listed_finding(context, actor, at=context.at)


def listed_finding(context: DetectionContext, listed: Actor | KnownCounterparty, *, at: int) -> Finding:
    """A listed wallet: of an agent, or of a payer."""
    owner = "agent" if isinstance(listed, Actor) else "payer"
    subject = named_actor(listed) if isinstance(listed, Actor) else named_counterparty(listed)
    sentence = f"The {owner}'s wallet is on a sanctions list."
    return _around(at, DAYS_30, SCREENING, subject, sentence, is_news=context.landed.is_new)


def denied_payee(program: ProgramState, transfer: StoredTransfer, at: int) -> Actor | None:
    """The owner of the program's account that a book transfer of another owner pays, where it was denied by then."""
    record, party = transfer.record, transfer.counterparty
    if record.class_id not in BOOK_CLASSES or party is None or not record.moved:
        return None
    owner = program.known_actor(party.id)
    if owner is None or owner is transfer.actor:
        return None
    return owner if owner.profile_at(at).words.verification_status == VerificationStatus.DENIED else None


def denied_payee_finding(context: DetectionContext, owner: Actor, *, at: int) -> Finding:
    """The owner moves no money itself, so the transfer has no reason of it."""
    sentence = "The owner of the account that this book transfer pays failed verification (DENIED)."
    return _around(at, DAYS_7, DENIED, named_actor(owner), sentence, is_news=context.landed.is_new)


def band_finding(context: DetectionContext) -> Finding | None:
    """The finding of a score in review or hold, with all signals of the score; None in another band."""
    score = context.assessment.score
    detector = DETECTOR_OF_BAND.get(score.band)
    if detector is None:
        return None
    signals = ", ".join(f"{words(reason.signal)} {reason.weight:+d}" for reason in score.reasons)
    return Finding(
        detector=DETECTOR_OF[detector],
        subject=transfer_subject(context),
        grade=GRADE_OF_BAND[score.band],
        reasons=score.reasons,
        sentence=f"Score {score.value}, band {score.band}, from {signals}. No other alert covers this transfer.",
        at=context.at,
        after=context.at,
        until=context.at,
        is_news=context.landed.is_new,
    )


def return_findings(context: DetectionContext, returned: ReturnState) -> Iterator[Finding]:
    """The findings of a return at its delivery, without a further transfer."""
    if returned.code in UNAUTHORIZED_RETURN_CODES:
        yield from _unauthorized_findings(context, returned.at)
    elif returned.code == FROZEN_RETURN_CODE and returned.counts:
        yield from _frozen_findings(context, returned.at)


def _frozen_findings(context: DetectionContext, at: int) -> Iterator[Finding]:
    """An originated entry that came back as R16."""
    entry = context.transfer.returned_transfer()
    if not (entry.moved and entry.outgoing_ach):
        return
    party = entry.counterparty
    count = 1 if party is None else count_in(party.series_by_kind, SeriesKind.FROZEN, ALWAYS, at)
    sentence = f"An ACH entry came back as R16; {count} with this counterparty so far."
    figures: Figures = {"counterparty.frozenReturns": count}
    yield _around(at, DAYS_30, SANCTIONS_RETURN, counterparty_subject(context), sentence, figures=figures)


def _unauthorized_findings(context: DetectionContext, at: int) -> Iterator[Finding]:
    """The second return of a party in 60 days. A debit of another party that our side returns accuses no party here."""
    if not context.transfer.is_originated():
        return
    actor, party = context.landed.parties
    sides = []
    if actor is not None:
        sides.append((named_actor(actor), actor.unauthorized, "entity", "of the entity"))
    if party is not None and not party.unlisted:
        sides.append((named_counterparty(party), party.unauthorized, "counterparty", "with the counterparty"))
    returned = context.program.returned.get(context.landed.row_index)
    code = None if returned is None else returned.code
    for subject, returns, side, whose in sides:
        count = count_of(returns, at - DAYS_60, at)
        if count >= UNAUTHORIZED_RETURNS:
            sentence = f"{count} unauthorized returns {whose} in 60 days; the newest is {code}."
            figures: Figures = {f"{side}.unauthorizedReturns60d": count}
            yield _around(at, DAYS_60, UNAUTHORIZED_RETURN, subject, sentence, grade=HIGH, figures=figures)


def cap_finding(context: DetectionContext, crossing: CapCrossing) -> Finding:
    """A crossed cap as a finding on the program."""
    kind = crossing.kind.value
    one = context.transfer_id if crossing.kind is CapKind.PER_TRANSACTION else crossing.actor_id
    topic = kind if one is None else f"{kind}:{one}"
    return Finding(
        detector=DETECTOR_OF[PROGRAM_LIMIT_BREACH],
        subject=program_subject(context),
        grade=HARD,
        sentence=sentence_of(crossing),
        at=crossing.at,
        after=crossing.after,
        until=crossing.until,
        figures=_cap_figures(crossing),
        topic=topic,
        is_news=context.landed.is_new,
    )


def _cap_figures(crossing: CapCrossing) -> Figures:
    figures: Figures = {
        LIMIT: crossing.kind.value,
        "limitVersion": crossing.version,
        "limitCount": crossing.transfers,
    }
    if crossing.kind is CapKind.ENTITY_VELOCITY_24H:
        return figures | {"limitCapCount": crossing.cap}
    return figures | {"limitObservedCents": crossing.observed, "limitCapCents": crossing.cap}


def matching_rules(program: ProgramState, vector: FeatureVector) -> tuple[RuleInForce, ...]:
    """The rules in force in the program that match the vector: active rules first, then rules in testing."""
    in_force = program.policies.rules()
    if not in_force.rules:
        return ()
    return tuple(in_force.rules[place] for place in in_force.matching(vector))


def rule_finding(context: DetectionContext, match: RuleInForce) -> Finding:
    """The finding of an active rule on the transfer that it matches."""
    rule = match.rule
    return Finding(
        detector=RULE._replace(id=match.detector, features=match.columns),
        subject=transfer_subject(context),
        grade=Grade(rule.severity, hard=False),
        sentence=f"The transfer meets the bank's rule {rule.id} ({match.version}): {match.conditions}.",
        at=context.at,
        after=context.at,
        until=context.at,
        rule=match,
        is_news=context.landed.is_new,
    )
