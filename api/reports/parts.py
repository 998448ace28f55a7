"""The parts that reports share: the period, and stored rows as the answer shows them.

Window  [from, to), whole UTC days or an ISO week; by default the last 30 days including today, or the last full week
Errors  InvalidRequestError for a period that is empty or over a year, and a week that has not begun
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from clearhold.api.http.fields import RULE_OF_PATTERN, WEEK
from clearhold.api.http.validation import Failure
from clearhold.api.lists.lists import FROM_BEFORE_TO, days_between, to_answer
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
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.instants import DAY_US, DAYS_7, IsoWeek, format_instant, parse_week, week_of
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import Reason, Route, Score
from clearhold.store.duck.reports.alerts import AlertCount
from clearhold.store.duck.reports.scores import BandChange
from clearhold.store.tables import Span

DEFAULT_DAYS: Final = 30
MOST_DAYS: Final = 366


def week_exists(plain: Mapping[str, Any]) -> Iterable[Failure]:
    text = plain.get("week")
    if isinstance(text, str) and parse_week(text) is None:
        yield Failure("week", RULE_OF_PATTERN[WEEK])


def period_of(from_: str | None, to: str | None, *, now: int) -> Span:
    """The whole days between two optional bounds."""
    start, end = days_between(from_, to)
    if end is None:
        end = now - now % DAY_US + DAY_US
    if start is None:
        start = end - DEFAULT_DAYS * DAY_US
    if start >= end:
        name, words = ("from", FROM_BEFORE_TO) if to is not None else ("from", "must not be after today")
        raise invalid(name, words, FieldCode.CONFLICTING)
    if end - start > MOST_DAYS * DAY_US:
        raise invalid("from", f"must not be more than {MOST_DAYS} days before to", FieldCode.TOO_SMALL)
    return Span(start, end)


def reported_week(text: str | None, *, now: int) -> IsoWeek:
    """The week of that name, or the last full one."""
    week = week_of(now - DAYS_7) if text is None else parse_week(text)
    if week is None or week.start > now:
        raise invalid("week", "has not begun", FieldCode.TOO_LARGE)
    return week


_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])


def current_of(row: ScoreRow | None) -> CurrentScore | None:
    return None if row is None else to_answer(row, CurrentScore, reasons=_REASONS.decode(row.reasons))


def current_at(score: Score | None, recorded: CurrentScore | None, at: int) -> CurrentScore | None:
    """An actor's score at an instant; None for one that never had a score."""
    if score is None or (score.value is None and recorded is None):
        return recorded
    return to_answer(score, CurrentScore, score=score.value, scored_at=format_instant(at))


def points_of(rows: Iterable[ScoreRow]) -> tuple[SkoorPoint, ...]:
    return tuple(
        to_answer(row, SkoorPoint, at=format_instant(row.scored_at), signals=signals_of(row.reasons)) for row in rows
    )


def signals_of(reasons: str) -> tuple[ScoreSignal, ...]:
    """Stored reasons, without their words."""
    return tuple(
        ScoreSignal(code=reason.signal, weight=reason.weight, hard=reason.hard, detail=reason.detail)
        for reason in _REASONS.decode(reasons)
    )


def transitions_of(changes: Iterable[BandChange]) -> tuple[BandTransition, ...]:
    return tuple(
        to_answer(change, BandTransition, at=format_instant(change.at), from_=change.former, to=change.band)
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
    sums: Counter[tuple[str, str]] = Counter()
    for each in counts:
        sums[each.detector, each.route] += each.alerts
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        DetectorCount(detector=detector, route=Route(route), count=count) for (detector, route), count in ordered
    )


def detector_totals(counts: Iterable[DetectorCount]) -> list[tuple[str, int]]:
    """Most alerts first, then by name; the routes of a detector together."""
    totals: Counter[str] = Counter()
    for each in counts:
        totals[each.detector] += each.count
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))
