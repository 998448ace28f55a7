"""Programs as rows: score and its last 30 days, indicators, waiting alerts, and limits that are nearly used up; in
several orders, found by name, a part of them at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import htpy as h

from clearhold.api.console.components.figures import sparkline, states, use_bar
from clearhold.api.console.components.limits import cap_words, kind_words
from clearhold.api.console.components.wide import wide
from clearhold.api.console.components.words import band_mark, count, outsider
from clearhold.api.overview.routes import CapNearlyUsed, Overview, ProgramOverview

PROGRAMS: Final = "/console/programs"
ROWS: Final = 50
_MOST_CAPS: Final = 2
_DAYS: Final = "30 days"
_INDICATORS: Final = "Indicators"


class ProgramOrder(StrEnum):
    """``SCORE`` is the order of the overview: the highest first, programs without one last."""

    SCORE = "score"
    NAME = "name"
    WAITING = "waiting"
    LATE = "late"
    EVENTS = "events"
    LIMITS = "limits"


_HEADS: Final[Mapping[str, ProgramOrder | None]] = {
    "Program": ProgramOrder.NAME,
    "Score": ProgramOrder.SCORE,
    _DAYS: None,
    _INDICATORS: None,
    "Waiting": ProgramOrder.WAITING,
    "Late": ProgramOrder.LATE,
    "Events a minute": ProgramOrder.EVENTS,
    "Limits near their end": ProgramOrder.LIMITS,
}
_FIGURES: Final = frozenset({"Waiting", "Late", "Events a minute"})
_WORDS: Final[Mapping[ProgramOrder, str]] = {
    ProgramOrder.SCORE: "the highest score first",
    ProgramOrder.NAME: "by name",
    ProgramOrder.WAITING: "the most waiting alerts first",
    ProgramOrder.LATE: "the most late alerts first",
    ProgramOrder.EVENTS: "the most events first",
    ProgramOrder.LIMITS: "the most used limit first",
}
_KEYS: Final[Mapping[ProgramOrder, Callable[[ProgramOverview], Any]]] = {
    ProgramOrder.NAME: lambda each: each.name.casefold(),
    ProgramOrder.WAITING: lambda each: -each.waiting,
    ProgramOrder.LATE: lambda each: -each.overdue,
    ProgramOrder.EVENTS: lambda each: -each.events_per_minute,
    ProgramOrder.LIMITS: lambda each: -max((cap.share for cap in each.caps or ()), default=0.0),
}


class ProgramAddress(NamedTuple):
    """What the address of the list says: words of names or ids, an order, and the page, from 1."""

    words: str = ""
    order: ProgramOrder = ProgramOrder.SCORE
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "ProgramAddress":
        """A value that no address of ours has counts as not said."""
        sort, page = query.get("sort", ""), query.get("page", "")
        return cls(
            query.get("q", "").strip(),
            ProgramOrder(sort) if sort in [*ProgramOrder] else ProgramOrder.SCORE,
            max(1, int(page)) if page.isdecimal() and page.isascii() else 1,
        )

    def href(self) -> str:
        sort = "" if self.order is ProgramOrder.SCORE else self.order.value
        sent = {"q": self.words, "sort": sort, "page": str(self.page) if self.page > 1 else ""}
        query = urlencode({name: value for name, value in sent.items() if value})
        return f"{PROGRAMS}?{query}" if query else PROGRAMS

    def chosen(self, programs: Sequence[ProgramOverview]) -> Sequence[ProgramOverview]:
        """All with the words in their name or at the beginning of their id, in this order."""
        words = self.words.casefold()
        having = [each for each in programs if _has(each, words)] if words else programs
        return sorted(having, key=_KEYS[self.order]) if self.order in _KEYS else having


def _has(program: ProgramOverview, words: str) -> bool:
    return words in program.name.casefold() or words in program.slug or program.program_id.startswith(words)


def worst_programs(overview: Overview) -> h.Node:
    """The first of them by score; the others, other orders and a search are on their own page."""
    if not overview.programs:
        return _no_programs()
    every, address = overview.programs, ProgramAddress()
    further = h.p[
        f"{ROWS} of {count(len(every), 'program')}, {_WORDS[address.order]}. ",
        h.a(href=address._replace(page=2).href())["The next ones"],
        " · ",
        h.a(href=PROGRAMS)["all programs, with a search"],
    ]
    return [_table(every[:ROWS], address), further if len(every) > ROWS else None]


def program_list(overview: Overview, address: ProgramAddress) -> h.Node:
    """A page of them, with the ways to the other pages."""
    if not overview.programs:
        return _no_programs()
    chosen = address.chosen(overview.programs)
    pages = max(1, -(-len(chosen) // ROWS))
    address = address._replace(page=min(address.page, pages))
    start = (address.page - 1) * ROWS
    part = chosen[start : start + ROWS]
    which = f"{start + 1:,} to {start + len(part):,} of " if pages > 1 else ""
    return [
        _search(address) if len(overview.programs) > 1 else None,
        h.p[
            f"{which}{count(len(chosen), 'program')}",
            (" with “", outsider(address.words), "” in the name or id") if address.words else None,
            f", {_WORDS[address.order]}." if len(chosen) > 1 else ".",
        ],
        _table(part, address) if part else h.p[h.a(href=PROGRAMS)["All programs"]],
        _pager(address, pages) if pages > 1 else None,
    ]


def _no_programs() -> h.Element:
    return h.p(".empty")[
        "There are no programs yet. An administrator creates them: ", h.code["POST /api/admin/programs"], "."
    ]


def _search(address: ProgramAddress) -> h.Element:
    sort = None if address.order is ProgramOrder.SCORE else address.order.value
    return h.form(".programs-search", method="get", action=PROGRAMS, role="search", aria_label="Programs")[
        h.label[h.span["Name or id "], h.input(type="search", name="q", value=address.words)],
        h.input(type="hidden", name="sort", value=sort) if sort else None,
        h.button(type="submit")["Find"],
    ]


def _pager(address: ProgramAddress, pages: int) -> h.Element:
    before, after = (address._replace(page=address.page + step).href() for step in (-1, 1))
    return h.nav(".pager", aria_label="Pages of programs")[
        h.a(".button", href=before, rel="prev")["Previous"] if address.page > 1 else None,
        h.span[f"Page {address.page} of {pages}"],
        h.a(".button", href=after, rel="next")["Next"] if address.page < pages else None,
    ]


def _table(programs: Sequence[ProgramOverview], address: ProgramAddress) -> h.Element:
    """A head that is an order leads to the list in that order."""
    return wide(
        "Programs",
        h.table(".programs")[
            h.caption(".hidden")[f"Programs, {_WORDS[address.order]}"],
            h.thead[h.tr[(_head(name, order, address) for name, order in _HEADS.items())]],
            h.tbody[(_program(each) for each in programs)],
        ],
    )


def _head(name: str, order: ProgramOrder | None, address: ProgramAddress) -> h.Element:
    style = "number" if name in _FIGURES else None
    if order is None:
        return h.th(scope="col", class_=style)[name]
    way = "ascending" if order is ProgramOrder.NAME else "descending"
    return h.th(scope="col", class_=style, aria_sort=way if order is address.order else None)[
        h.a(href=address._replace(order=order, page=1).href())[name]
    ]


def _program(program: ProgramOverview) -> h.Element:
    measured = [each for each in program.history if each is not None]
    words = f"{_DAYS}: {min(measured)} to {max(measured)}, last {measured[-1]}" if measured else "No scores yet"
    queue = f"/console/queue?programId={program.program_id}"
    return h.tr[
        h.th(scope="row")[
            h.a(href=f"{PROGRAMS}/{program.program_id}")[outsider(program.name)],
            (" ", h.span(".simulated")["simulated"]) if program.simulated is True else None,
        ],
        h.td[band_mark(program.band, program.score), h.span(".small")[f" n = {program.n}"]],
        h.td[sparkline(program.history, words)],
        h.td[states(program.kris)],
        h.td(".number")[h.a(href=queue)[f"{program.waiting:,}"] if program.waiting else "0"],
        h.td(".number")[h.a(".late", href=f"{queue}&overdue=true")[f"{program.overdue:,}"] if program.overdue else "0"],
        h.td(".number")[f"{program.events_per_minute:,g}"],
        h.td[_caps(program.caps)],
    ]


def _caps(caps: tuple[CapNearlyUsed, ...] | None) -> h.Node:
    if caps is None:
        return "not known right now"
    if not caps:
        return "none"
    return h.ul(".caps")[
        (h.li[use_bar(each.share, _cap_words(each)), h.span[_cap_words(each)]] for each in caps[:_MOST_CAPS]),
        h.li[f"and {len(caps) - _MOST_CAPS} more"] if len(caps) > _MOST_CAPS else None,
    ]


def _cap_words(cap: CapNearlyUsed) -> str:
    observed, most = (cap_words(cap.kind, each) for each in (cap.observed, cap.cap))
    return f"{kind_words(cap.kind)}: {observed} of {most}, {cap.share:.0%}"
