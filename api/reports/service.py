"""Reports over a period: of an actor, which is an entity, counterparty or agent of one program, and of a program.

Window  [from, to), whole UTC days or an ISO week; by default the last 30 days including today, or the last full week
Errors  NotFoundError for an actor or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them, for a period that is empty or over a year, and for a week
        that has not begun; UnavailableError while the state has no owner
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.accounts.routes import AccountFinder
from clearhold.api.area import Resources
from clearhold.api.http.fields import RULE_OF_PATTERN, WEEK
from clearhold.api.http.validation import Failure
from clearhold.api.kris.routes import indicators_of
from clearhold.api.lists.lists import FROM_BEFORE_TO, days_between, to_answer
from clearhold.api.parties.routes import PartyFinder
from clearhold.api.reports.schemas import (
    ActorAlert,
    ActorDisposition,
    ActorQuery,
    ActorReport,
    BandTransition,
    CurrentScore,
    DetectorCount,
    KriDelta,
    ProgramPoint,
    ProgramRank,
    ProgramReport,
    ProgramReportQuery,
    ReportedType,
    ReturnCounts,
    ScoreSignal,
    SignalTrend,
    SkoorPoint,
    TransferBands,
    TransfersSummary,
)
from clearhold.features.catalogue.kris import KriStatus, KriValue
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.instants import DAY_US, DAYS_7, IsoWeek, format_instant, parse_week, week_of
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.features.core.vocabulary import ActorType, Band, Reason, Route, Score
from clearhold.features.shard.questions import Owner, ReadDays, ReadScores
from clearhold.store.duck.reports.alerts import AlertCount, ReportActors, ReportAlerts, ReportTransfers
from clearhold.store.duck.reports.scores import (
    BandChange,
    KriSnapshots,
    ReportScores,
    ReportSnapshots,
    ReportSubject,
    SignalCount,
)
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


MOST_LISTED: Final = 200
"""Of each list of a report, the newest."""


class ActorReports:
    def __init__(self, resources: Resources) -> None:
        stores, database = resources.stores, resources.stores.database
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._parties, self._actors, self._scores = (
            PartyFinder(resources),
            ReportActors(database),
            ReportScores(database),
        )
        self._alerts, self._transfers = ReportAlerts(database), ReportTransfers(database)
        self._accounts = AccountFinder(resources)

    async def read(self, principal: Principal, actor_type: str, actor_id: str, query: ActorQuery) -> ActorReport:
        if actor_type not in set(ReportedType):
            raise invalid("actorType", "must be entity, counterparty, agent or account", FieldCode.NOT_ONE_OF)
        now = self._clock.now()
        span = period_of(query.from_, query.to, now=now)
        subject, report = await to_thread.run_sync(
            self._read, principal, ReportedType(actor_type), actor_id, query.program_id, span, now
        )
        if span.end <= now or subject.type == ReportedType.ACCOUNT:
            return report
        question = ReadScores(ActorType(subject.type), (actor_id,), now)
        (score,) = (await self._owner.query(subject.program_id, question)).value
        return msgspec.structs.replace(report, current=current_at(score, report.current, now))

    def _read(
        self,
        principal: Principal,
        kind: ReportedType,
        actor_id: str,
        named: str | None,
        span: Span,
        now: int,
    ) -> tuple[ReportSubject, ActorReport]:
        """The scored subject, and its report with the last score record of the period."""
        subject, name = self._subject(principal, kind, actor_id, named)
        program_id = subject.program_id
        actor = self._actors.find(principal, program_id, kind, actor_id)
        alerts = self._alerts.of_actor(principal, actor, span, MOST_LISTED)
        decisions = self._alerts.dispositions_of_actor(principal, actor, span, MOST_LISTED)
        report = ActorReport(
            kind="actor",
            type=kind,
            id=actor_id,
            name=name or None,
            program_id=program_id,
            generated_at=format_instant(now),
            from_=format_instant(span.start),
            to=format_instant(span.end),
            current=current_of(self._scores.newest(principal, subject, before=span.end)),
            history=points_of(self._scores.history(principal, subject, span, MOST_LISTED)),
            transitions=transitions_of(self._scores.band_changes(principal, subject, span, MOST_LISTED)),
            signal_trends=_trends(self._scores.signals(principal, subject, span)),
            transfers=summary_of(self._transfers.of_actor(principal, actor, span)),
            alerts=tuple(to_answer(row, ActorAlert) for row in alerts),
            dispositions=tuple(to_answer(row, ActorDisposition) for row in decisions),
        )
        return subject, self._programs.marked(report, program_id)

    def _subject(
        self, principal: Principal, kind: ReportedType, actor_id: str, named: str | None
    ) -> tuple[ReportSubject, str | None]:
        """The scored subject and its name; an account has neither a score nor a name."""
        if kind is ReportedType.ACCOUNT:
            account = self._accounts.find(principal, actor_id, named)
            return ReportSubject(account.program_id, kind, actor_id), None
        row = self._parties.find(principal, ActorType(kind), actor_id, named)
        is_agent = kind is not ReportedType.COUNTERPARTY and self._parties.holds_agents(principal, row.program_id)
        return ReportSubject(row.program_id, ActorType.AGENT if is_agent else kind, actor_id), row.name


def _trends(signals: list[SignalCount] | None) -> dict[str, SignalTrend] | None:
    if signals is None:
        return None
    return {each.signal: SignalTrend(count=each.recent, prior=each.before) for each in signals}


MOST_POINTS: Final = 200
MOST_TRANSITIONS: Final = 200
PROGRAM: Final = "program"
_DECIMALS: Final = 6


class ProgramReports:
    def __init__(self, resources: Resources) -> None:
        stores, database = resources.stores, resources.stores.database
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._scores, self._alerts = ReportScores(database), ReportAlerts(database)
        self._snapshots, self._points = KriSnapshots(database), ReportSnapshots(database)

    async def read(self, principal: Principal, program_id: str, query: ProgramReportQuery) -> ProgramReport:
        program = self._programs.read(principal, program_id)
        now = self._clock.now()
        span = period_of(query.from_, query.to, now=now)
        totals = await totals_of(self._owner, program.id, span)
        report = await to_thread.run_sync(self._read, principal, program, span, now, totals)
        return self._programs.marked(report, program.id)

    def _read(self, principal: Principal, program: Program, span: Span, now: int, totals: DayTotals) -> ProgramReport:
        subject = ReportSubject(program.id, PROGRAM, program.id)
        newest = self._snapshots.newest(principal, program.id, upto=span.end - 1)
        kris = kris_of(newest)
        before = kris_of(self._snapshots.newest(principal, program.id, upto=span.start - 1))
        return ProgramReport(
            kind="program",
            id=program.id,
            name=program.name,
            generated_at=format_instant(now),
            from_=format_instant(span.start),
            to=format_instant(span.end),
            current=current_of(self._scores.newest(principal, subject, before=span.end)),
            history=self._history(principal, program.id, span),
            transitions=transitions_of(self._scores.band_changes(principal, subject, span, MOST_TRANSITIONS)),
            snapshot_id=None if newest is None else newest.id,
            kris=dict(kris),
            kri_deltas=tuple(_delta(name, before.get(name), kri) for name, kri in kris.items()),
            rank=self._rank(principal, program, newest, before=span.end),
            transfers=summary_of(totals),
            alerts_by_detector=by_detector(self._alerts.counts(principal, program.id, span)),
        )

    def _history(self, principal: Principal, program_id: str, span: Span) -> tuple[ProgramPoint, ...]:
        points = self._points.points(principal, program_id, span, MOST_POINTS)
        return tuple(
            ProgramPoint(as_of=format_instant(each.at), program_score=each.score, band=Band(each.band), n=each.n)
            for each in points
        )

    def _rank(
        self, principal: Principal, program: Program, newest: KriSnapshotRow | None, *, before: int
    ) -> ProgramRank | None:
        """Among the programs of the same source within the principal's reach; a higher score is a lower rank."""
        if newest is None or newest.program_score is None:
            return None
        peers = [each.id for each in self._programs.list(principal, source=program.source)]
        scores = self._points.scores(principal, peers, before=before)
        higher = sum(score > newest.program_score for score in scores.values())
        return ProgramRank(rank=1 + higher, of=len(scores), n=newest.program_score_n)


async def totals_of(owner: Owner, program_id: str, span: Span) -> DayTotals:
    """The program's current totals over whole days, from its owner."""
    return (await owner.query(program_id, ReadDays(span.start // DAY_US, span.end // DAY_US))).value


def kris_of(snapshot: KriSnapshotRow | None) -> Mapping[str, KriValue]:
    """The indicators of a snapshot by name, in display order."""
    return {} if snapshot is None else indicators_of(snapshot)


def delta_of(prior: float | None, value: float | None) -> float | None:
    return None if prior is None or value is None else round(value - prior, _DECIMALS)


def _delta(name: str, prior: KriValue | None, kri: KriValue) -> KriDelta:
    from_ = None if prior is None else prior.value
    return KriDelta(
        name=name,
        from_=from_,
        to=kri.value,
        delta=delta_of(from_, kri.value),
        status_from=KriStatus.UNMEASURED if prior is None else prior.status,
        status_to=kri.status,
        n=kri.n,
    )
