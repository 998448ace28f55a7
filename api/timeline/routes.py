"""One line in time of a transfer, an alert, a party, an account or a program: money, changes of band, alerts,
decisions, actions and labels.

Errors  NotFoundError for a thing or program that is not this tenant's; InvalidRequestError for an unknown type, for an
        id that several programs have while the request names none of them, and for a cursor of another list
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.accounts.routes import AccountFinder
from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import MUST_BE_UUID, CursorText, PageLimit, ProgramId, is_uuid
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, ListReader, Place, place_key
from clearhold.api.log.commands import unknown_alert
from clearhold.api.parties.routes import PartyFinder
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.api.timeline.sentences import sentence_of
from clearhold.api.transfers.service import find_transfer
from clearhold.features.core.errors import ErrorCode, FieldCode, invalid
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.vocabulary import ActorType, about
from clearhold.store.duck.alerts import Alerts
from clearhold.store.duck.party_timeline import (
    PartyTimeline,
    TimelineFilter,
    TimelineKind,
    TimelineRow,
    TimelineSubject,
)
from clearhold.store.duck.transfers import Transfers

_TAG: Final = "timeline"
Kinds = Annotated[tuple[TimelineKind, ...], msgspec.Meta(min_length=1, max_length=len(TimelineKind))]


class TimelineQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have a thing of that id."""

    program_id: ProgramId | None = None
    kind: Kinds | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class TimelineIds(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The things that a row is about."""

    transfer_id: Annotated[str | None, about("The transfer.")] = None
    alert_id: Annotated[str | None, about("The alert.")] = None
    disposition_id: Annotated[str | None, about("The decision.")] = None
    action_id: Annotated[str | None, about("The action.")] = None


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    at: Annotated[str, about("When it happened: money by the bank's creation time or return.")]
    kind: Annotated[TimelineKind, about("What it is: a return is money; score is a change of band.")]
    sentence: Annotated[str, about("The row in words.")]
    ids: Annotated[TimelineIds, about("Ids of what it is about; an id that does not apply is absent.")]
    amount_cents: Annotated[str | None, about("Amount of money in a string of digits; null where it is not money.")]
    currency: Annotated[str | None, about("Currency of that amount; null where it is not money.")]
    program_id: str
    simulated: Simulated = msgspec.UNSET


class TimelinePage(ListPage[TimelineEntry], frozen=True, kw_only=True, rename="camel"):
    pass


class TimelineService:
    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs, self._timeline = resources.programs, PartyTimeline(database)
        self._parties, self._accounts = PartyFinder(resources), AccountFinder(resources)
        self._transfers, self._alerts = Transfers(database), Alerts(database)
        self._list = ListReader(self._timeline.list_page, lambda _, rows: self._entries(rows), _place, place_key)

    async def page(self, principal: Principal, subject: str, subject_id: str, query: TimelineQuery) -> TimelinePage:
        """The newest row first."""
        if subject not in set(TimelineSubject):
            raise invalid("subjectType", f"must be one of {', '.join(TimelineSubject)}", FieldCode.NOT_ONE_OF)
        kind = TimelineSubject(subject)
        program_id = await in_reader(self._program_of, principal, kind, subject_id, query.program_id)
        id_ = program_id if kind is TimelineSubject.PROGRAM else subject_id
        wanted = TimelineFilter(program_id=program_id, subject=kind, subject_id=id_, kinds=query.kind)
        return TimelinePage.of(*await self._list.page(principal, wanted, query))

    def _program_of(self, principal: Principal, subject: TimelineSubject, subject_id: str, named: str | None) -> str:
        """The program of the one thing of that id; a program is its own."""
        if subject is TimelineSubject.PROGRAM:
            if not is_uuid(subject_id):
                raise invalid("subjectId", MUST_BE_UUID, FieldCode.MALFORMED)
            program = self._programs.read(principal, subject_id)
            if named is not None and self._programs.read(principal, named).id != program.id:
                raise invalid("programId", "must be the program itself", FieldCode.CONFLICTING)
            return program.id
        if subject is TimelineSubject.TRANSFER:
            stored = find_transfer(self._programs, self._transfers, principal, subject_id, named)
            return stored.row.program_id
        if subject is TimelineSubject.ACCOUNT:
            return self._accounts.find(principal, subject_id, named).program_id
        if subject is TimelineSubject.ALERT:
            programs = self._programs.filter_by(principal, None if named is None else [named])
            alert = self._alerts.find(principal, subject_id)
            if alert is None or (programs is not None and alert.program_id not in programs):
                raise unknown_alert()
            return alert.program_id
        return self._parties.find(principal, ActorType(subject), subject_id, named).program_id

    def _entries(self, rows: Sequence[TimelineRow]) -> list[TimelineEntry]:
        return [self._programs.marked(_entry(row), row.program_id) for row in rows]


def _entry(row: TimelineRow) -> TimelineEntry:
    return TimelineEntry(
        at=format_instant(row.at),
        kind=row.kind,
        sentence=sentence_of(row),
        ids=TimelineIds(
            transfer_id=row.transfer_id,
            alert_id=row.alert_id,
            disposition_id=row.disposition_id,
            action_id=row.action_id,
        ),
        amount_cents=None if row.amount_cents is None else str(row.amount_cents),
        currency=row.currency,
        program_id=row.program_id,
    )


def _place(row: TimelineRow) -> Place:
    return Place(row.at, row.id, row.program_id)


ROW: Final[dict[str, Any]] = {
    "at": "2026-03-02T15:04:05.000Z",
    "kind": "money",
    "sentence": "Outgoing ach CREDIT transfer of USD 2,850.00, now SETTLED.",
    "ids": {"transferId": "acht_2zExample0001"},
    "amountCents": "285000",
    "currency": "USD",
    "programId": PROGRAM_ID,
}
_READ: Final = Operation(
    id="getTimeline",
    tag=_TAG,
    summary="All that happened to one transfer, alert, party, account or program, newest first. It has money and "
    "returns, changes of band, alerts, decisions, actions and labels. 400 if several programs have one of that id and "
    "programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: TimelinePage},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.TRANSFER_NOT_FOUND,
        ErrorCode.ALERT_NOT_FOUND,
        ErrorCode.ENTITY_NOT_FOUND,
        ErrorCode.COUNTERPARTY_NOT_FOUND,
        ErrorCode.ACCOUNT_NOT_FOUND,
        ErrorCode.AGENT_NOT_FOUND,
    ),
    answer_example={"data": [ROW], "hasMore": False, "nextCursor": None},
    query=RequestSchema(TimelineQuery),
)


AREA: Final = Area(
    routes=(answer_route("/api/timeline/{subject_type:str}/{subject_id:str}", _READ, _TAG, TimelineService.page),),
    provide={_TAG: TimelineService},
)
