"""The report of a program's ISO week, and the further figures of its page.

Its summary is plain sentences from a template, at least one for every part, with ids and numbers only. Unmeasured
figures are named as such, never guessed.

Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for a week that has not begun;
        UnavailableError while the program's state has no owner
"""

from asyncio import gather
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from anyio import to_thread

from clearhold.api.area import Resources
from clearhold.api.lists.lists import to_answer
from clearhold.api.reports.schemas import (
    DetectorCount,
    EnteredHold,
    PersonDecisionHours,
    WeeklyAlerts,
    WeeklyDispositions,
    WeeklyKri,
    WeeklyReport,
    WeeklyScore,
)
from clearhold.api.reports.service import (
    by_detector,
    delta_of,
    detector_totals,
    kris_of,
    reported_week,
    summary_of,
    totals_of,
)
from clearhold.features.catalogue.kris import KriStatus, KriValue
from clearhold.features.core.instants import DAY_US, DAYS_7, FIRST_WEEK, IsoWeek, format_instant, parse_instant, week_of
from clearhold.features.core.measured import DayTotals, sum_of
from clearhold.features.core.money import counted, money
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.vocabulary import WAITING, AlertStatus, Band, words
from clearhold.features.policy.in_force import SEEDED
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from clearhold.features.scorers.prs_v1 import MEASURED_FLOOR
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
        before = kris_of(prior)
        entered, entries = self._scores.entered_band(principal, program.id, Band.HOLD, span)
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
            kris=tuple(_kri(name, before.get(name), kri) for name, kri in kris_of(current).items()),
            alerts=_alerts(self._alerts.counts(principal, program.id, span)),
            entered_hold=tuple(to_answer(row, EnteredHold, at=format_instant(row.at)) for row in entries),
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
        book = self._policies[principal.tenant_id].policies
        in_force = (book.in_force(prefix, at) for prefix in SEEDED)
        return tuple(each.version for each in in_force if each is not None)


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


_NAMED: Final = 5


def weekly_paragraphs(report: WeeklyReport, *, entered: int, now: int) -> tuple[str, ...]:
    """``entered`` counts all actors that entered the hold band; the report lists the first of them."""
    paragraphs = (
        (*_opening(report, now), _score(report.program_score, has_snapshot=bool(report.kris))),
        _kri_sentences(report),
        _transfers(report),
        (*_alert_sentences(report), _entered_hold(entered, report.entered_hold)),
        (*_dispositions(report), _hours(report)),
    )
    return tuple(" ".join(sentences) for sentences in paragraphs)


def _opening(report: WeeklyReport, now: int) -> Iterator[str]:
    yield (
        f"Week {report.iso_week} of program {report.program_id} runs from Monday {report.from_[:10]} 00:00 UTC to "
        f"Monday {report.to[:10]} 00:00 UTC."
    )
    end = parse_instant(report.to)
    if end is not None and now < end:
        yield f"It is not over: all figures are as of {report.generated_at}."


def _score(score: WeeklyScore, *, has_snapshot: bool) -> str:
    if not has_snapshot:
        return "No snapshot of the program's indicators had been taken by its end, so its score is not measured."
    if score.current is None:
        prior = "it was not measured the week before either"
        if score.prior is not None:
            prior = f"it was {score.prior} at the end of the week before"
        return (
            f"The Program Risk Score is not measured: it has {counted(score.n, 'indicator')} of the {MEASURED_FLOOR} "
            f"that it needs; {prior}."
        )
    stood = f"The Program Risk Score stood at {score.current} ({score.band}, n = {score.n})"
    if score.prior is None:
        return f"{stood}; it was not measured at the end of the week before."
    if score.prior == score.current:
        return f"{stood}, as at the end of the week before."
    change = abs(score.current - score.prior)
    way = "higher" if score.current > score.prior else "lower"
    return f"{stood}, {counted(change, 'point')} {way} than at the end of the week before ({score.prior})."


def _kri_sentences(report: WeeklyReport) -> Iterator[str]:
    if not report.kris:
        yield "No key risk indicator is measured."
        return
    names = {status: [words(kri.name) for kri in report.kris if kri.status is status] for status in KriStatus}
    measured = len(report.kris) - len(names[KriStatus.UNMEASURED])
    parts = [
        f"{len(names[status])} {state}" + (f" ({', '.join(names[status])})" if names[status] else "")
        for status, state in ((KriStatus.BREACH, "in breach"), (KriStatus.WATCH, "at watch"))
    ]
    yield (
        f"Of {counted(len(report.kris), 'key risk indicator')}, {measured} {_was(measured)} measured: "
        f"{', '.join(parts)}, {len(names[KriStatus.OK])} ok."
    )
    if all(kri.prior_status is KriStatus.UNMEASURED for kri in report.kris):
        yield "None was measured before this week, so there is no change of status to report."
        return
    changed = [
        f"{words(kri.name)} from {kri.prior_status} to {kri.status}"
        for kri in report.kris
        if kri.status != kri.prior_status
    ]
    yield (f"Status changes: {_first(changed, len(changed))}." if changed else "No status changed during the week.")


def _transfers(report: WeeklyReport) -> Iterator[str]:
    transfers = report.transfers
    if not transfers.count:
        yield "The bank created no transfers in the week."
        return
    bands, returns = transfers.bands, transfers.returns
    yield (
        f"The bank created {counted(transfers.count, 'transfer')}, which moved {money(int(transfers.volume_cents))}."
    )
    yield (
        f"{bands.clear:,} {_was(bands.clear)} scored clear, {bands.review:,} review and {bands.hold:,} hold; "
        f"{bands.unscored:,} {_was(bands.unscored)} not scored."
    )
    if not returns.any:
        yield "None of them was returned."
    else:
        yield f"{returns.any:,} of them {_was(returns.any)} returned, {returns.unauthorized:,} as unauthorized."


def _alert_sentences(report: WeeklyReport) -> Iterator[str]:
    alerts = report.alerts
    if not alerts.total:
        yield "No alert opened."
        return
    waiting = sum(alerts.by_status[status] for status in WAITING)
    yield f"{counted(alerts.total, 'alert')} opened: {_detectors(alerts.by_detector)}."
    if waiting == alerts.total:
        yield "None has been decided yet."
    else:
        yield f"{waiting or 'None'} of them {'waits' if waiting in {0, 1} else 'wait'} for a decision."


def _detectors(counts: Sequence[DetectorCount]) -> str:
    """Most alerts first, routes together."""
    ordered = detector_totals(counts)
    parts = [f"{count:,} by {words(detector)}" for detector, count in ordered[:_NAMED]]
    rest = sum(count for _, count in ordered[_NAMED:])
    return _listed([*parts, *([f"{rest:,} by other detectors"] if rest else [])])


def _entered_hold(entered: int, listed: Sequence[EnteredHold]) -> str:
    if not entered:
        return "No entity, counterparty or agent entered the hold band, nor did the program."
    named = [f"{each.type} {each.id} with {each.score} (n = {each.n})" for each in listed]
    return f"Entered the hold band: {_first(named, entered)}."


def _dispositions(report: WeeklyReport) -> Iterator[str]:
    decisions = report.dispositions
    platform, persons, against = decisions.by_platform, decisions.by_person, decisions.overturned
    if not decisions.total:
        yield "No decision was made."
        return
    yield (
        f"{counted(decisions.total, 'decision')} {_was(decisions.total)} made, {platform:,} by the platform under its "
        f"policy and {persons:,} by persons; {against or 'none'} went against a draft or an earlier automatic close."
    )


def _hours(report: WeeklyReport) -> str:
    hours = report.time_to_decision_hours
    if hours.median is None or hours.p90 is None:
        return "No person decided an alert for the first time, so the time to a decision is not measured."
    return (
        f"Persons took a median of {hours.median:,.1f} hours from an alert's opening to its first decision, and "
        f"{hours.p90:,.1f} hours at the 90th percentile (n = {hours.n})."
    )


def _first(parts: Sequence[str], total: int) -> str:
    """The first few, and the number of the others."""
    first = parts[:_NAMED]
    rest = total - len(first)
    return _listed([*first, *([counted(rest, "other")] if rest else [])])


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
