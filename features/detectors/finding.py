"""What the detectors find in one transfer that was assessed, or in a return that was delivered: hits, in a fixed order.

A subject that one detector finds for several reasons is one hit, as grave as the gravest of them.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from features.core.instants import DAYS_60
from features.core.reason import Reason
from features.core.vocabulary import SubjectType
from features.detectors.conditions import FIGURES_OF, UNAUTHORIZED_RETURN, UNAUTHORIZED_RETURNS
from features.detectors.detector import (
    HIGH,
    ONCE,
    DetectionContext,
    Detector,
    Finding,
    Grade,
    Subject,
    Trigger,
    worse_of,
)
from features.detectors.on_programs import UNAUTHORIZED_RATE_ALERT, ProgramMeasurement, unauthorized_rate_at
from features.detectors.subjects import named_actor, named_counterparty
from features.detectors.table import DETECTORS, TRIGGERS
from features.windows.series import ALWAYS, EventTimes

FED_BY_RETURNS: Final = frozenset({UNAUTHORIZED_RETURN, UNAUTHORIZED_RATE_ALERT})
"""The detectors that a transfer can hit twice: when it lands, and when it comes back."""

_BY_ID: Final = {detector.id: detector for detector in DETECTORS}


class _Found(NamedTuple):
    detector: Detector
    line: Trigger
    grade: Grade
    reasons: tuple[Reason, ...]


def reason_findings(context: DetectionContext) -> list[Finding]:
    """What the transfer's own reasons come to."""
    found: dict[tuple[str, Subject], _Found] = {}
    for reason in context.fired:
        for detector, line in TRIGGERS.get(reason.id, ()):
            subject = line.subject(context, reason)
            if subject is None:
                continue
            grade = line.grade if line.regrade is None else line.regrade(context, subject)
            if grade is None:
                continue
            earlier = found.get((detector.id, subject))
            if earlier is None:
                found[detector.id, subject] = _Found(detector, line, grade, (reason,))
            else:
                together = worse_of(earlier.grade, grade)
                found[detector.id, subject] = earlier._replace(grade=together, reasons=(*earlier.reasons, reason))
    return [_reason_finding(context, subject, each) for (_, subject), each in found.items()]


def _reason_finding(context: DetectionContext, subject: Subject, found: _Found) -> Finding:
    at, window_us = context.at, found.line.window_us
    reasons = tuple(sorted(found.reasons, key=lambda reason: (-reason.weight, reason.id)))
    figures = FIGURES_OF.get(found.detector.id)
    return Finding(
        detector=found.detector,
        subject=subject,
        grade=found.grade,
        reasons=reasons,
        sentence=" ".join(reason.sentence for reason in reasons),
        at=at,
        after=at - window_us,
        until=at if window_us == ONCE else at + window_us,
        figures={} if figures is None else figures(context),
        is_news=context.landed.is_new,
    )


def measured_finding(context: DetectionContext, measured: ProgramMeasurement, at: int) -> Finding:
    """What was measured of the program as a hit."""
    return Finding(
        detector=_BY_ID[measured.detector],
        subject=Subject(SubjectType.PROGRAM, context.program.id),
        grade=measured.grade,
        reasons=(),
        sentence=measured.sentence,
        at=at,
        after=measured.after,
        until=measured.until,
        figures=measured.figures,
        is_news=True,
    )


def return_findings(context: DetectionContext, delivered_at: int) -> Iterator[Finding]:
    """What an unauthorized return comes to as it is delivered: it need not wait for the next transfer."""
    actor, party = context.landed.parties
    if actor is not None:
        count = _count(actor.unauthorized, delivered_at - DAYS_60, delivered_at)
        name, said = "entity.unauthorizedReturns60d", "of the entity in 60 days"
        yield from _second_return(context, named_actor(actor), (name, count), said, delivered_at)
    if party is not None and not party.unlisted:
        count = _count(party.unauthorized, ALWAYS, delivered_at)
        name, said = "counterparty.priorUnauthorizedReturns", "with the counterparty"
        yield from _second_return(context, named_counterparty(party), (name, count), said, delivered_at)
    measured = unauthorized_rate_at(context.program, delivered_at)
    if measured is not None:
        yield measured_finding(context, measured, delivered_at)


def _second_return(
    context: DetectionContext, subject: Subject, counted: tuple[str, int], said: str, at: int
) -> Iterator[Finding]:
    name, count = counted
    if count < UNAUTHORIZED_RETURNS:
        return
    code = context.landed.row.return_code if context.landed.row is not None else None
    yield Finding(
        detector=_BY_ID[UNAUTHORIZED_RETURN],
        subject=subject,
        grade=HIGH,
        reasons=(),
        sentence=f"{count} unauthorized returns {said}, the newest {code}.",
        at=at,
        after=at - DAYS_60,
        until=at + DAYS_60,
        figures={name: count},
        is_news=True,
    )


def _count(series: EventTimes | None, after: int, upto: int) -> int:
    return 0 if series is None else series.count(after, upto)
