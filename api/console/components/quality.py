"""Figures of the model as tables, each with its chart; one table is also a file of comma-separated values."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import htpy as h

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE
from clearhold.api.lists.exports import csv_lines
from clearhold.features.core.measured import Measured

QUALITY: Final = "/console/quality"
_rect: Final = h.Element("rect")
_line: Final = h.Element("line")
_title: Final = h.Element("title")
_text: Final = h.Element("text")
_BAR, _LEFT, _WIDE = 22, 150, 420
INTERVAL: Final = ("Share", "95 % from", "95 % to", "n")

MAIN: Final = frozenset({"Share", "Index"})
"""The heads of what a table is about: a figure that was not measured says so there."""

Cell = str | int | float | None


class FigureTable(NamedTuple):
    """``rows`` begin with a name; None is not measured. The chart has ``shares``, by name, or is
    ``drawing``.
    """

    key: str
    title: str
    words: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shares: tuple[tuple[str, Measured], ...] = ()
    drawing: h.Node = None


def row_of(name: str, share: Measured) -> tuple[Cell, ...]:
    return (name, share.value, share.low, share.high, share.n)


def csv_of(table: FigureTable) -> bytes:
    """The same rows; shares as fractions, empty where not measured."""
    return csv_lines([[*table.heads], *([*each] for each in table.rows)])


def figure(table: FigureTable, query: str) -> h.Element:
    """A chart of its shares, the table, and the file."""
    file = f"{QUALITY}/{table.key}.csv{f'?{query}' if query else ''}"
    return h.section(id=table.key)[
        h.h2[table.title],
        h.p[table.words],
        _chart(table) if table.shares else table.drawing,
        wide_table(table.title, table.heads, (_row(table, each) for each in table.rows), style="endpoints figures")
        if table.rows
        else h.p[h.strong["Not measured yet."]],
        h.p(".small")[h.a(href=file, download=True, aria_label=f"{table.title}, as CSV")["CSV"]],
    ]


def _row(table: FigureTable, cells: tuple[Cell, ...]) -> h.Element:
    name, *others = cells
    heads = table.heads[1:]
    return h.tr[
        h.th(scope="row")[str(name)],
        (h.td(".number", data_label=head)[_words(head, cell)] for head, cell in zip(heads, others, strict=True)),
    ]


def _words(head: str, cell: Cell) -> h.Node:
    if cell is None:
        return h.span(title="not measured")["not measured" if head in MAIN else NO_VALUE]
    if isinstance(cell, float):
        return f"{cell:.1%}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def _chart(table: FigureTable) -> h.Element:
    """A bar for each share, and a line over its interval; nothing where not measured."""
    height = _BAR * len(table.shares)
    drawn = ", ".join(
        f"{name} {'not measured' if each.value is None else f'{each.value:.1%}'}" for name, each in table.shares
    )
    return h.svg(".shares", viewBox=f"0 0 {_LEFT + _WIDE + 60} {height}", role="img")[
        _title[f"{table.title}: {drawn}"],
        ((_bar(at, name, each)) for at, (name, each) in enumerate(table.shares)),
    ]


def _bar(at: int, name: str, share: Measured) -> Sequence[h.Element]:
    middle = at * _BAR + _BAR / 2
    parts = [
        _text(x=str(_LEFT - 8), y=f"{middle + 4:.1f}", text_anchor="end")[name],
        _rect(".all", x=str(_LEFT), y=f"{middle - 6:.1f}", width=str(_WIDE), height="12"),
    ]
    if share.value is None or share.low is None or share.high is None:
        return [*parts, _text(x=str(_LEFT + 6), y=f"{middle + 4:.1f}", class_="none")["not measured"]]
    low, high = (f"{_LEFT + _WIDE * end:.1f}" for end in (share.low, share.high))
    return [
        *parts,
        _rect(".counts", x=str(_LEFT), y=f"{middle - 6:.1f}", width=f"{_WIDE * share.value:.1f}", height="12"),
        _line(x1=low, x2=high, y1=f"{middle:.1f}", y2=f"{middle:.1f}"),
        _line(x1=low, x2=low, y1=f"{middle - 5:.1f}", y2=f"{middle + 5:.1f}"),
        _line(x1=high, x2=high, y1=f"{middle - 5:.1f}", y2=f"{middle + 5:.1f}"),
        _text(x=str(_LEFT + _WIDE + 6), y=f"{middle + 4:.1f}")[f"n {share.n:,}"],
    ]
