"""Events of the bank about a stack: on its subject and on the transfers of its alerts, the newest first."""

from typing import Final

import htpy as h

from clearhold.api.console.components.below import link_below, part_heading
from clearhold.api.console.components.stack_rows import who
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import moment, outsider
from clearhold.api.console.pages.bank_events import fault_of, path_of_event
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.events.routes import EventPage, EventsQuery, EventSummary
from clearhold.features.core.log_entry import TAKES_EFFECT, EventSubjectType

PART: Final = "bank-events"
"""The id of the part."""
MOST_TRANSFERS: Final = 99
"""With the subject, as many ids as one filter takes."""
NEWEST: Final = 20
_TITLE: Final = "Events of the bank"


def events_link(visit: Visit, stack_id: str) -> h.Node:
    """The way to the events: a workspace is opened without reading them."""
    return link_below(visit, f"/console/stacks/{stack_id}/events", PART, "Events of the bank about it, as received")


async def show(visit: Visit) -> Answer:
    stack_id = visit.params["stack_id"]
    detail = await visit.services.stacks.read(visit.principal, stack_id)
    stack, first = detail.stack, detail.worst
    transfers = dict.fromkeys(id_ for alert in (first, *detail.alerts) for id_ in alert.transfer_ids)
    query = EventsQuery(
        program_id=(stack.program_id,),
        subject_type=tuple(EventSubjectType),
        subject_id=tuple(dict.fromkeys((stack.who.id, *list(transfers)[:MOST_TRANSFERS]))),
        limit=NEWEST,
    )
    page = await visit.services.events.page(visit.principal, query)
    if visit.target == PART:
        return HtmlAnswer(_TITLE, [part_heading(_TITLE), _table(page)])
    names = {each.id: each.name for each in visit.services.programs.list(visit.principal, source=None)}
    content = h.div(".thing")[
        h.h1[_TITLE],
        h.p["About ", h.a(href=f"/console/stacks/{stack_id}")[who(stack, names)], ", the newest first."],
        h.section[_table(page)],
    ]
    return HtmlAnswer(_TITLE, content)


def _table(page: EventPage) -> h.Node:
    if not page.data:
        return h.p["The bank sent no event about it or its transfers that is still in the log."]
    heads = ("Received", "Event", "About", "Result")
    return [
        wide_table(_TITLE, heads, (_row(each) for each in page.data), style="endpoints"),
        h.p(".small")[f"There are older ones; these are the newest {NEWEST}."] if page.has_more else None,
    ]


def _row(event: EventSummary) -> h.Element:
    subject = event.subject
    return h.tr[
        h.td(data_label="Received")[moment(event.received_at)],
        h.td(".words", data_label="Event")[
            h.a(href=path_of_event(event))[outsider(event.type)],
            h.p(".small")["created ", moment(event.created_at)],
        ],
        h.td(data_label="About")[
            None if subject is None else [f"{subject.type.value} ", h.code[outsider(subject.id)]],
        ],
        h.td(".words", data_label="Result")[
            event.result.value,
            None if event.result in TAKES_EFFECT and event.reason is None else h.p(".small")[fault_of(event)],
        ],
    ]
