"""Parts of pages: sections, tables, tiles, the lines below a title."""

from collections.abc import Iterable, Sequence

import htpy as h


def section(title: str, *content: h.Node) -> h.Element:
    return h.section[h.h2[title], content]


def table(heads: Sequence[str], body: Iterable[Sequence[h.Node]], *, numbers: int) -> h.Element:
    """A table whose columns from ``numbers`` on are figures."""
    styles = ["text" if place < numbers else "number" for place in range(len(heads))]
    head = (h.th(scope="col", class_=style)[each] for each, style in zip(heads, styles, strict=True))
    lines = (h.tr[(h.td(class_=style)[cell] for cell, style in zip(line, styles, strict=True))] for line in body)
    return h.div(".wide")[h.table[h.thead[h.tr[head]], h.tbody[lines]]]


def tiles(figures: Iterable[tuple[str, str, str]]) -> h.Element:
    """Figures of a page at a glance: each with a head, and small print below."""
    return h.div(".tiles")[
        (
            h.div(".tile")[h.div(".head")[head], h.div(".figure")[figure], h.div(".small")[small]]
            for head, figure, small in figures
        )
    ]


def about(facts: Iterable[tuple[str, str]]) -> h.Element:
    return h.dl(".about")[(h.div[h.dt[name], h.dd[text]] for name, text in facts)]


def columns(*content: h.Node) -> h.Element:
    """Two columns, where there is room."""
    return h.div(".columns")[content]
