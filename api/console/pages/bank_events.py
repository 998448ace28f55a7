"""Bank events without effect: each with its fault in words and how to correct it; one event with the bank's object."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import htpy as h
import msgspec

from clearhold.api.console.components.settings import EVENTS, settings_frame
from clearhold.api.console.components.timeline import thing_path
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import moment, outsider
from clearhold.api.console.pages.api_keys import program_choice
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.events.routes import Event, EventDelivery, EventPage, EventQuery, EventsQuery, EventSummary
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.log_entry import MEANING_OF_RESULT, TAKES_EFFECT, EventResult
from clearhold.features.core.principal import Program

PATH: Final = EVENTS
PAGE: Final = "50"
WITHOUT_EFFECT: Final = (
    EventResult.UNUSABLE,
    EventResult.UNKNOWN,
    EventResult.CONFLICTING,
    EventResult.FAILED,
)
CURES: Final[Mapping[EventResult, str]] = {
    EventResult.UNUSABLE: "Correct the field at the bank, and send the event again under the same id: it is taken as "
    "new. Nothing has to be undone here.",
    EventResult.UNKNOWN: "If its type is misspelt, send it again under the same id with the right type. If the bank "
    "means it so, nothing has to be done: it is kept.",
    EventResult.CONFLICTING: "The id is used up. Send the change as a new event with a new id.",
    EventResult.FAILED: "The sender has nothing to correct. The log keeps the event; tell the administrator of this "
    "service, whose metrics count it as quarantined.",
}
_LIST: Final = RequestSchema(EventsQuery)
_ONE: Final = RequestSchema(EventQuery)


async def show_all(visit: Visit) -> Answer:
    chosen, program_id = visit.query.get("result"), visit.query.get("program")
    parts = {"result": chosen or ",".join(WITHOUT_EFFECT), "limit": PAGE}
    parts |= {"programId": program_id} if program_id else {}
    parts |= {"cursor": visit.query["cursor"]} if "cursor" in visit.query else {}
    page = await visit.services.events.page(visit.principal, _LIST.read_query([*parts.items()]))
    programs = visit.services.programs.list(visit.principal, source=None)
    content = settings_frame(
        visit,
        h.h1["Events without effect"],
        h.p[
            "Events of the bank that were taken in, and changed nothing. Each says the fault and the field, so that "
            "the sender can correct it."
        ],
        _filters(chosen, program_id, programs),
        h.section(".person")[_table(page, {each.id: each for each in programs})],
        _older(visit, page),
    )
    return HtmlAnswer("Events without effect", content)


def _filters(chosen: str | None, program_id: str | None, programs: tuple[Program, ...]) -> h.Element:
    kept = {"program": program_id} if program_id else {}
    return h.div(".event-filters")[
        h.nav(".chips", aria_label="Results")[
            h.a(href=_address(kept), aria_current=None if chosen else "true")["All"],
            (
                h.a(
                    href=_address(kept | {"result": each.value}),
                    aria_current="true" if chosen == each.value else None,
                )[each.value]
                for each in WITHOUT_EFFECT
            ),
        ],
        h.form(method="get", action=PATH)[
            h.input(type="hidden", name="result", value=chosen) if chosen else None,
            h.label["Program", program_choice(programs, program_id or "", "every program")],
            h.button(type="submit")["Filter"],
        ],
    ]


def _address(query: Mapping[str, str]) -> str:
    return f"{PATH}?{urlencode(query)}" if query else PATH


def _older(visit: Visit, page: EventPage) -> h.Node:
    if page.next_cursor is None:
        return None
    kept = {name: value for name, value in visit.query.items() if name in {"result", "program"}}
    return h.p(".pages")[h.a(href=_address(kept | {"cursor": page.next_cursor}))["Older"]]


def _table(page: EventPage, programs: Mapping[str, Program]) -> h.Node:
    if not page.data:
        return h.p["No such event: each event that was sent took effect, or is older or a repeat."]
    heads = ("Received", "Result", "Fault", "Type", "Program")
    return wide_table(
        "Events", heads, (_row(each, programs.get(each.program_id)) for each in page.data), style="endpoints"
    )


def _row(event: EventSummary, program: Program | None) -> h.Element:
    return h.tr[
        h.td(data_label="Received")[moment(event.received_at)],
        h.td(data_label="Result")[h.a(href=path_of_event(event))[event.result.value]],
        h.td(".words", data_label="Fault")[fault_of(event), h.p(".small")[h.code[outsider(event.id)]]],
        h.td(data_label="Type")[h.code[outsider(event.type)]],
        h.td(data_label="Program")[
            outsider(None if program is None else program.name, "unknown"),
            " ",
            h.span(".simulated")["simulated"] if event.simulated is True else None,
        ],
    ]


def path_of_event(event: EventSummary) -> str:
    return f"{PATH}/{quote(event.id, safe='')}?programId={event.program_id}"


def fault_of(delivery: EventDelivery) -> h.Node:
    sentence = delivery.reason or MEANING_OF_RESULT[delivery.result]
    return [sentence, (" Field: ", h.code[outsider(delivery.path)]) if delivery.path is not None else None]


def faults_of_program(page: EventPage) -> h.Node:
    """The newest events of one program that changed nothing, each with its fault and its cure."""
    if not page.data:
        return h.p["None: each event that was sent took effect, or is older or a repeat."]
    lines = (
        h.li[
            moment(each.received_at),
            " ",
            h.a(href=path_of_event(each))[each.result.value],
            ": ",
            fault_of(each),
            h.p(".small")[CURES[each.result]],
        ]
        for each in page.data
    )
    return [h.ul(".plain")[lines], h.p[h.a(href=_address({"program": page.data[0].program_id}))["All of this program"]]]


async def newest_faults(visit: Visit, program_id: str, most: int) -> EventPage:
    parts = {"result": ",".join(WITHOUT_EFFECT), "limit": str(most), "programId": program_id}
    return await visit.services.events.page(visit.principal, _LIST.read_query([*parts.items()]))


async def show(visit: Visit) -> Answer:
    query = _ONE.read_query([(name, value) for name, value in visit.query.items() if name == "programId"])
    event = await visit.services.events.read(visit.principal, visit.params["event_id"], query)
    program = visit.services.programs.read(visit.principal, event.program_id)
    content = settings_frame(
        visit,
        h.p(".small")[h.a(href=PATH)["Events without effect"]],
        h.h1[h.code[outsider(event.id)]],
        _outcome(event),
        h.dl(".particulars")[((h.dt[name], h.dd[value]) for name, value in _facts(event, program))],
        h.section(".person")[h.h2["Deliveries under this id"], _deliveries(event.deliveries)],
        h.section[h.h2["The object as the bank sent it"], _raw(event)],
    )
    return HtmlAnswer("Event", content)


def _outcome(event: Event) -> h.Element:
    if event.result in TAKES_EFFECT:
        words = "It took effect, and corrects an earlier delivery." if event.corrects else "It took effect."
        return h.p(".note")[words, f" {event.reason}" if event.reason else None]
    cure = CURES.get(event.result)
    return h.div(".refusal")[
        h.p[fault_of(event)],
        h.p[h.b["To correct it: "], cure] if cure is not None else None,
    ]


def _facts(event: Event, program: Program) -> tuple[tuple[str, h.Node], ...]:
    subject: h.Node = "not readable"
    if event.subject is not None:
        kind, id_ = event.subject.type.value, event.subject.id
        path = thing_path(kind, id_, event.program_id)
        is_stored = event.result in TAKES_EFFECT
        subject = [f"{kind} ", h.a(href=path)[outsider(id_)] if is_stored else h.code[outsider(id_)]]
    simulated = h.span(".simulated")["simulated"] if event.simulated is True else None
    return (
        ("Result", event.result.value),
        ("Type", h.code[outsider(event.type)]),
        ("About", subject),
        ("Program", [outsider(program.name), " ", simulated]),
        ("Created", moment(event.created_at)),
        ("Received", moment(event.received_at)),
        ("Alerts", _alerts(event.alert_ids)),
    )


def _alerts(alert_ids: tuple[str, ...]) -> h.Node:
    if not alert_ids:
        return "none"
    return [[h.a(href=f"/console/alerts/{each}")[h.code[each]], " "] for each in alert_ids]


def _deliveries(deliveries: tuple[EventDelivery, ...]) -> h.Element:
    return h.table(".endpoints")[
        h.caption(".hidden")["Deliveries under this id"],
        h.thead[h.tr[(h.th(scope="col")[each] for each in ("Received", "Result", "Fault"))]],
        h.tbody[
            (
                h.tr[
                    h.td(data_label="Received")[moment(each.received_at)],
                    h.td(data_label="Result")[each.result.value],
                    h.td(".words", data_label="Fault")[fault_of(each)],
                ]
                for each in deliveries
            )
        ],
    ]


def _raw(event: Event) -> h.Node:
    if event.raw is None:
        return h.p["The log cannot be read right now. Load the page again in a moment."]
    text = msgspec.json.format(msgspec.json.encode(event.raw), indent=2).decode()
    return [
        h.p(".small")["Numbers of accounts and cards are masked. Data that is no object is left out."],
        h.div(".prose.mono.as-sent", tabindex="0", role="region", aria_label="The object")[outsider(text, most=None)],
    ]
