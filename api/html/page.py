"""A page: its parts, its head, one style sheet, and the policy that allows only this sheet; and its two charts as
inline SVG, labelled bars, and lines over two axes: each has a title and a text of its figures, for readers who cannot
see it.

htpy escapes all text; ``Markup`` marks the few strings that are markup already.

Unit    lengths in the frame of a chart, ``WIDTH`` wide, which the page scales with its text
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import htpy as h
import msgspec
from markupsafe import Markup

_SHEET: Final = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
_FOOT: Final = (
    "@page {{ size: A4; margin: 14mm 14mm 16mm; font: 7.5pt system-ui, sans-serif; color: #5b6672;"
    " @bottom-left {{ content: '{key}'; }} @bottom-right {{ content: 'Page ' counter(page) ' of ' counter(pages); }} }}"
)
_CLOSED: Final = "base-uri 'none'; form-action 'none'"
_UNFRAMED: Final = "frame-ancestors 'none'"


class Page(msgspec.Struct, frozen=True):
    """A page and its Content-Security-Policy."""

    body: bytes
    policy: str


def printed_page(title: str, key: str, *content: h.Node) -> Page:
    """A page to read and to print, without scripts. ``key`` names it at the foot of each sheet of paper.

    The page also contains the policy, for saved copies; ``frame-ancestors`` works only in a header.
    """
    style = f"{_SHEET}{_FOOT.format(key=_plain(key))}"
    policy = f"default-src 'none'; style-src {source_of(style)}; {_CLOSED}"
    head = (
        h.meta(http_equiv="Content-Security-Policy", content=policy),
        h.title[title],
        h.style[Markup(style)],  # noqa: S704 - the sheet above and a key without quotes or brackets
    )
    return Page(str(document(head, h.main[content])).encode(), f"{policy}; {_UNFRAMED}")


def document(head: h.Node, body: h.Node) -> h.Element:
    """A page."""
    metas = (h.meta(charset="utf-8"), h.meta(name="viewport", content="width=device-width, initial-scale=1"))
    return h.html(lang="en")[h.head[metas, head], h.body[body]]


def source_of(content: str | bytes) -> str:
    """The source expression that allows only this script or sheet."""
    data = content.encode() if isinstance(content, str) else content
    return f"'sha256-{b64encode(sha256(data).digest()).decode()}'"


def _plain(key: str) -> str:
    return "".join(char for char in key if char.isascii() and (char.isalnum() or char in ":-_"))


def section(title: str, *content: h.Node) -> h.Element:
    return h.section[h.h2[title], content]


def table(heads: Sequence[str], body: Iterable[Sequence[h.Node]], *, numbers: int) -> h.Element:
    """A table whose columns from ``numbers`` on are figures."""
    styles = ["text" if place < numbers else "number" for place in range(len(heads))]
    head = (h.th(scope="col", class_=style)[each] for each, style in zip(heads, styles, strict=True))
    lines = (h.tr[(h.td(class_=style)[cell] for cell, style in zip(line, styles, strict=True))] for line in body)
    frame = h.div(".wide", tabindex="0", role="region", aria_label=f"Table of {', '.join(heads)}")
    return frame[h.table[h.thead[h.tr[head]], h.tbody[lines]]]


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


WIDTH: Final = 340
_ROW: Final = 22
_LETTER: Final = 6.3
_MOST_LETTERS: Final = 22
_LEFT, _RIGHT, _TOP, _BOTTOM, _TITLE = 54, 20, 16, 20, 12
_HEIGHT: Final = 150


class Bar(NamedTuple):
    """``text`` is the displayed value, ``style`` a class of the style sheet; None was not measured."""

    label: str
    value: float | None
    text: str
    style: str = "bar"
    interval: tuple[float, float] | None = None


class Point(NamedTuple):
    """A point of a line; without ``y`` it was not measured, and the line has a gap."""

    x: float
    y: float | None
    text: str = ""
    interval: tuple[float, float] | None = None


class Line(NamedTuple):
    """``name`` is for the legend; ``style`` is a class of the style sheet."""

    points: Sequence[Point]
    style: str = "one"
    name: str = ""
    is_drawn: bool = True
    has_dots: bool = False


class Axis(NamedTuple):
    """From ``least`` to ``most``, with words at some places."""

    least: float
    most: float
    marks: Sequence[tuple[float, str]]
    title: str = ""

    def share(self, value: float) -> float:
        return (value - self.least) / ((self.most - self.least) or 1)


def bar_chart(name: str, title: str, bars: Sequence[Bar], *, most: float | None = None) -> h.Element:
    """Bars one below the other, with their labels on the left and their values on the right, up to ``most``."""
    most = most or max((bar.value or 0 for bar in bars), default=0) or 1
    labels = [_cut(bar.label) for bar in bars]
    left = _LETTER * max(map(len, labels), default=0) + 10
    room = WIDTH - left - _LETTER * max((len(bar.text) for bar in bars), default=0) - 8
    parts: list[h.Element] = []
    for place, (bar, label) in enumerate(zip(bars, labels, strict=True)):
        top, end = place * _ROW + 4, room * (bar.value or 0) / most
        parts += [
            _text(left - 6, top + 11, label, "label", "end"),
            _rect(left, top, end, _ROW - 8, bar.style),
        ]
        if bar.interval is not None:
            low, high = (room * each / most for each in bar.interval)
            end, middle = max(end, high), top + (_ROW - 8) / 2
            parts.append(_line(left + low, middle, left + high, middle, "whisker"))
        parts.append(_text(left + end + 5, top + 11, bar.text, "value", "start"))
    words = [f"{bar.label}: {bar.text}" for bar in bars]
    return _figure(name, title, words, max(1, len(bars)) * _ROW + 4, parts)


def line_chart(
    name: str, title: str, lines: Sequence[Line], words: Sequence[str], *, x: Axis, y: Axis, height: int = _HEIGHT
) -> h.Element:
    """Lines over a frame with a mark at each named place of the axes."""
    base = height - _BOTTOM - (_TITLE if x.title else 0)
    frame = _Frame(x, y, base)
    parts = [
        _line(_LEFT, base, WIDTH - _RIGHT, base, "axis"),
        *(_line(_LEFT, frame.down(at), WIDTH - _RIGHT, frame.down(at), "grid") for at, _ in y.marks),
        *(_text(_LEFT - 6, frame.down(at) + 3, mark, "label", "end") for at, mark in y.marks),
        *(frame.mark(at, mark) for at, mark in x.marks),
    ]
    if x.title:
        parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, height - 4, x.title, "label", "middle"))
    if y.title:
        parts.append(_text(_LEFT, _TOP - 6, y.title, "label", "start"))
    for each in lines:
        parts += frame.curves(each)
        parts += frame.dots(each)
    return _figure(name, title, words, height, parts, _legend([each for each in lines if each.name]))


class _Frame(NamedTuple):
    x: Axis
    y: Axis
    base: float

    def across(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * self.x.share(value)

    def down(self, value: float) -> float:
        return self.base - (self.base - _TOP) * self.y.share(value)

    def mark(self, at: float, words: str) -> h.Element:
        """Below its place; near the frame's end the text ends there."""
        across = self.across(at)
        anchor = "middle" if across + _LETTER * len(words) / 2 <= WIDTH else "end"
        return _text(across, self.base + 14, words, "label", anchor)

    def curves(self, line: Line) -> Iterable[h.Element]:
        """A curve for each stretch without a gap."""
        for is_measured, points in groupby(line.points, lambda point: point.y is not None):
            places = [f"{_number(self.across(x))},{_number(self.down(y or 0))}" for x, y, *_ in points]
            if line.is_drawn and is_measured and len(places) > 1:
                yield _polyline(points=" ".join(places), class_=f"curve {line.style}")

    def dots(self, line: Line) -> Iterable[h.Element]:
        for x, y, text, interval in line.points if line.has_dots else ():
            across = self.across(x)
            if y is None:
                yield _text(across, self.base - 4, "\N{EN DASH}", "label", "middle")
                continue
            if interval is not None:
                yield _line(across, self.down(interval[0]), across, self.down(interval[1]), "whisker")
            yield _circle(cx=_number(across), cy=_number(self.down(y)), r="3.2", class_="dot")
            if text:
                yield _text(across, self.down(y) - 7, text, "value", "middle")


def _legend(lines: Sequence[Line]) -> h.Node:
    if not lines:
        return None
    return h.p(".legend")[
        (
            h.span[
                h.svg(viewBox="0 0 24 10", class_="key", aria_hidden="true")[_line(0, 5, 24, 5, f"curve {each.style}")],
                each.name,
            ]
            for each in lines
        )
    ]


def _figure(
    name: str, title: str, words: Sequence[str], height: float, parts: Sequence[h.Element], below: h.Node = None
) -> h.Element:
    """``name`` begins the ids of title and words."""
    title_id, words_id = f"{name}-title", f"{name}-words"
    frame = f"0 0 {WIDTH} {_number(height)}"
    svg = h.svg(viewBox=frame, role="img", aria_labelledby=f"{title_id} {words_id}")
    described = (h.title(id=title_id)[title], _desc(id=words_id)[f"{'; '.join(words) or 'nothing'}."])
    return h.figure[h.figcaption[title], svg[described, parts], below]


_desc: Final = h.Element("desc")
_circle: Final = h.Element("circle")
_polyline: Final = h.Element("polyline")
_label: Final = h.Element("text")
_segment: Final = h.Element("line")
_rectangle: Final = h.Element("rect")


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> h.Element:
    return _segment(x1=_number(x1), y1=_number(y1), x2=_number(x2), y2=_number(y2), class_=style)


def _text(x: float, y: float, words: str, style: str, anchor: str) -> h.Element:
    return _label(x=_number(x), y=_number(y), text_anchor=anchor, class_=style)[words]


def _rect(x: float, y: float, width: float, height: float, style: str) -> h.Element:
    return _rectangle(x=_number(x), y=_number(y), width=_number(width), height=_number(height), rx="1.5", class_=style)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _cut(label: str) -> str:
    return label if len(label) <= _MOST_LETTERS else f"{label[: _MOST_LETTERS - 1]}…"
