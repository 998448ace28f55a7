"""The report of an actor: an entity, counterparty or agent of one program over a period.

Errors  NotFoundError for an actor or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them; UnavailableError while the state has no owner
"""

from typing import Final

import duckdb
import msgspec
from anyio import to_thread

from clearhold.api.lists.lists import to_answer
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.api.reports.conversions import current_at, current_of, points_of, summary_of, transitions_of
from clearhold.api.reports.periods import period_of
from clearhold.api.reports.schemas import ActorAlert, ActorDisposition, ActorQuery, ActorReport, SignalTrend
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import ActorType
from clearhold.features.shard.questions import Owner, ReadScores
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.clock import Clock
from clearhold.store.duck.parties import Counterparties, Entities
from clearhold.store.duck.reports.alerts import ReportActors, ReportAlerts, ReportTransfers
from clearhold.store.duck.reports.scores import ReportScores, ReportSubject, SignalCount
from clearhold.store.tables.predicate import Span

MOST_LISTED: Final = 200
"""Of each list of a report, the newest."""

_UNKNOWN: Final = {
    ActorType.ENTITY: ("Unknown entity on this tenant.", ErrorCode.ENTITY_NOT_FOUND),
    ActorType.AGENT: ("Unknown agent on this tenant.", ErrorCode.ENTITY_NOT_FOUND),
    ActorType.COUNTERPARTY: ("Unknown counterparty on this tenant.", ErrorCode.COUNTERPARTY_NOT_FOUND),
}
_NOUNS: Final = {
    ActorType.ENTITY: "an entity",
    ActorType.AGENT: "an agent",
    ActorType.COUNTERPARTY: "a counterparty",
}


class ActorReports:
    def __init__(
        self, *, programs: ProgramService, owner: Owner, database: duckdb.DuckDBPyConnection, clock: Clock
    ) -> None:
        self._programs, self._owner, self._clock = programs, owner, clock
        self._entities, self._counterparties = Entities(database), Counterparties(database)
        self._actors, self._scores = ReportActors(database), ReportScores(database)
        self._alerts, self._transfers = ReportAlerts(database), ReportTransfers(database)

    async def read(self, principal: Principal, actor_type: str, actor_id: str, query: ActorQuery) -> ActorReport:
        if actor_type not in set(ActorType):
            raise invalid("actorType", "must be entity, counterparty or agent", FieldCode.NOT_ONE_OF)
        now = self._clock.now()
        span = period_of(query.from_, query.to, now=now)
        named = self._programs.filter_by(principal, None if query.program_id is None else [query.program_id])
        subject, report = await to_thread.run_sync(
            self._read, principal, ActorType(actor_type), actor_id, named, span, now
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
        named: tuple[str, ...] | None,
        span: Span,
        now: int,
    ) -> tuple[ReportSubject, ActorReport]:
        """The scored subject, and its report with the last score record of the period."""
        program_id, name = self._find(principal, kind, actor_id, named)
        is_agent = kind is not ActorType.COUNTERPARTY and self._holds_agents(principal, program_id)
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

    def _find(
        self, principal: Principal, kind: ActorType, actor_id: str, named: tuple[str, ...] | None
    ) -> tuple[str, str | None]:
        """The one program that has the actor, and its name there."""
        table = self._counterparties if kind is ActorType.COUNTERPARTY else self._entities
        rows = [
            row
            for row in table.find(principal, actor_id, named)
            if kind is not ActorType.AGENT or self._holds_agents(principal, row.program_id)
        ]
        if not rows:
            raise NotFoundError(*_UNKNOWN[kind])
        if len(rows) > 1:
            raise several_programs(_NOUNS[kind])
        return rows[0].program_id, rows[0].name

    def _holds_agents(self, principal: Principal, program_id: str) -> bool:
        return self._programs.read(principal, program_id).slug == AGENTS_SLUG


def _trends(signals: list[SignalCount] | None) -> dict[str, SignalTrend] | None:
    if signals is None:
        return None
    return {each.signal: SignalTrend(count=each.recent, prior=each.before) for each in signals}
