"""From stored rows to the parts that reports share."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from clearhold.api.lists.lists import to_answer
from clearhold.api.reports.schemas import (
    BandTransition,
    CurrentScore,
    DetectorCount,
    ReturnCounts,
    ScoreSignal,
    SkoorPoint,
    TransferBands,
    TransfersSummary,
)
from clearhold.features.core.instants import format_instant
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import Band, Reason, Route, Score
from clearhold.store.duck.reports.alerts import AlertCount
from clearhold.store.duck.reports.scores import BandChange

_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])


def current_of(row: ScoreRow | None) -> CurrentScore | None:
    return None if row is None else to_answer(row, CurrentScore, reasons=_REASONS.decode(row.reasons))


def current_at(score: Score | None, recorded: CurrentScore | None, at: int) -> CurrentScore | None:
    """An actor's score at an instant; None for one that never had a score."""
    if score is None or (score.value is None and recorded is None):
        return recorded
    return CurrentScore(
        score=score.value,
        band=score.band,
        n=score.n,
        confidence=score.confidence,
        version=score.version,
        reasons=score.reasons,
        hard=score.hard,
        scored_at=format_instant(at),
    )


def points_of(rows: Iterable[ScoreRow]) -> tuple[SkoorPoint, ...]:
    return tuple(
        SkoorPoint(
            at=format_instant(row.scored_at),
            score=row.score,
            band=Band(row.band),
            n=row.n,
            version=row.version,
            signals=signals_of(row.reasons),
        )
        for row in rows
    )


def signals_of(reasons: str) -> tuple[ScoreSignal, ...]:
    """Stored reasons, without their words."""
    return tuple(
        ScoreSignal(code=reason.signal, weight=reason.weight, hard=reason.hard, detail=reason.detail)
        for reason in _REASONS.decode(reasons)
    )


def transitions_of(changes: Iterable[BandChange]) -> tuple[BandTransition, ...]:
    return tuple(
        BandTransition(
            at=format_instant(change.at),
            from_=Band(change.former),
            to=Band(change.band),
            score=change.score,
            n=change.n,
        )
        for change in changes
    )


def summary_of(totals: DayTotals) -> TransfersSummary:
    return TransfersSummary(
        count=totals.transfers,
        volume_cents=str(totals.cents),
        returns=ReturnCounts(any=totals.returned, unauthorized=totals.unauthorized),
        bands=TransferBands(clear=totals.clear, review=totals.review, hold=totals.hold, unscored=totals.unscored),
    )


def by_detector(counts: Sequence[AlertCount]) -> tuple[DetectorCount, ...]:
    """Most alerts first, then by name; a detector occurs once for each route of its alerts."""
    sums: dict[tuple[str, str], int] = {}
    for each in counts:
        sums[each.detector, each.route] = sums.get((each.detector, each.route), 0) + each.alerts
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        DetectorCount(detector=detector, route=Route(route), count=count) for (detector, route), count in ordered
    )
