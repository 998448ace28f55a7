"""Statistics of pre-flights: decisions, latency, and the labels after them, over the last days.

Window  (now - days, now], by the time of the request; matches and labels of any time count
"""

from typing import Final

from anyio import to_thread

from clearhold.api.preflight.schemas import (
    DecisionCounts,
    LatencySummary,
    PreflightGrades,
    PreflightStats,
    PreflightStatsQuery,
    Share,
)
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.duck.preflights import PreflightCounts, Preflights

_DECIMALS: Final = 4


class PreflightStatistics:
    def __init__(self, *, programs: ProgramService, preflights: Preflights, clock: Clock) -> None:
        self._programs, self._preflights, self._clock = programs, preflights, clock

    async def read(self, principal: Principal, query: PreflightStatsQuery) -> PreflightStats:
        """Of the programs that the principal reaches; a programId of another tenant is a 404."""
        program_ids = self._programs.filter_by(principal, query.program_id)
        since = self._clock.now() - query.days * DAY_US
        counts = await to_thread.run_sync(lambda: self._preflights.counts(principal, program_ids, since=since))
        return to_stats(counts, days=query.days)


def to_stats(counts: PreflightCounts, *, days: int) -> PreflightStats:
    bad, holds = counts.hold_bad + counts.other_bad, counts.hold_bad + counts.hold_ok
    return PreflightStats(
        window_days=days,
        count=counts.total,
        by_decision=DecisionCounts(clear=counts.clear, review=counts.review, hold=counts.hold),
        latency_ms=LatencySummary(
            p50=_rounded(counts.latency_ms_p50), p90=_rounded(counts.latency_ms_p90), n=counts.total
        ),
        matched=Share(value=_share(counts.matched, counts.total), n=counts.total),
        degraded=Share(value=_share(counts.degraded, counts.total), n=counts.total),
        graded=PreflightGrades(
            n=holds + counts.other_bad + counts.other_ok,
            hold_and_bad=counts.hold_bad,
            hold_and_ok=counts.hold_ok,
            not_hold_and_bad=counts.other_bad,
            not_hold_and_ok=counts.other_ok,
            hold_precision=_share(counts.hold_bad, holds),
            hold_recall=_share(counts.hold_bad, bad),
        ),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def _share(part: int, whole: int) -> float | None:
    return _rounded(part / whole) if whole else None
