"""The queue: stacks of waiting alerts, the soonest due first, each one row and one link; beside it the chosen stack.

A part is the same address with the id of its place: ``queue-pane`` is the list with its head, ``chunk-N`` the rows
behind a cursor, ``news`` the counts, and a line on new stacks since the list was read.
"""

from collections.abc import Mapping
from typing import Final

import htpy as h
import msgspec

from clearhold.api.console.components.queue_filters import PATH as PATH
from clearhold.api.console.components.queue_filters import PROGRAM, QueueAddress, chips, filter_form, order_menu
from clearhold.api.console.components.stack_rows import DueGroup, day_end, group_of, grouped_rows, row, stack_table
from clearhold.api.console.components.words import count, hint, key
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.stacks.schemas import StackPage, StacksQuery
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import WAITING
from clearhold.store.duck.stacks import StackTotals
from clearhold.store.duck.waiting_stacks import StackSort

NEWS: Final = "news"
CHUNK: Final = "chunk-"
PANE: Final = "queue-pane"
SINCE: Final = "since"
AFTER: Final = "after"
_PAGING: Final = ("cursor", "limit")
_SCHEMA: Final = RequestSchema(StacksQuery)
_USUAL: Final[Mapping[str, str]] = {"sort": StackSort.DUE_AT.value, "limit": "50"}


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """``read_at`` is the instant of the list, ``programs`` are those within reach."""

    address: QueueAddress
    query: StacksQuery
    programs: tuple[Program, ...]
    now: int

    @property
    def names(self) -> dict[str, str]:
        return {each.id: each.name for each in self.programs}

    @property
    def is_by_due(self) -> bool:
        return self.query.sort is StackSort.DUE_AT


async def show(visit: Visit) -> Answer:
    view = _view(visit)
    if visit.target == NEWS:
        return HtmlAnswer("Queue", await _news(visit, view))
    page = await visit.services.stacks.page(visit.principal, view.query)
    if visit.target is not None and visit.target.startswith(CHUNK):
        return HtmlAnswer("Queue", _chunk(visit, view, page, None))
    totals = await visit.services.stacks.totals(visit.principal, view.query, day_end(visit.now))
    pane = _pane(visit, view, page, totals)
    if visit.target == PANE:
        return HtmlAnswer("Queue", pane)
    if view.address.is_table:
        return HtmlAnswer("Queue", h.div(".queue-alone")[pane])
    return HtmlAnswer(
        "Queue",
        h.div(".desk")[
            h.section(f"#{PANE}", aria_label="Queue")[pane],
            h.section("#preview", aria_label="Chosen stack", aria_live="off")[
                h.p(".empty")["Choose a stack with ", key("j"), " and ", key("k"), ", or by a click; it opens here."]
            ],
        ],
    )


async def show_row(visit: Visit) -> Answer:
    """The row of one stack, as it is now; a decided one says so."""
    detail = await visit.services.stacks.read(visit.principal, visit.params["stack_id"])
    programs = visit.services.programs.list(visit.principal, source=None)
    return HtmlAnswer("Queue", row(detail.stack, {each.id: each.name for each in programs}, visit.now))


def beside_queue(stack_id: str, workspace: h.Node) -> h.Element:
    """A workspace with the place of the queue beside it, which a script fills on wide screens."""
    return h.div(".desk.open")[
        h.section(f"#{PANE}", aria_label="Queue", data_stack=stack_id)[h.p(".empty")[h.a(href=PATH)["The queue"]]],
        h.section("#preview", aria_label="Stack")[workspace],
    ]


def _view(visit: Visit) -> QueueView:
    address = QueueAddress.of(visit.query)
    programs = visit.services.programs.list(visit.principal, source=None)
    sent = {name: ",".join(values) for name, values in address.fields.items() if name not in {PROGRAM, "view"}}
    paging = {name: visit.query[name] for name in _PAGING if visit.query.get(name)}
    named = address.fields.get(PROGRAM)
    if named is not None:
        sent["programId"] = ",".join(_ids(named, programs))
    query = _SCHEMA.read_query((dict(_USUAL) | sent | paging).items())
    if not set(query.status or ()) <= set(WAITING):
        raise invalid("status", "must be of alerts that wait", FieldCode.NOT_ONE_OF)
    return QueueView(address=address, query=query, programs=programs, now=visit.now)


def _ids(slugs: tuple[str, ...], programs: tuple[Program, ...]) -> list[str]:
    """A slug of no program is passed on, and refused as an unknown id is."""
    ids = {each.slug: each.id for each in programs}
    return [ids.get(each, each) for each in slugs]


def _pane(visit: Visit, view: QueueView, page: StackPage, totals: StackTotals) -> h.Node:
    address = view.address
    return (
        h.header(".queue-head")[
            visit.heading(".hidden")["Queue"],
            h.div(f"#{NEWS}")[_counts(totals, visit.now)],
            h.div(".queue-tools")[
                filter_form(address, view.programs, visit.signed_in.session.name), order_menu(address)
            ],
            chips(address, view.programs),
        ],
        _list(visit, view, page, totals) if page.data else _empty(view),
    )


def _counts(totals: StackTotals, read_at: int) -> tuple[h.Element, h.Element]:
    return (
        h.p(".counts")[f"{totals.stacks:,} to decide · {count(totals.alerts, 'alert')}"],
        h.p(".as-of")[f"as of {_clock_time(read_at)}"],
    )


async def _news(visit: Visit, view: QueueView) -> h.Node:
    """Counts of now, and how many stacks are new or have further alerts since the list was read."""
    service, before = visit.services.stacks, day_end(visit.now)
    since = visit.query.get(SINCE) or format_instant(visit.now)
    recent = msgspec.structs.replace(_SCHEMA.read_query([("from", since)]), **_filters(view.query))
    totals = await service.totals(visit.principal, view.query, before)
    newer = await service.totals(visit.principal, recent, before)
    grown = newer.stacks - newer.new
    words = [
        f"{newer.new:,} new" if newer.new else "",
        f"{grown:,} with further alerts" if grown else "",
    ]
    news = ", ".join(each for each in words if each)
    counts, as_of = _counts(totals, visit.now)
    if not news:
        return counts, as_of
    bar = h.a(".bar-new", href=view.address.href(), data_key=".", aria_keyshortcuts=".", data_show=True)[
        f"{news} since {since[11:16]} · show", hint(".")
    ]
    return counts, bar


def _filters(query: StacksQuery) -> dict[str, object]:
    """The fields that choose stacks, without the time from which on."""
    names = set(query.__struct_fields__) - {"from_", "limit", "cursor", "sort"}
    return {name: getattr(query, name) for name in names}


def _list(visit: Visit, view: QueueView, page: StackPage, totals: StackTotals) -> h.Node:
    if view.address.is_table:
        return stack_table(page.data, view.names, visit.now), _further(visit, view, page)
    return h.div(
        "#stacks.stacks",
        data_total=totals.stacks,
        data_at=visit.now // 1_000_000,
        data_since=format_instant(visit.now),
        data_address=view.address.href(limit=visit.query.get("limit")),
    )[h.div(f"#{CHUNK}0.piece")[_chunk(visit, view, page, totals)]]


def _chunk(visit: Visit, view: QueueView, page: StackPage, totals: StackTotals | None) -> h.Node:
    """The rows of a page, and the link to the next one."""
    names = view.names
    numbers = None if totals is None else _numbers(totals)
    rows = (
        grouped_rows(page.data, names, visit.now, after=visit.query.get(AFTER), numbers=numbers)
        if view.is_by_due
        else (row(each, names, visit.now) for each in page.data)
    )
    return h.ol(".chunk", aria_label="Stacks: time left, band, party, sentence")[rows], _further(visit, view, page)


def _numbers(totals: StackTotals) -> dict[DueGroup, int]:
    later = totals.stacks - totals.overdue - totals.due_before
    return {DueGroup.LATE: totals.overdue, DueGroup.TODAY: totals.due_before, DueGroup.LATER: later}


def _further(visit: Visit, view: QueueView, page: StackPage) -> h.Node:
    if page.next_cursor is None:
        return None
    after = group_of(page.data[-1], visit.now).value if view.is_by_due else None
    paging = {"cursor": page.next_cursor, AFTER: after, "limit": visit.query.get("limit")}
    return h.p(".further")[h.a(rel="next", href=view.address.href(**paging))["Next rows"]]


def _empty(view: QueueView) -> h.Element:
    if view.address.is_filtered:
        return h.p(".empty")["No stack passes these filters. ", h.a(href=PATH)["Show the whole queue"]]
    return h.div(".empty")[
        h.p["Nothing waits for a decision."],
        h.p(".small")[
            "Stacks appear here once a payment is held or a detector finds something. With the simulated bank, ",
            h.code["make demo"],
            " sends payments, and alerts follow within a minute.",
        ],
    ]


def _clock_time(at: int) -> str:
    return format_instant(at)[11:16]
