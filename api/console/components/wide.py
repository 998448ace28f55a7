"""Content that may be wider than the page: a region with a name, which scrolls sideways by itself, also by keys."""

from collections.abc import Collection, Sequence
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
            h.thead[
                h.tr[
                    (
                        h.th(scope="col", class_="number" if isinstance(each, str) and each in figures else None)[each]
                        for each in heads
                    )
                ]
            ],
            h.tbody[rows],
        ],
    )


def unseen(words: str) -> h.Element:
    """Words for readers of screens alone."""
    return h.span(".hidden")[words]
