"""A program by day: each indicator as a line over the days, the score with its bands, and both as tables."""

from collections.abc import Mapping, Sequence
from typing import Final

import htpy as h

from clearhold.api.console.components.figures import LEVELS, STATES, Axes, line_of
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE, band_mark, count
from clearhold.api.kris.routes import KriSnapshot
from clearhold.api.reports.kri_words import kri_name, measured
from clearhold.features.catalogue.kris import KriStatus, KriValue

_DATE: Final = len("2026-03-02")
_BARE: Final = "not measured"

ByDay = Mapping[str, KriSnapshot | None]
"""The last snapshot of each day by its date, the oldest first; None for a day without one."""


def by_day(snapshots: Sequence[KriSnapshot], dates: Sequence[str]) -> ByDay:
    """Those of the dates."""
    known = {each.as_of[:_DATE]: each for each in snapshots}
    return {date: known.get(date) for date in dates}


def _of(snapshot: KriSnapshot | None, name: str) -> KriValue | None:
    return None if snapshot is None else snapshot.kris.get(name)


def _value(kri: KriValue | None) -> float | None:
    """None also for a rate of too few observations."""
    return None if kri is None or kri.status is KriStatus.UNMEASURED else kri.value


def trend(days: ByDay, name: str, kri: KriValue) -> h.Node:
    """The indicator's value at the end of each day, with the line of its limit where that is near."""
    values = [_value(_of(each, name)) for each in days.values()]
    known = [each for each in values if each is not None]
    if not known:
        return h.span(".small")[_BARE]
    low, high, last = (measured(name, kri.unit, each) for each in (min(known), max(known), known[-1]))
    words = f"{kri_name(name)} on {len(known)} of {count(len(values), 'day')}: {low} to {high}, last {last}"
    return line_of(values, kri.threshold, words)


def indicator_table(days: ByDay, names: Sequence[str]) -> h.Node:
    """Every indicator at the end of each day, the newest day first."""
    indicators = [*map(kri_name, names)]
    return h.details("#indicator-days")[
        h.summary["Indicators by day, as a table"],
        wide_table(
            "Indicators by day",
            ("Day", *indicators),
            (
                h.tr[h.th(scope="row")[date], (_cell(name, _of(snapshot, name)) for name in names)]
                for date, snapshot in [*days.items()][::-1]
            ),
            style="days",
            figures=indicators,
        ),
    ]


def _cell(name: str, kri: KriValue | None) -> h.Element:
    value = _value(kri)
    if kri is None or value is None:
        return h.td(".number.unmeasured", title=_BARE)[NO_VALUE]
    mark = "" if kri.status is KriStatus.OK else f"{STATES[kri.status]} "
    return h.td(class_=["number", kri.status.value])[f"{mark}{measured(name, kri.unit, value)}"]


def score_days(days: ByDay) -> h.Node:
    """The program's score at the end of each day: the line, and its table."""
    scores = [None if each is None else each.program_score for each in days.values()]
    known = [each for each in scores if each is not None]
    if not known:
        return h.p[f"The score was {_BARE} on any of these {count(len(scores), 'day')}."]
    words = f"Scored on {len(known)} of {count(len(scores), 'day')}: {min(known)} to {max(known)}, last {known[-1]}"
    axes = Axes(LEVELS, min(days), max(days))
    return [
        h.p[line_of(scores, None, words, ends=(0.0, 100.0), axes=axes), h.span(".small")[words, "."]],
        h.details("#score-days")[
            h.summary["Score by day, as a table"],
            wide_table(
                "Score by day",
                ("Day", "Score", "Indicators measured"),
                (_score_row(date, each) for date, each in [*days.items()][::-1]),
                style="days",
                figures=("Indicators measured",),
            ),
        ],
    ]


def _score_row(date: str, snapshot: KriSnapshot | None) -> h.Element:
    if snapshot is None:
        return h.tr[h.th(scope="row")[date], h.td["no snapshot"], h.td(".number")[NO_VALUE]]
    return h.tr[
        h.th(scope="row")[date],
        h.td[band_mark(snapshot.band, snapshot.program_score)],
        h.td(".number")[f"{snapshot.program_score_n:,}"],
    ]
