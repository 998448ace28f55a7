"""Content that may be wider than the page: a region with a name, which scrolls sideways by itself, also by keys."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import htpy as h

_NONE: Final[Collection[str]] = ()


def wide(name: str, content: h.Node) -> h.Element:
    return h.div(".wide", tabindex="0", role="region", aria_label=name)[content]


def wide_table(
    name: str,
    heads: Sequence[str | h.Element],
    rows: h.Node,
    *,
    style: str | None = None,
    figures: Collection[str] = _NONE,
) -> h.Element:
    """A table with its name as caption; ``rows`` are its ``tr``. Columns whose heads are ``figures`` are set right."""
    return wide(
        name,
        h.table(class_=style)[
            h.caption(".hidden")[name],
            h.thead[h.tr[(h.th(scope="col", class_="number" if each in figures else None)[each] for each in heads)]],
            h.tbody[rows],
        ],
    )


def unseen(words: str) -> h.Element:
    """Words for readers of screens alone."""
    return h.span(".hidden")[words]


def labelled(heads: Sequence[str], first: h.Node, others: Iterable[h.Node]) -> h.Element:
    """A row whose first cell heads it; the others name those of their columns, for a page too narrow for a table."""
    return h.tr[
        h.th(scope="row")[first], (h.td(data_label=head)[cell] for head, cell in zip(heads[1:], others, strict=True))
    ]
