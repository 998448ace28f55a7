"""Stacks over HTTP: the queue of stories instead of alerts; taking alerts out of one, and deciding several at once.

Which alerts are a stack is decided by ``features/alerts/stacks.py`` from the log.

Errors  NotFoundError for a stack or program that is not this tenant's; ConflictError for a split that cannot be made;
        InvalidRequestError for a cursor of another list; UnavailableError when an entry is not recorded in time
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import structlog

from clearhold.api.alerts.many import (
    DECIDED,
    DECISION_OF_SEVERAL,
    AlertResult,
    AlertsDecisionRequest,
    DecidedAlerts,
    ManyDecisions,
    decided,
    refused,
)
from clearhold.api.alerts.summaries import AlertPages
from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import MOST_ALERTS
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_operation, write_route
from clearhold.api.lists.lists import ListReader, Place, filter_of, instant_text
from clearhold.api.log.commands import not_in_stack
from clearhold.api.stacks.schemas import (
    SPLIT,
    SPLIT_REQUEST,
    STACK,
    STACK_DECISION_REQUEST,
    STACK_DETAIL,
    SplitRequest,
    Stack,
    StackDecisionRequest,
    StackDetail,
    StackPage,
    StacksQuery,
    StackSubject,
)
from clearhold.features.alerts.stacks import words_of
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.actions import person_key
from clearhold.features.core.entries.commands import SplitEntry
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import WAITING, AlertStatus, Band, Severity, StackKind, SubjectType
from clearhold.features.state.stack_book import stack_id_of
from clearhold.store.duck.alert_lists import SubjectNames
from clearhold.store.duck.stacks import StackFigures, StackFilter, Stacks, StackTotals

_BY_PARTY: Final = frozenset({StackKind.ENTITY, StackKind.ACCOUNT, StackKind.COUNTERPARTY})
_BANDS: Final = (Band.UNSCORED, Band.CLEAR, Band.REVIEW, Band.HOLD)  # the worst last
_SEVERITIES: Final = tuple(Severity)

log = structlog.get_logger()


class StackService:
    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs, self._commands = resources.programs, resources.command_log
        self._stacks, self._names = Stacks(database, resources.waiting_alerts), SubjectNames(database)
        self._alerts = AlertPages(resources)
        self._many, self._clock = ManyDecisions(resources), resources.stores.clock
        self._new_id = resources.stores.new_id
        self._list = ListReader(self._read_page, self._to_stacks, _place, lambda place: (place.at, place.id))

    async def page(self, principal: Principal, query: StacksQuery) -> StackPage:
        """In the order that the query names; a programId of another tenant is a 404."""
        wanted = filter_of(StackFilter, query, self._programs.filter_by(principal, query.program_id))
        return StackPage.of(*await self._list.page(principal, wanted, query))

    async def totals(self, principal: Principal, query: StacksQuery, due_before: int) -> StackTotals:
        """The numbers of all pages of a list of waiting stacks; ``due_before`` is an instant in microseconds."""
        wanted = filter_of(StackFilter, query, self._programs.filter_by(principal, query.program_id))
        wanted = msgspec.structs.replace(wanted, now=self._clock.now())
        return await in_reader(self._stacks.totals_of, principal, wanted, due_before)

    async def held_cents(self, principal: Principal) -> int:
        """US cents that are held now, of the same programs as the numbers of ``GET /api/counts``."""
        programs = {program.id for program in self._programs.counted(principal, None)}
        return await in_reader(self._stacks.held_cents, principal, programs)

    async def read(self, principal: Principal, stack_id: str) -> StackDetail:
        figures = await self._figures(principal, stack_id)

        def detail() -> StackDetail:
            keys = self._stacks.keys_of(principal, figures.id, MOST_ALERTS)
            (stack,) = self._to_stacks(principal, [figures])
            return StackDetail(stack=stack, alerts=tuple(self._alerts.summaries_at(principal, keys)))

        return await in_reader(detail)

    async def split(self, principal: Principal, stack_id: str, request: SplitRequest, effect_id: str | None) -> Stack:
        """The stack of the alerts that were taken out; a repeated ``effect_id`` returns the first one."""
        figures = await self._figures(principal, stack_id)
        entry = partial(
            SplitEntry,
            stack_id=figures.id,
            alert_ids=tuple(dict.fromkeys(map(str, request.alert_ids))),
            operator=principal.operator,
            principal_id=principal.id,
            identity=principal.identity,
        )
        result = await self._commands.submit(principal, EntryKind.SPLIT, figures.program_id, entry, effect_id=effect_id)
        taken_out = await self._figures(principal, stack_id_of(result.id))
        log.info("stack_split", stack_id=figures.id, taken_out=taken_out.id, operator=principal.operator)
        (stack,) = await in_reader(self._to_stacks, principal, [taken_out])
        return stack

    async def decide(
        self, principal: Principal, stack_id: str, request: StackDecisionRequest, effect_id: str | None
    ) -> DecidedAlerts:
        """Decide the alerts that wait in the stack, or those of them that the request names."""
        figures = await self._figures(principal, stack_id)
        named = None if request.alert_ids is None else [*dict.fromkeys(map(str, request.alert_ids))]
        read = partial(self._stacks.keys_of, statuses=WAITING if named is None else None, alert_ids=named)
        inside = [alert_id for alert_id, _ in await in_reader(read, principal, figures.id, MOST_ALERTS)]
        cause, results = effect_id or self._new_id(), list[AlertResult]()
        earlier = await self._commands.carried_out(principal, derived_id(cause, figures.program_id))
        if inside or earlier is not None:
            results = await self._many.decide_in(
                principal, figures.program_id, inside, request.decision, request.narrative, cause
            )
        answered = {result.alert_id for result in results}  # of the first try: others may have left the stack since
        outside = (refused(each, not_in_stack()) for each in named or () if each not in answered)
        return decided(request.decision, (*results, *outside))

    async def decide_alerts(
        self, principal: Principal, request: AlertsDecisionRequest, effect_id: str | None
    ) -> DecidedAlerts:
        return await self._many.decide(principal, request, effect_id)

    async def _figures(self, principal: Principal, stack_id: str) -> StackFigures:
        figures = await in_reader(self._stacks.read, principal, stack_id.lower())
        if figures is None:
            raise NotFoundError("Unknown stack on this tenant.", ErrorCode.STACK_NOT_FOUND)
        return figures

    def _read_page(
        self, principal: Principal, wanted: StackFilter, after: tuple[int, str] | None, limit: int
    ) -> Sequence[StackFigures]:
        """The time is no part of the filters of a cursor."""
        return self._stacks.page_of(principal, msgspec.structs.replace(wanted, now=self._clock.now()), after, limit)

    def _to_stacks(self, principal: Principal, rows: Sequence[StackFigures]) -> list[Stack]:
        subjects = {_subject_of(row) for row in rows}
        names = self._names.of(principal, subjects) | self._names.of_owners(principal, subjects)
        return [self._to_stack(row, names.get(_subject_of(row))) for row in rows]

    def _to_stack(self, row: StackFigures, name: str | None) -> Stack:
        kind, worst = StackKind(row.kind), row.worst
        subject_type, _, subject_id = _subject_of(row)
        stack = Stack(
            id=row.id,
            program_id=row.program_id,
            kind=kind,
            key=row.key,
            words=words_of(kind, row.key),
            who=StackSubject(type=SubjectType(subject_type), id=subject_id, name=name),
            size=row.size,
            waiting=row.waiting,
            due_at=instant_text(row.due_at),
            band=max(map(Band, row.bands), key=_BANDS.index, default=None),
            score=row.score,
            severity=max(map(Severity, row.severities), key=_SEVERITIES.index),
            hard_signal=row.hard,
            sentence=worst.figures.finding or worst.summary,
            detectors=dict(sorted(Counter(row.detectors).items())),
            statuses={AlertStatus(status): count for status, count in sorted(Counter(row.statuses).items())},
            held_cents=str(row.held_cents),
            first_opened_at=format_instant(row.first_opened_at),
            last_opened_at=format_instant(row.last_opened_at),
            alert_ids=row.alert_ids,
            assignees=_each_once(row.assignees),
            unassigned=row.assignees.count(""),
        )
        return self._programs.marked(stack, row.program_id)


def _subject_of(row: StackFigures) -> tuple[str, str, str]:
    """Type, program and id of the party that a stack is by, else of the subject of its worst alert."""
    if row.kind in _BY_PARTY:
        return row.kind, row.program_id, row.key
    return row.worst.subject_type, row.program_id, row.worst.subject_id


def _each_once(assignees: Sequence[str]) -> tuple[str, ...]:
    """Each person once, in one spelling."""
    of_key = {person_key(name): name for name in sorted(assignees, reverse=True) if name}
    return tuple(of_key[key] for key in sorted(of_key))


def _place(row: StackFigures) -> Place:
    return Place(row.place, row.id, row.program_id)


_TAG: Final = "stacks"
_PATH: Final = "/api/stacks/{stack_id:str}"
_deciding: Final = partial(Operation, access=Access.BEARER, scope=KeyScope.ALERTS_DECIDE)

_LIST: Final = list_operation(
    "listStacks",
    tag=_TAG,
    summary="Waiting alerts that are one story, as one row: alerts on one party whose transfers are at most two weeks "
    "apart. A payroll's employees are not one story.",
    scope=KeyScope.ALERTS_READ,
    page=StackPage,
    query=StacksQuery,
    example=STACK,
)
_READ: Final = Operation(
    id="getStack",
    tag=_TAG,
    summary="One stack with its alerts, without their evidence. `GET /api/alerts?stackId=` has them all, whole.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: StackDetail},
    refusals=(ErrorCode.STACK_NOT_FOUND,),
    answer_example=STACK_DETAIL,
)
_SPLIT: Final = _deciding(
    id="splitStack",
    tag=_TAG,
    summary="Takes alerts out of a stack. Together they become a stack that no further alert joins; further alerts "
    "join the rest. Either all of them are taken out, or nothing changes.",
    answers={201: Stack},
    refusals=(
        ErrorCode.STACK_NOT_FOUND,
        ErrorCode.ALERT_NOT_IN_STACK,
        ErrorCode.STACK_NOT_SPLIT,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(SplitRequest),
    example=SPLIT_REQUEST,
    answer_example=SPLIT,
)
_DECIDE: Final = _deciding(
    id="decideStack",
    tag=_TAG,
    summary="Signs one decision on the alerts that wait in a stack. It is one entry of the log with one narrative, and "
    "gives each alert a chained disposition. As with `decideAlerts`, each alert has its own result. Name the alerts "
    "that you have seen in `alertIds`, so that an alert which joined since is left.",
    answers={200: DecidedAlerts},
    refusals=(ErrorCode.STACK_NOT_FOUND, ErrorCode.NOT_CONFIRMED),
    body=RequestSchema(StackDecisionRequest),
    example=STACK_DECISION_REQUEST,
    answer_example=DECIDED,
)
_DECIDE_ALERTS: Final = _deciding(
    id="decideAlerts",
    tag="alerts",
    summary="Signs one decision on up to 200 alerts, each as if its decision came alone. Each has the same checks, its "
    "own disposition on the chain, and its own result. One that cannot be decided has its error in its place, and the "
    "others are decided. The alerts of one program are one entry of the log; those of several are one for each.",
    answers={200: DecidedAlerts},
    refusals=(ErrorCode.NOT_CONFIRMED,),
    body=RequestSchema(AlertsDecisionRequest),
    example=DECISION_OF_SEVERAL,
    answer_example=DECIDED,
)

AREA: Final = Area(
    routes=(
        answer_route("/api/stacks", _LIST, _TAG, StackService.page),
        answer_route(_PATH, _READ, _TAG, StackService.read),
        write_route(f"{_PATH}/split", _SPLIT, _TAG, StackService.split),
        write_route(f"{_PATH}/decide", _DECIDE, _TAG, StackService.decide),
        write_route("/api/alerts/decide", _DECIDE_ALERTS, _TAG, StackService.decide_alerts),
    ),
    provide={_TAG: StackService},
)
