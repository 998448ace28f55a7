"""Bank events and their results, for callers."""

from typing import Annotated

import msgspec

from clearhold.api.http.fields import CursorText, Moment, PageLimit, ProgramId, ProgramIds
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import MEANING_OF_RESULT, EventResult, EventSubjectType
from clearhold.features.core.program import Simulated
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.events import Consequences

_RESULT_MEANING = " ".join(f"{result}: {meaning}" for result, meaning in MEANING_OF_RESULT.items())
_REASON = "One sentence on the result; null for most results."
_PATH = "The field that the sentence is about, such as data.amount."


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters and page of the list of events; ``from`` and ``to`` are of their arrival."""

    program_id: ProgramIds | None = None
    result: Annotated[tuple[EventResult, ...], msgspec.Meta(min_length=1, max_length=len(EventResult))] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class EventQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramId | None = None


class EventSubject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an event is about."""

    type: Annotated[EventSubjectType, about("What the event is about.")]
    id: Annotated[str, about("The bank's id of the transfer or party.")]


class EventDelivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One delivery under an event's id that is in the log."""

    received_at: Annotated[str, about("When it was made durable.")]
    result: Annotated[EventResult, msgspec.Meta(description=_RESULT_MEANING)]
    reason: Annotated[str | None, msgspec.Meta(description=_REASON)]
    path: Annotated[str | None, msgspec.Meta(description=_PATH)]
    corrects: Annotated[bool, about("True when events under this id came before and none of them took effect.")]


class EventSummary(EventDelivery, frozen=True, kw_only=True, rename="camel"):
    """One delivery of an event and its result."""

    id: Annotated[str, about("The event's id.")]
    tenant_id: Annotated[str, about("The tenant.")]
    program_id: Annotated[str, about("The program that it was sent to.")]
    type: Annotated[str, about("The event's type.")]
    created_at: Annotated[str, about("When the bank created it.")]
    subject: Annotated[EventSubject | None, about("What it is about, where that could be read.")]
    simulated: Simulated = msgspec.UNSET


class Event(EventSummary, frozen=True, kw_only=True, rename="camel"):
    """The delivery that took effect, else the newest one, with its consequences and all deliveries under the id."""

    alert_ids: Annotated[tuple[str, ...], about("The alerts that it opened or changed.")]
    preflight_id: Annotated[str | None, about("The pre-flight that was open on its transfer, if there was one.")]
    deliveries: Annotated[
        tuple[EventDelivery, ...],
        about("Newest first, at most 100, without exact repetitions."),
    ]


class EventPage(ListPage[EventSummary], frozen=True, kw_only=True, rename="camel"):
    """A page of deliveries, newest first."""


def to_delivery(row: EventRow) -> EventDelivery:
    return EventDelivery(
        received_at=format_instant(row.appended_at),
        result=EventResult(row.result),
        reason=row.reason,
        path=row.path,
        corrects=row.is_correction,
    )


def to_summary(row: EventRow) -> EventSummary:
    subject = None
    if row.subject_type is not None and row.subject_id is not None:
        subject = EventSubject(type=EventSubjectType(row.subject_type), id=row.subject_id)
    return EventSummary(
        **msgspec.structs.asdict(to_delivery(row)),
        id=row.event_id,
        tenant_id=row.tenant_id,
        program_id=row.program_id,
        type=row.type,
        created_at=format_instant(row.created_at),
        subject=subject,
    )


def to_event(row: EventRow, consequences: Consequences, deliveries: tuple[EventDelivery, ...]) -> Event:
    summary = {name: getattr(to_summary(row), name) for name in EventSummary.__struct_fields__}
    return Event(
        **summary,
        alert_ids=consequences.alert_ids,
        preflight_id=consequences.preflight_id,
        deliveries=deliveries,
    )
