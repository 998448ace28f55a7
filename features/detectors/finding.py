"""What the detectors find in one transfer that was assessed, or in a return that was delivered: hits, in a fixed order.

A subject that one detector finds for several reasons is one hit, as grave as the gravest of them.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from features.core.instants import DAYS_60
from features.core.reason import Reason
from features.core.vocabulary import SubjectType
from features.detectors.conditions import FIGURES_OF, UNAUTHORIZED_RETURN, UNAUTHORIZED_RETURNS
from features.detectors.detector import HIGH, ONCE, Detector, Gravity, Hit, Line, Scene, Subject, graver
from features.detectors.on_programs import UNAUTHORIZED_RATE_ALERT, Measured, unauthorized_rate_at
from features.detectors.subjects import named_actor, named_counterparty
from features.detectors.table import DETECTORS, LINES
from features.windows.series import ALWAYS, EventTimes

FED_BY_RETURNS: Final = frozenset({UNAUTHORIZED_RETURN, UNAUTHORIZED_RATE_ALERT})
"""The detectors that a transfer can hit twice: when it lands, and when it comes back."""

_BY_ID: Final = {detector.id: detector for detector in DETECTORS}


class _Found(NamedTuple):
    detector: Detector
    line: Line
    gravity: Gravity
    reasons: tuple[Reason, ...]


def reason_hits(scene: Scene) -> list[Hit]:
    """What the transfer's own reasons come to."""
    found: dict[tuple[str, Subject], _Found] = {}
    for reason in scene.fired:
        for detector, line in LINES.get(reason.id, ()):
            subject = line.subject(scene, reason)
            if subject is None:
                continue
            gravity = line.gravity if line.weigh is None else line.weigh(scene, subject)
            if gravity is None:
                continue
            earlier = found.get((detector.id, subject))
            if earlier is None:
                found[detector.id, subject] = _Found(detector, line, gravity, (reason,))
            else:
                together = graver(earlier.gravity, gravity)
                found[detector.id, subject] = earlier._replace(gravity=together, reasons=(*earlier.reasons, reason))
    return [_reason_hit(scene, subject, each) for (_, subject), each in found.items()]


def _reason_hit(scene: Scene, subject: Subject, found: _Found) -> Hit:
    at, window_us = scene.at, found.line.window_us
    reasons = tuple(sorted(found.reasons, key=lambda reason: (-reason.weight, reason.id)))
    figures = FIGURES_OF.get(found.detector.id)
    return Hit(
        detector=found.detector,
        subject=subject,
        gravity=found.gravity,
        reasons=reasons,
        sentence=" ".join(reason.sentence for reason in reasons),
        at=at,
        after=at - window_us,
        until=at if window_us == ONCE else at + window_us,
        figures={} if figures is None else figures(scene),
        is_news=scene.landed.is_new,
    )


def measured_hit(scene: Scene, measured: Measured, at: int) -> Hit:
    """What was measured of the program as a hit."""
    return Hit(
        detector=_BY_ID[measured.detector],
        subject=Subject(SubjectType.PROGRAM, scene.program.id),
        gravity=measured.gravity,
        reasons=(),
        sentence=measured.sentence,
        at=at,
        after=measured.after,
        until=measured.until,
        figures=measured.figures,
        is_news=True,
    )


def return_hits(scene: Scene, delivered_at: int) -> Iterator[Hit]:
    """What an unauthorized return comes to as it is delivered: it need not wait for the next transfer."""
    actor, party = scene.landed.parties
    if actor is not None:
        count = _count(actor.unauthorized, delivered_at - DAYS_60, delivered_at)
        name, said = "entity.unauthorizedReturns60d", "of the entity in 60 days"
        yield from _second_return(scene, named_actor(actor), (name, count), said, delivered_at)
    if party is not None and not party.unlisted:
        count = _count(party.unauthorized, ALWAYS, delivered_at)
        name, said = "counterparty.priorUnauthorizedReturns", "with the counterparty"
        yield from _second_return(scene, named_counterparty(party), (name, count), said, delivered_at)
    measured = unauthorized_rate_at(scene.program, delivered_at)
    if measured is not None:
        yield measured_hit(scene, measured, delivered_at)


def _second_return(scene: Scene, subject: Subject, counted: tuple[str, int], said: str, at: int) -> Iterator[Hit]:
    name, count = counted
    if count < UNAUTHORIZED_RETURNS:
        return
    code = scene.landed.row.return_code if scene.landed.row is not None else None
    yield Hit(
        detector=_BY_ID[UNAUTHORIZED_RETURN],
        subject=subject,
        gravity=HIGH,
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
