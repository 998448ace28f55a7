"""Charts of a report as inline SVG, with a title and its figures in words for whoever cannot see them.

Unit    lengths are those of the frame, ``WIDTH`` wide, which the page scales with its text
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from clearhold.api.http.html import Html, node
from clearhold.api.http.svg import figure, line, number, text
from clearhold.features.core.bands import HOLD_FROM, REVIEW_FROM

WIDTH: Final = 340
HEIGHT: Final = 150
_TOP, _BOTTOM, _LEFT, _RIGHT = 16, 20, 8, 8
_ROW: Final = 22
_LABEL_WIDTH: Final = 124
_TEXT_WIDTH: Final = 84
_MOST_SCORE: Final = 100


class Bar(NamedTuple):
    """``text`` is the value as it is shown; ``style`` a class of the page's style sheet."""

    label: str
    value: int
    text: str
    style: str = "bar"


def columns(chart_id: str, title: str, bars: Sequence[Bar]) -> Html:
    """Upright bars side by side, each with its value above and its label below."""
    most = max((bar.value for bar in bars), default=0) or 1
    step = (WIDTH - _LEFT - _RIGHT) / len(bars)
    base, room = HEIGHT - _BOTTOM, HEIGHT - _BOTTOM - _TOP
    parts = [line(_LEFT, base, WIDTH - _RIGHT, base, "axis")]
    for place, bar in enumerate(bars):
        height = room * bar.value / most
        left, middle = _LEFT + place * step + step * 0.18, _LEFT + (place + 0.5) * step
        parts += [
            _rect(left, base - height, step * 0.64, height, bar.style),
            text(middle, base - height - 4, bar.text, "value", "middle"),
            text(middle, HEIGHT - 6, bar.label, "label", "middle"),
        ]
    return _chart(chart_id, title, bars, HEIGHT, parts)


def rows(chart_id: str, title: str, bars: Sequence[Bar]) -> Html:
    """Bars one below the other, with their labels on the left and their values on the right."""
    most = max((bar.value for bar in bars), default=0) or 1
    room = WIDTH - _LABEL_WIDTH - _TEXT_WIDTH
    parts: list[Html] = []
    for place, bar in enumerate(bars):
        top, width = place * _ROW + 4, room * bar.value / most
        parts += [
            text(_LABEL_WIDTH - 6, top + 11, bar.label, "label", "end"),
            _rect(_LABEL_WIDTH, top, width, _ROW - 8, bar.style),
            text(_LABEL_WIDTH + width + 5, top + 11, bar.text, "value", "start"),
        ]
    return _chart(chart_id, title, bars, max(1, len(bars)) * _ROW + 4, parts)


def score_line(chart_id: str, title: str, points: Sequence[tuple[str, int | None]]) -> Html:
    """Scores of 0 to 100 by label, oldest first, over the lines of the bands; a place without a score is a gap."""
    base, room = HEIGHT - _BOTTOM, HEIGHT - _BOTTOM - _TOP
    left, right = 54, WIDTH - 14
    step = (right - left) / max(1, len(points) - 1)
    places = [(left + place * step, label, score) for place, (label, score) in enumerate(points)]

    def height(score: int) -> float:
        return base - room * score / _MOST_SCORE

    parts = [line(left, base, right, base, "axis"), text(left - 6, base, "0", "label", "end")]
    for edge, name in ((REVIEW_FROM, "review"), (HOLD_FROM, "hold")):
        parts += [
            line(left, height(edge), right, height(edge), f"edge {name}"),
            text(left - 6, height(edge) + 3, f"{name} {edge}", "label", "end"),
        ]
    for (x1, _, former), (x2, _, score) in pairwise(places):
        if former is not None and score is not None:
            parts.append(line(x1, height(former), x2, height(score), "course"))
    for place, (x, label, score) in enumerate(places):
        if score is None:
            parts.append(text(x, base - 4, "\N{EN DASH}", "label", "middle"))
        else:
            parts.append(node("circle", cx=number(x), cy=number(height(score)), r="3.2", class_="dot"))
            parts.append(text(x, height(score) - 7, str(score), "value", "middle"))
        if (len(places) - place) % 2:
            parts.append(text(x, HEIGHT - 6, label, "label", "middle"))
    bars = [Bar(label, score or 0, "not measured" if score is None else str(score)) for label, score in points]
    return _chart(chart_id, title, bars, HEIGHT, parts)


def _chart(chart_id: str, title: str, bars: Sequence[Bar], height: int, parts: Sequence[Html]) -> Html:
    words = [f"{bar.label}: {bar.text}" for bar in bars]
    return figure(chart_id, title, words, width=WIDTH, height=height, parts=parts)


def _rect(x: float, y: float, width: float, height: float, style: str) -> Html:
    return node("rect", x=number(x), y=number(y), width=number(width), height=number(height), rx="1.5", class_=style)
