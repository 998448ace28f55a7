"""Small charts of figures, as SVG without inline style: a line of scores, a bar of use, the states of indicators."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import htpy as h

from clearhold.api.console.components.words import NO_VALUE, SHAPES, count
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, Band

_polyline: Final = h.Element("polyline")
_circle: Final = h.Element("circle")
_title: Final = h.Element("title")
_line: Final = h.Element("line")
_rect: Final = h.Element("rect")
_text: Final = h.Element("text")
_WIDTH, _HEIGHT, _EDGE = 120, 28, 3
_ABOVE, _BESIDE, _BELOW = 8, 92, 18  # room for the words of axes
_MOST: Final = 100
_NAMED: Final = frozenset({"breach", "watch"})
_FEW: Final = 3

STATES: Final[Mapping[str, str]] = {"breach": "■", "watch": "▲", "ok": "●", "unmeasured": "○"}
"""The shape of each state of an indicator, the worst first."""

LEVELS: Final[Mapping[float, str]] = {
    0.0: "0",
    float(REVIEW_FROM): f"review {REVIEW_FROM}",
    float(HOLD_FROM): f"hold {HOLD_FROM}",
    100.0: "100",
}
"""The levels of a chart of scores: its ends, and where bands begin."""


def sparkline(values: Sequence[int | None], words: str) -> h.Element:
    """Values of 0 to 100, oldest first; a gap where one was not measured."""
    return line_of(values, None, words, ends=(0.0, float(_MOST)))


class Axes(NamedTuple):
    """``levels`` are values with a line and a name each; ``first`` and ``last`` name the first and the last place."""

    levels: Mapping[float, str]
    first: str
    last: str


def line_of(
    values: Sequence[float | None],
    limit: float | None,
    words: str,
    *,
    ends: tuple[float, float] | None = None,
    axes: Axes | None = None,
) -> h.Element:
    """Measured values, oldest first, between their least and their most or between ``ends``; a gap where one was not
    measured, a point where its neighbours were not. The limit is a line where it is within that span. A chart with
    ``axes`` is wide.
    """
    known = [each for each in values if each is not None]
    low, high = ends or (min(known), max(known))
    if limit is not None and ends is None and high <= limit <= 2 * high:
        high = limit
    reach, width = high - low or 1.0, 4 * _WIDTH if axes else _WIDTH
    height = 3 * _HEIGHT if axes else _HEIGHT

    def at(value: float) -> float:
        return height - _EDGE - (height - 2 * _EDGE) * (value - low) / reach if high > low else height / 2

    step = (width - 2 * _EDGE) / max(1, len(values) - 1)
    places = [None if value is None else (_EDGE + place * step, at(value)) for place, value in enumerate(values)]
    last = next((place for place in reversed(places) if place is not None), None)
    alone = [place for place, *beside in _with_neighbours(places) if not any(beside)]
    marked = {place for place in (last, *alone) if place is not None}
    line = None if limit is None or not low <= limit <= high else f"{at(limit):.1f}"
    box = f"0 {-_ABOVE} {width + _BESIDE} {_ABOVE + height + _BELOW}" if axes else f"0 0 {width} {height}"
    return h.svg(".spark.broad" if axes else ".spark", viewBox=box, role="img")[
        _title[words],
        None if axes is None else _named(axes, {at(value): name for value, name in axes.levels.items()}, width, height),
        None if line is None else _line(x1="0", x2=str(width), y1=line, y2=line),
        [_polyline(points=" ".join(f"{x:.0f},{_written(y)}" for x, y in _bends(each))) for each in _stretches(places)],
        [_circle(cx=f"{x:.0f}", cy=_written(y), r="2.2") for x, y in sorted(marked)],
    ]


def _named(axes: Axes, levels: Mapping[float, str], width: int, height: int) -> list[h.Element]:
    """``levels`` are by their place from the top; their names stand on the right, those of the ends below."""
    return [
        *(
            each
            for y, name in levels.items()
            for each in (
                _line(".level", x1="0", x2=str(width), y1=f"{y:.1f}", y2=f"{y:.1f}"),
                _text(x=str(width + _EDGE), y=f"{y:.1f}", dominant_baseline="middle")[name],
            )
        ),
        _text(x="0", y=str(height + _BELOW - _EDGE))[axes.first],
        _text(x=str(width), y=str(height + _BELOW - _EDGE), text_anchor="end")[axes.last],
    ]


def _written(value: float) -> str:
    """With one decimal where it has one."""
    return f"{value:.1f}".removesuffix(".0")


def _bends(stretch: Sequence[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """Its places without those between two of the same height, which a line needs not."""
    for place, (x, y) in enumerate(stretch):
        is_within = 0 < place < len(stretch) - 1
        if not (is_within and stretch[place - 1][1] == y == stretch[place + 1][1]):
            yield x, y


_Place = tuple[float, float] | None


def _with_neighbours(places: Sequence[_Place]) -> Iterable[tuple[_Place, _Place, _Place]]:
    return zip(places, [None, *places], [*places[1:], None], strict=False)


def _stretches(places: Sequence[tuple[float, float] | None]) -> list[list[tuple[float, float]]]:
    """The runs without a gap of at least two places."""
    stretches: list[list[tuple[float, float]]] = [[]]
    for place in places:
        if place is None:
            stretches.append([])
        else:
            stretches[-1].append(place)
    return [each for each in stretches if len(each) > 1]


def use_bar(share: float, words: str) -> h.Element:
    """A share of a limit; over 1 it is full and marked."""
    width = f"{min(1.0, max(0.0, share)) * _MOST:.1f}"
    return h.svg(".use", viewBox="0 0 100 6", role="img", preserveAspectRatio="none")[
        _title[words],
        _rect(".over" if share >= 1 else ".within", width=width, height="6"),
    ]


def score_mix(numbers: Mapping[str, int]) -> h.Node:
    """How many transfers of each band, as one bar and in words; the highest band first."""
    every = sum(numbers.values())
    if not every:
        return h.p["No transfer was scored in the last hour."]
    bands = [(band, numbers.get(band, 0)) for band in (Band.HOLD, Band.REVIEW, Band.CLEAR, Band.UNSCORED)]
    starts = accumulate((number for _, number in bands), initial=0)
    return h.div(".mix")[
        h.svg(viewBox="0 0 100 3", preserveAspectRatio="none", aria_hidden="true")[
            (
                _rect(
                    f".{band.value}",
                    x=f"{_MOST * start / every:.2f}",
                    width=f"{_MOST * number / every:.2f}",
                    height="3",
                )
                for (band, number), start in zip(bands, starts, strict=False)
                if number
            )
        ],
        h.p(".small")[count(every, "transfer"), ":"],
        h.ul[
            (
                h.li(f".{band.value}")[
                    h.span(aria_hidden="true")[SHAPES[band]], f" {number:,} {band.value}, {number / every:.1%}"
                ]
                for band, number in bands
            )
        ],
    ]


def states(of: Mapping[str, str]) -> h.Node:
    """The indicators of a program by shape: how many of each state, and breaches and watches by name, the first few of
    them; all stand on the program's page.
    """
    if not of:
        return NO_VALUE
    return h.div(".states")[
        (
            h.span(f".{state}")[h.span(aria_hidden="true")[shape], f" {_state_words(state, names)} "]
            for state, shape in STATES.items()
            if (names := [name for name, its in of.items() if its == state])
        )
    ]


def _state_words(state: str, names: Sequence[str]) -> str:
    if state not in _NAMED:
        return f"{len(names)} {'not measured' if state == 'unmeasured' else state}"
    first = ", ".join(name.replace("_", " ") for name in names[:_FEW])
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{len(names)} {state}: {first}{more}"
