"""The report of a program's ISO week, and the same week as a page.

Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for a week that has not begun;
        UnavailableError while the program's state has no owner
"""

from asyncio import gather
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from anyio import to_thread

from clearhold.api.area import Resources
from clearhold.api.lists.lists import to_answer
from clearhold.api.reports.parts import by_detector, reported_week, summary_of
from clearhold.api.reports.schemas import (
    EnteredHold,
    PersonDecisionHours,
    WeeklyAlerts,
    WeeklyDispositions,
    WeeklyKri,
    WeeklyReport,
    WeeklyScore,
)
from clearhold.api.reports.service import delta_of, kris_of, totals_of
from clearhold.api.reports.weekly_summary import weekly_paragraphs
from clearhold.features.catalogue.kris import KriStatus, KriValue
from clearhold.features.core.instants import DAY_US, DAYS_7, FIRST_WEEK, IsoWeek, format_instant, week_of
from clearhold.features.core.measured import DayTotals, sum_of
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.vocabulary import AlertStatus, Band
from clearhold.features.policy.in_force import SEEDED
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from clearhold.store.duck.reports.alerts import AlertCount, ReportAlerts
from clearhold.store.duck.reports.scores import KriSnapshots, ReportScores, ReportSnapshots, ScorePoint
from clearhold.store.tables import Span

WEEKS_SHOWN: Final = 12
OTHER_SCORERS: Final = (ers_v1.VERSION, crs_v1.VERSION, ars_v1.VERSION, prs_v1.VERSION)

_HOURS_DECIMALS: Final = 2


class WeekOfProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A weekly report with the additional figures of its page."""

    report: WeeklyReport
    paragraphs: tuple[str, ...]  # of its summary
    days: tuple[DayTotals, ...]  # Monday to Sunday
    weeks: tuple[tuple[IsoWeek, ScorePoint | None], ...]  # the last snapshot of each, oldest first
    policy_versions: tuple[str, ...]  # in force tenant-wide at the end of the week
    score_versions: tuple[str, ...]  # of the transfers' scorings in the week, then of the other scorers


class WeeklyReports:
    def __init__(self, resources: Resources) -> None:
        stores, database = resources.stores, resources.stores.database
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._policies = stores.registry.tenancy.policies
        self._scores, self._alerts = ReportScores(database), ReportAlerts(database)
        self._snapshots, self._points = KriSnapshots(database), ReportSnapshots(database)

    async def read(self, principal: Principal, program_id: str, week: str | None) -> WeekOfProgram:
        program = self._programs.read(principal, program_id)
        now = self._clock.now()
        named = reported_week(week, now=now)
        starts = range(named.start, named.end, DAY_US)
        days = await gather(*(totals_of(self._owner, program.id, Span(start, start + DAY_US)) for start in starts))
        return await to_thread.run_sync(self._read, principal, program, named, now, tuple(days))

    def _read(
        self, principal: Principal, program: Program, week: IsoWeek, now: int, days: tuple[DayTotals, ...]
    ) -> WeekOfProgram:
        span = Span(week.start, week.end)
        current = self._snapshots.newest(principal, program.id, upto=span.end - 1)
        prior = self._snapshots.newest(principal, program.id, upto=span.start - 1)
        entered, entered_hold = self._entered_hold(principal, program.id, span)
        report = WeeklyReport(
            kind="weekly",
            key=f"weekly:{program.id}:{week}",
            program_id=program.id,
            program_name=program.name,
            iso_week=str(week),
            from_=format_instant(span.start),
            to=format_instant(span.end),
            generated_at=format_instant(now),
            program_score=WeeklyScore(
                current=None if current is None else current.program_score,
                prior=None if prior is None else prior.program_score,
                band=Band.UNSCORED if current is None else Band(current.band),
                n=0 if current is None else current.program_score_n,
            ),
            kris=_kris(kris_of(prior), kris_of(current)),
            alerts=_alerts(self._alerts.counts(principal, program.id, span)),
            entered_hold=entered_hold,
            dispositions=self._dispositions(principal, program.id, span),
            time_to_decision_hours=self._hours(principal, program.id, span),
            transfers=summary_of(sum_of(days)),
            summary="",
        )
        paragraphs = weekly_paragraphs(report, entered=entered, now=now)
        report = msgspec.structs.replace(report, summary=" ".join(paragraphs))
        report = self._programs.marked(report, program.id)
        return WeekOfProgram(
            report=report,
            paragraphs=paragraphs,
            days=days,
            weeks=self._weeks(principal, program.id, week),
            policy_versions=self._policy_versions(principal, min(now, week.end - 1)),
            score_versions=(*self._scores.transfer_versions(principal, program.id, span), *OTHER_SCORERS),
        )

    def _entered_hold(self, principal: Principal, program_id: str, span: Span) -> tuple[int, tuple[EnteredHold, ...]]:
        entered, rows = self._scores.entered_band(principal, program_id, Band.HOLD, span)
        return entered, tuple(to_answer(row, EnteredHold, at=format_instant(row.at)) for row in rows)

    def _dispositions(self, principal: Principal, program_id: str, span: Span) -> WeeklyDispositions:
        counts = self._alerts.decisions(principal, program_id, span)
        return WeeklyDispositions(
            total=counts.total,
            by_platform=counts.by_policy,
            by_person=counts.total - counts.by_policy,
            overturned=counts.overturned,
        )

    def _hours(self, principal: Principal, program_id: str, span: Span) -> PersonDecisionHours:
        hours = self._alerts.decision_hours(principal, program_id, span)
        return PersonDecisionHours(median=_rounded(hours.median), p90=_rounded(hours.p90), n=hours.n)

    def _weeks(
        self, principal: Principal, program_id: str, week: IsoWeek
    ) -> tuple[tuple[IsoWeek, ScorePoint | None], ...]:
        """The weeks up to this one, each with its last snapshot."""
        span = Span(max(FIRST_WEEK.start, week.end - WEEKS_SHOWN * DAYS_7), week.end)
        points = self._points.points(principal, program_id, span, WEEKS_SHOWN)
        last = {week_of(point.at): point for point in points}
        weeks = [week_of(start) for start in range(span.start, span.end, DAYS_7)]
        return tuple((each, last.get(each)) for each in weeks)

    def _policy_versions(self, principal: Principal, at: int) -> tuple[str, ...]:
        book = self._policies.of_tenant(principal.tenant_id).policies
        in_force = (book.in_force(prefix, at) for prefix in SEEDED)
        return tuple(each.version for each in in_force if each is not None)


def _kris(prior: Mapping[str, KriValue], current: Mapping[str, KriValue]) -> tuple[WeeklyKri, ...]:
    return tuple(_kri(name, prior.get(name), kri) for name, kri in current.items())


def _kri(name: str, prior: KriValue | None, kri: KriValue) -> WeeklyKri:
    former = None if prior is None else prior.value
    prior_status = KriStatus.UNMEASURED if prior is None else prior.status
    delta = delta_of(former, kri.value)
    return to_answer(kri, WeeklyKri, name=name, prior=former, delta=delta, prior_status=prior_status)


def _alerts(counts: Sequence[AlertCount]) -> WeeklyAlerts:
    by_status = {status.value: 0 for status in AlertStatus}
    for each in counts:
        by_status[each.status] += each.alerts
    return WeeklyAlerts(total=sum(by_status.values()), by_detector=by_detector(counts), by_status=by_status)


def _rounded(hours: float | None) -> float | None:
    return None if hours is None else round(hours, _HOURS_DECIMALS)
