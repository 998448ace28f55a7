"""Plots of a calibration report as inline SVG, with a title and their figures in words for whoever cannot see them.

Unit    lengths are those of the frame, ``WIDTH`` wide, which the page scales with its text
"""

from collections.abc import Iterable, Sequence
from typing import Final

from clearhold.api.cli.calibration.report import BandTable, ChancePart, Ranking, WeekPart
from clearhold.api.http.html import Html, node
from clearhold.api.http.svg import figure, line, number, text
from clearhold.features.core.measured import Measured

WIDTH: Final = 340
HEIGHT: Final = 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 20, 12, 30
_ROW: Final = 24
_LABEL: Final = 104
_VALUE: Final = 72
_SCORED_BANDS: Final = 3
STYLES: Final = ("one", "two", "three", "four")


def precision_and_recall(rankings: Sequence[Ranking]) -> Html:
    """A curve a ranking; the first is the card's."""
    parts = [*_axes("share of bad transfers caught", "share of alerts that are bad"), *_grid()]
    for ranking, style in zip(rankings, STYLES, strict=False):
        steps = len(ranking.curve) - 1
        places = [(_x(place / steps), _y(value)) for place, value in enumerate(ranking.curve)]
        points = " ".join(f"{number(x)},{number(y)}" for x, y in places)
        parts.append(node("polyline", points=points, class_=f"curve {style}"))
    words = [f"{each.name}: average precision {each.average_precision:.3f}" for each in rankings]
    legend = node("p", *_legend([each.name for each in rankings]), class_="legend")
    return _plot("curves", "Precision by recall, later time", words, HEIGHT, parts, legend)


def band_shares(tables: Sequence[BandTable]) -> Html:
    """How often each band is bad, with intervals, a row a band and card."""
    parts: list[Html] = []
    words, top = [], 6
    room = WIDTH - _LABEL - _VALUE
    for table in tables:
        for each in table.bands[:_SCORED_BANDS]:
            share, middle = each.bad_share, top + _ROW / 2
            label = f"{table.card}: {each.band}"
            words.append(f"{label} {percent(share)}")
            parts.append(text(_LABEL - 8, middle + 3, label, "label", "end"))
            parts.append(line(_LABEL, middle, _LABEL + room, middle, "grid"))
            if share.value is not None:
                ends = [_LABEL + room * end for end in (share.low or 0, share.high or 0, share.value)]
                parts.append(line(ends[0], middle, ends[1], middle, f"whisker {each.band}"))
                parts.append(_dot(ends[2], middle, each.band))
            parts.append(text(_LABEL + room + 6, middle + 3, percent(share), "value", "start"))
            top += _ROW
    return _plot("bands", "Share of labelled transfers that are bad, later time, 95 % intervals", words, top + 4, parts)


def reliability(chance: ChancePart) -> Html:
    """Chances against what happened; on the line both are the same."""
    parts = [*_axes("chance by the fit window", "share that was bad"), *_grid()]
    parts.append(line(_x(0), _y(0), _x(1), _y(1), "edge"))
    for each in chance.deciles:
        share = each.bad_share
        parts.append(
            line(_x(each.mean_chance), _y(share.low or 0), _x(each.mean_chance), _y(share.high or 0), "whisker")
        )
        parts.append(_dot(_x(each.mean_chance), _y(share.value or 0), ""))
    words = [
        f"chance {each.mean_chance:.3f}: {percent(each.bad_share)} of {each.bad_share.n:,}" for each in chance.deciles
    ]
    return _plot("reliability", "Chances against outcomes, later time, 95 % intervals", words, HEIGHT, parts)


def weeks(rows: Sequence[WeekPart]) -> Html:
    """Review and hold by week, in per 1,000; the weeks of the fit are pale."""
    shares = [(1000 * each.review / each.transfers, 1000 * each.hold / each.transfers) for each in rows]
    most = max((sum(pair) for pair in shares), default=0) or 1
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(rows))
    base = HEIGHT - _BOTTOM
    room = base - _TOP
    parts = [
        line(_LEFT, base, WIDTH - _RIGHT, base, "axis"),
        text(_LEFT - 4, _TOP + 4, f"{most:.0f}", "label", "end"),
    ]
    for place, (each, (review, hold)) in enumerate(zip(rows, shares, strict=True)):
        left, pale = _LEFT + place * step, " pale" if each.in_fit else ""
        heights = (room * hold / most, room * review / most)
        parts.append(_rect(left + step * 0.12, base - heights[0], step * 0.76, heights[0], f"hold{pale}"))
        parts.append(_rect(left + step * 0.12, base - sum(heights), step * 0.76, heights[1], f"review{pale}"))
    if rows:
        parts.append(text(_LEFT, HEIGHT - 12, rows[0].week, "label", "start"))
        parts.append(text(WIDTH - _RIGHT, HEIGHT - 12, rows[-1].week, "label", "end"))
    words = [f"{each.week}: {each.review:,} review, {each.hold:,} hold of {each.transfers:,}" for each in rows]
    return _plot("weeks", "Review and hold by week, per 1,000 transfers; pale: fitted", words, HEIGHT, parts)


def percent(share: Measured) -> str:
    return "\N{EN DASH}" if share.value is None else f"{100 * share.value:.1f}\N{NO-BREAK SPACE}%"


def _legend(names: Iterable[str]) -> list[Html]:
    entries = []
    for name, style in zip(names, STYLES, strict=False):
        curve = line(0, 5, 24, 5, f"curve {style}")
        key = node("svg", curve, viewBox="0 0 24 10", class_="key", aria_hidden="true")
        entries.append(node("span", key, name))
    return entries


def _axes(across: str, upward: str) -> list[Html]:
    base = HEIGHT - _BOTTOM
    return [
        line(_LEFT, base, WIDTH - _RIGHT, base, "axis"),
        line(_LEFT, _TOP, _LEFT, base, "axis"),
        text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 4, across, "label", "middle"),
        text(_LEFT + 4, _TOP - 3, upward, "label", "start"),
    ]


def _grid() -> list[Html]:
    parts = []
    for place in (0.0, 0.5, 1.0):
        parts.append(text(_x(place), HEIGHT - _BOTTOM + 11, f"{100 * place:.0f} %", "label", "middle"))
        parts.append(text(_LEFT - 4, _y(place) + 3, f"{100 * place:.0f} %", "label", "end"))
        parts.append(line(_LEFT, _y(place), WIDTH - _RIGHT, _y(place), "grid"))
    return parts


def _x(share: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * share


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * share


def _plot(
    plot_id: str, title: str, words: Sequence[str], height: float, parts: Sequence[Html], below: Html | None = None
) -> Html:
    return figure(plot_id, title, words, width=WIDTH, height=height, parts=parts, below=below)


def _rect(x: float, y: float, width: float, height: float, style: str) -> Html:
    return node("rect", x=number(x), y=number(y), width=number(width), height=number(height), class_=style)


def _dot(x: float, y: float, style: str) -> Html:
    return node("circle", cx=number(x), cy=number(y), r="3.2", class_=f"dot {style}".rstrip())
