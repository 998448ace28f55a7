"""Search: one line finds things by id, name, last four and amount, in groups; each hit leads to its page."""

from collections.abc import Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.proposal import PREFLIGHTS
from clearhold.api.console.components.timeline import thing_path
from clearhold.api.console.components.words import moment, money, outsider
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.search.routes import SearchGroup, SearchHit, SearchQuery, SearchResult
from clearhold.features.core.errors import InvalidRequestError
from clearhold.features.core.search_terms import MatchedBy

PATH: Final = "/console/search"
_QUERY: Final = RequestSchema(SearchQuery)
_GROUPS: Final[Mapping[str, tuple[str, str]]] = {
    "transfers": ("Transfers", "transfer"),
    "alerts": ("Alerts", "alert"),
    "entities": ("Entities", "entity"),
    "accounts": ("Accounts", "account"),
    "counterparties": ("Counterparties", "counterparty"),
    "agents": ("Agents", "agent"),
    "programs": ("Programs", "program"),
    "preflights": ("Pre-flights", "preflight"),
}
"""Each group of a result, with its head and the type of its pages."""

_MATCHED: Final[Mapping[MatchedBy, str]] = {
    MatchedBy.ID: "id",
    MatchedBy.ID_PREFIX: "begins so",
    MatchedBy.NAME: "name",
    MatchedBy.LAST4: "last four",
    MatchedBy.AMOUNT: "amount",
}


async def show(visit: Visit) -> Answer:
    line = visit.query.get("q", "").strip()
    if not line:
        return HtmlAnswer("Search", _page(visit, "", _help()))
    try:
        query = _QUERY.read_query([*(dict(visit.query) | {"q": line}).items()])
    except InvalidRequestError as error:
        return HtmlAnswer("Search", _page(visit, line, h.p(".refusal", role="alert")[str(error)]), status=400)
    result = await visit.services.search.read(visit.principal, query)
    return HtmlAnswer(f"Search: {line}", _page(visit, line, _hits(result)))


def _page(visit: Visit, line: str, *content: h.Node) -> h.Element:
    return h.div(".hits")[visit.heading["Search ", outsider(line) if line else None], content]


def _help() -> h.Element:
    return h.p[
        "Type an id or its beginning, a name, the last four of an account, or an amount as in 12,345.67. "
        "The field is at the top of each page."
    ]


def _hits(result: SearchResult) -> h.Node:
    groups = [(name, getattr(result, name)) for name in _GROUPS]
    filled = [(name, group) for name, group in groups if group is not None and group.data]
    if not filled:
        return h.p["Nothing has this id, name, last four or amount."]
    return [_group(name, group) for name, group in filled]


def _group(name: str, group: SearchGroup) -> h.Element:
    head, kind = _GROUPS[name]
    return h.section[
        h.h2[head],
        h.ul[(h.li[_hit(kind, each)] for each in group.data)],
        h.p(".small")["There are more: type more of it."] if group.has_more else None,
    ]


def _hit(kind: str, hit: SearchHit) -> h.Node:
    return (
        h.a(href=_path(kind, hit))[(outsider(hit.name), " ") if hit.name else None, h.code[hit.id]],
        f" {money(hit.amount_cents, hit.currency)}" if hit.amount_cents is not None else None,
        f" ••{hit.account_last4}" if hit.account_last4 is not None else None,
        f" {hit.status}" if hit.status is not None else None,
        " ",
        moment(hit.at) if hit.at is not None else None,
        h.span(".small")[f" {_MATCHED[hit.matched_by]}"],
        h.span(".simulated")["simulated"] if hit.simulated is True else None,
    )


def _path(kind: str, hit: SearchHit) -> str:
    own = {"alert": "/console/alerts", "preflight": PREFLIGHTS}.get(kind)
    return thing_path(kind, hit.id, hit.program_id) if own is None else f"{own}/{hit.id}"
