"""Plots of a calibration report: curves of rankings, shares of bands, chances, weeks."""

from collections.abc import Sequence
from typing import Final

import htpy as h

from clearhold.api.html.page import Axis, Bar, Line, Point, bar_chart, line_chart
from clearhold.calibrate.report import BandTable, ChancePart, Ranking, WeekPart
from clearhold.features.core.measured import Measured

_HEIGHT: Final = 200
_SCORED_BANDS: Final = 3
_STYLES: Final = ("one", "two", "three", "four")
_SHARES: Final = ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))


def precision_and_recall(rankings: Sequence[Ranking]) -> h.Element:
    """A curve a ranking; the first is the card's."""
    lines = [
        Line(
            [Point(place / (len(each.curve) - 1), value) for place, value in enumerate(each.curve)],
            style,
            each.name,
        )
        for each, style in zip(rankings, _STYLES, strict=False)
    ]
    return line_chart(
        "curves",
        "Precision by recall, later time",
        lines,
        [f"{each.name}: average precision {each.average_precision:.3f}" for each in rankings],
        x=Axis(0, 1, _SHARES, "share of bad transfers caught"),
        y=Axis(0, 1, _SHARES, "share of alerts that are bad"),
        height=_HEIGHT,
    )


def band_shares(tables: Sequence[BandTable]) -> h.Element:
    """How often each band is bad, with intervals, a row a band and card."""
    bars = [
        Bar(
            f"{table.card}: {each.band}",
            each.bad_share.value,
            percent(each.bad_share),
            each.band,
            _interval(each.bad_share),
        )
        for table in tables
        for each in table.bands[:_SCORED_BANDS]
    ]
    return bar_chart("bands", "Share of labelled transfers that are bad, later time, 95 % intervals", bars, most=1)


def reliability(chance: ChancePart) -> h.Element:
    """Chances against what happened; on the line both are the same."""
    deciles = [
        Point(each.mean_chance, each.bad_share.value, interval=_interval(each.bad_share)) for each in chance.deciles
    ]
    return line_chart(
        "reliability",
        "Chances against outcomes, later time, 95 % intervals",
        (Line((Point(0, 0), Point(1, 1)), "edge"), Line(deciles, is_drawn=False, has_dots=True)),
        [
            f"chance {each.mean_chance:.3f}: {percent(each.bad_share)} of {each.bad_share.n:,}"
            for each in chance.deciles
        ],
        x=Axis(0, 1, _SHARES, "chance by the fit window"),
        y=Axis(0, 1, _SHARES, "share that was bad"),
        height=_HEIGHT,
    )


def weeks(rows: Sequence[WeekPart]) -> h.Element:
    """Review and hold by week, in per 1,000; an upright line stands where later time begins."""
    reviews = [Point(place, 1000 * each.review / each.transfers) for place, each in enumerate(rows)]
    holds = [Point(place, 1000 * each.hold / each.transfers) for place, each in enumerate(rows)]
    most = max((point.y or 0 for point in (*reviews, *holds)), default=0) or 1
    last = len(rows) - 1
    begins = sum(each.in_fit for each in rows) - 0.5
    lines = [Line(reviews, "review", "review"), Line(holds, "hold", "hold")]
    if 0 < begins < last:
        lines.append(Line((Point(begins, 0), Point(begins, most)), "edge", "later time begins"))
    ends = ((0, rows[0].week), (last, rows[-1].week)) if last > 0 else ()
    return line_chart(
        "weeks",
        "Review and hold by week, per 1,000 transfers",
        lines,
        [f"{each.week}: {each.review:,} review, {each.hold:,} hold of {each.transfers:,}" for each in rows],
        x=Axis(0, last, ends),
        y=Axis(0, most, ((0, "0"), (most, f"{most:.0f}"))),
        height=_HEIGHT,
    )


def percent(share: Measured) -> str:
    return "\N{EN DASH}" if share.value is None else f"{100 * share.value:.1f}\N{NO-BREAK SPACE}%"


def _interval(share: Measured) -> tuple[float, float] | None:
    return None if share.low is None or share.high is None else (share.low, share.high)
