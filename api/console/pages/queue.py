"""The queue: stacks of waiting alerts, the soonest due first, each one row and one link."""

from collections.abc import Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.words import band_mark, count, money, outsider, time_left
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.stacks.schemas import Stack, StacksQuery

PATH: Final = "/console/queue"
_QUERY: Final = RequestSchema(StacksQuery)
_USUAL: Final[Mapping[str, str]] = {"sort": "dueAt", "limit": "100"}


async def show(visit: Visit) -> Answer:
    query = _QUERY.read_query(list((dict(_USUAL) | dict(visit.query)).items()))
    page = await visit.services.stacks.page(visit.principal, query)
    names = {each.id: each.name for each in visit.services.programs.list(visit.principal, source=None)}
    content = h.div(".queue")[
        h.h1["Queue"],
        h.ol("#stacks.stacks")[(row(visit, each, names.get(each.program_id, "")) for each in page.data)]
        if page.data
        else h.p["Nothing waits for a decision."],
    ]
    return HtmlAnswer("Queue", content)


def row(visit: Visit, stack: Stack, program: str, *, current: bool = False) -> h.Element:
    """One stack of the list."""
    return h.li[
        h.a(
            ".stack",
            id=f"stack-{stack.id}",
            href=f"/console/stacks/{stack.id}",
            aria_current="true" if current else None,
        )[
            h.span(".due")[time_left(stack.due_at, visit.now)],
            band_mark(stack.band, stack.score),
            h.span(".size", title=count(stack.size, "alert"))[str(stack.size)],
            h.span(".who")[outsider(stack.who.name, "name not known"), " ", h.code[stack.who.id]],
            h.span(".sentence")[stack.sentence, " · ", outsider(program)],
            h.span(".held")[f"{money(stack.held_cents)} held"] if stack.held_cents != "0" else None,
            h.span(".simulated")["simulated"] if stack.simulated is True else None,
        ]
    ]
