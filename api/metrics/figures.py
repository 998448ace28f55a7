"""Metrics from the totals of some days: shares with their intervals, quantiles of waits, and families of events."""

from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Final

from clearhold.api.metrics.schemas import (
    ApprovedWithoutWaiting,
    Calibration,
    DecisionHours,
    EventCoverage,
    FamilyCount,
    HoldBand,
    Metrics,
    MetricsCoverage,
    TimeToDecision,
)
from clearhold.features.bank.event_types import READ_FAMILIES
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.measured import DayTotals, measured, rounded

_HOUR_S: Final = 3_600


def to_metrics(totals: DayTotals, *, days: int, to: int, as_of: int) -> Metrics:
    """The metrics of the days that end at the midnight ``to``."""
    labelled_ok = totals.clear_ok + totals.review_ok + totals.hold_ok + totals.unscored_ok
    missed = totals.clear_bad + totals.review_bad + totals.unscored_bad
    labelled = labelled_ok + totals.hold_bad + missed
    scored = totals.transfers - totals.unscored
    return Metrics(
        as_of=format_instant(as_of),
        window_days=days,
        from_=format_instant(to - days * DAY_US),
        to=format_instant(to),
        calibration=Calibration(
            clear=measured(totals.clear_bad, totals.clear_bad + totals.clear_ok),
            review=measured(totals.review_bad, totals.review_bad + totals.review_ok),
            hold=measured(totals.hold_bad, totals.hold_bad + totals.hold_ok),
            unscored=measured(totals.unscored_bad, totals.unscored_bad + totals.unscored_ok),
        ),
        label_maturity=measured(labelled - totals.provisional_ok, labelled),
        coverage=MetricsCoverage(
            transfers=measured(scored, totals.transfers),
            programs=measured(totals.scored_programs, totals.programs),
        ),
        hold_band=HoldBand(
            precision=measured(totals.hold_bad, totals.hold_bad + totals.hold_ok),
            recall=measured(totals.hold_bad, totals.hold_bad + missed),
            tp=totals.hold_bad,
            fp=totals.hold_ok,
            fn=missed,
        ),
        auto_closed=measured(totals.auto_closed, totals.alerts),
        overturned=measured(totals.overturns, totals.reviews),
        time_to_decision_hours=TimeToDecision(
            automated=hours(repeat(0, totals.auto_closed)), reviewed=hours(totals.waits)
        ),
        approved_without_waiting=ApprovedWithoutWaiting(
            count=totals.unalerted, cents=str(totals.unalerted_cents), n=scored
        ),
        event_coverage=_event_coverage(totals.events),
    )


def hours(waits: Iterable[int]) -> DecisionHours:
    """Quantiles of waits in seconds, interpolated between two waits."""
    ordered = sorted(waits)

    def quantile(tenths: int) -> float | None:
        if not ordered:
            return None
        place, beyond = divmod((len(ordered) - 1) * tenths, 10)
        lower, upper = ordered[place], ordered[min(place + 1, len(ordered) - 1)]
        return rounded((lower + (upper - lower) * beyond / 10) / _HOUR_S)

    return DecisionHours(median=quantile(5), p90=quantile(9), n=len(ordered))


def _event_coverage(events: Mapping[str, Mapping[str, int]]) -> EventCoverage:
    read = len(READ_FAMILIES.intersection(events))
    return EventCoverage(
        value=rounded(read / len(events)) if events else None,
        n=len(events),
        seen=tuple(sorted(events)),
        by_family=tuple(
            FamilyCount(family=family, result=EventResult(result), count=count)
            for family in sorted(events)
            for result, count in sorted(events[family].items())
        ),
    )
