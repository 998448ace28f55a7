"""Reports over a period: of an actor, which is an entity, counterparty or agent of one program, and of a program.

Errors  NotFoundError for an actor or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them; UnavailableError while the state has no owner
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from anyio import to_thread

from clearhold.api.area import Resources
from clearhold.api.kris.routes import indicators_of
from clearhold.api.lists.lists import to_answer
from clearhold.api.parties.routes import PartyFinder
from clearhold.api.reports.parts import (
    by_detector,
    current_at,
    current_of,
    period_of,
    points_of,
    summary_of,
    transitions_of,
)
from clearhold.api.reports.schemas import (
    ActorAlert,
    ActorDisposition,
    ActorQuery,
    ActorReport,
    KriDelta,
    ProgramPoint,
    ProgramRank,
    ProgramReport,
    ProgramReportQuery,
    SignalTrend,
)
from clearhold.features.catalogue.kris import KriStatus, KriValue
from clearhold.features.core.errors import ErrorCode, FieldCode, invalid
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.core.vocabulary import ActorType, Band
from clearhold.features.shard.questions import Owner, ReadDays, ReadScores
from clearhold.store.duck.reports.alerts import ReportActors, ReportAlerts, ReportTransfers
from clearhold.store.duck.reports.scores import KriSnapshots, ReportScores, ReportSnapshots, ReportSubject, SignalCount
from clearhold.store.tables import Span

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

    async def read(self, principal: Principal, actor_type: str, actor_id: str, query: ActorQuery) -> ActorReport:
        if actor_type not in set(ActorType):
            raise invalid("actorType", "must be entity, counterparty or agent", FieldCode.NOT_ONE_OF)
        now = self._clock.now()
        span = period_of(query.from_, query.to, now=now)
        subject, report = await to_thread.run_sync(
            self._read, principal, ActorType(actor_type), actor_id, query.program_id, span, now
        )
        if span.end <= now:
            return report
        question = ReadScores(ActorType(subject.type), (actor_id,), now)
        (score,) = (await self._owner.query(subject.program_id, question)).value
        return msgspec.structs.replace(report, current=current_at(score, report.current, now))

    def _read(
        self,
        principal: Principal,
        kind: ActorType,
        actor_id: str,
        named: str | None,
        span: Span,
        now: int,
    ) -> tuple[ReportSubject, ActorReport]:
        """The scored subject, and its report with the last score record of the period."""
        row = self._parties.find(principal, kind, actor_id, named, ErrorCode.ENTITY_NOT_FOUND)
        program_id, name = row.program_id, row.name
        is_agent = kind is not ActorType.COUNTERPARTY and self._parties.holds_agents(principal, program_id)
        subject = ReportSubject(program_id, ActorType.AGENT if is_agent else kind, actor_id)
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


def _trends(signals: list[SignalCount] | None) -> dict[str, SignalTrend] | None:
    if signals is None:
        return None
    return {each.signal: SignalTrend(count=each.recent, prior=each.before) for each in signals}


MOST_POINTS: Final = 200
MOST_TRANSITIONS: Final = 200
PROGRAM: Final = "program"
_DECIMALS: Final = 6
_NO_KRIS: Final[Mapping[str, KriValue]] = {}


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
    return _NO_KRIS if snapshot is None else indicators_of(snapshot)


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
