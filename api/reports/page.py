"""A weekly report as a page for an examiner, on screen and on paper, without scripts or external content.

Names and ids from outsiders are isolated from the surrounding text, in ``bdi``.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import htpy as h

from clearhold.api.html.page import (
    Axis,
    Bar,
    Line,
    Page,
    Point,
    about,
    bar_chart,
    columns,
    line_chart,
    printed_page,
    section,
    table,
    tiles,
)
from clearhold.api.reports.kri_words import NOT_MEASURED, kri_name, limit_words, measured
from clearhold.api.reports.schemas import WeeklyKri, WeeklyReport
from clearhold.api.reports.service import detector_totals
from clearhold.api.reports.weekly import WeekOfProgram
from clearhold.features.catalogue.kris import KriStatus
from clearhold.features.core.instants import datetime_of, written_instant
from clearhold.features.core.money import money
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, WAITING, Band, words

MOST_DETECTORS: Final = 8
_MOST_SCORE: Final = 100
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SHAPES: Final = {KriStatus.OK: "●", KriStatus.WATCH: "▲", KriStatus.BREACH: "■", KriStatus.UNMEASURED: "○"}
_BAND_SHAPES: Final = {Band.CLEAR: "●", Band.REVIEW: "▲", Band.HOLD: "■", Band.UNSCORED: "○"}
_MINUS: Final = "\N{MINUS SIGN}"


def page_of(week: WeekOfProgram) -> Page:
    report = week.report
    return printed_page(
        f"{report.program_name}, week {report.iso_week}",
        report.key,
        h.header[_title_block(week)],
        parts_of_week(week),
        h.footer[report.key],
    )


def parts_of_week(week: WeekOfProgram) -> Sequence[h.Element]:
    """The report without its title."""
    report = week.report
    return (
        _tiles(report),
        section("Summary", (h.p[paragraph] for paragraph in week.paragraphs)),
        section("The week in figures", _charts(week)),
        section("Key risk indicators", _kris(report.kris)),
        section("Into the hold band", _entered_hold(report)),
        section("Alerts and decisions", _alerts(report)),
    )


def period_of(report: WeeklyReport) -> str:
    """``Week 2026-W10 · Monday 2 March to Sunday 8 March 2026 · UTC``."""
    start, end = written_instant(report.from_), written_instant(report.to)
    monday, sunday = datetime_of(start), datetime_of(end) - timedelta(days=1)
    return f"Week {report.iso_week} · {monday:%A %-d %B} to {sunday:%A %-d %B %Y} · UTC"


def _title_block(week: WeekOfProgram) -> Iterator[h.Node]:
    report = week.report
    yield h.p(".kicker")["Weekly program report"]
    yield h.h1[h.bdi[report.program_name]]
    yield h.p(".period")[period_of(report)]
    marks = ((report.simulated is True, "Simulated program"), (report.generated_at < report.to, "Week not over"))
    if any(applies for applies, _ in marks):
        yield h.p[(h.span(".mark")[words] for applies, words in marks if applies)]
    yield about(
        (
            ("Program", report.program_id),
            ("Period", f"{report.from_[:16]}Z to {report.to[:16]}Z"),
            ("Generated", report.generated_at),
            ("Scores", ", ".join(week.score_versions)),
            ("Policies", ", ".join(week.policy_versions)),
            ("Report", report.key),
        )
    )


def _tiles(report: WeeklyReport) -> h.Element:
    score, transfers, alerts = report.program_score, report.transfers, report.alerts
    hours = report.time_to_decision_hours.median
    waiting = sum(alerts.by_status[status] for status in WAITING)
    prior = "not measured" if score.prior is None else score.prior
    median = "time to a decision not measured" if hours is None else f"median {hours:,.1f} h to a decision"
    in_band = f"{_BAND_SHAPES[score.band]} {score.band} · {prior} the week before · n = {score.n}"
    decisions = report.dispositions
    return tiles(
        (
            ("Program Risk Score", _figure(score.current), in_band),
            ("Transfers", f"{transfers.count:,}", f"{money(int(transfers.volume_cents))} moved"),
            ("Alerts opened", f"{alerts.total:,}", f"{waiting:,} wait for a decision"),
            ("Decisions", f"{decisions.total:,}", f"{decisions.by_person:,} by persons · {median}"),
        )
    )


def _charts(week: WeekOfProgram) -> h.Element:
    report = week.report
    days = tuple(zip(_DAYS, week.days, strict=True))
    bands = report.transfers.bands
    counts = (
        (Band.CLEAR, bands.clear),
        (Band.REVIEW, bands.review),
        (Band.HOLD, bands.hold),
        (Band.UNSCORED, bands.unscored),
    )
    by_band = [
        Bar(f"{_BAND_SHAPES[band]} {band}", count, _with_share(count, report.transfers.count), band)
        for band, count in counts
    ]
    return columns(
        _scores([(f"W{each.number:02d}", None if point is None else point.score) for each, point in week.weeks]),
        bar_chart("bands", "Transfers by band", by_band),
        bar_chart(
            "transfers", "Transfers by day", [Bar(day, each.transfers, f"{each.transfers:,}") for day, each in days]
        ),
        bar_chart("volume", "Volume by day", [Bar(day, each.cents, money(each.cents)) for day, each in days]),
    )


def _scores(scores: Sequence[tuple[str, int | None]]) -> h.Element:
    """Scores by week, oldest first, over the lines of the bands; every second week and the last are named."""
    last = len(scores) - 1
    points = [Point(at, score, _figure(score)) for at, (_, score) in enumerate(scores)]
    edges = [
        Line((Point(0, edge), Point(last, edge)), f"edge {band}")
        for edge, band in ((REVIEW_FROM, Band.REVIEW), (HOLD_FROM, Band.HOLD))
    ]
    named = [(at, week) for at, (week, _) in enumerate(scores) if (last - at) % 2 == 0]
    words = [f"{week}: {'not measured' if score is None else score}" for week, score in scores]
    return line_chart(
        "scores",
        f"Program Risk Score at the end of the last {len(scores)} weeks",
        (*edges, Line(points, has_dots=True)),
        words,
        x=Axis(0, last, named),
        y=Axis(0, _MOST_SCORE, ((0, "0"), (REVIEW_FROM, f"review {REVIEW_FROM}"), (HOLD_FROM, f"hold {HOLD_FROM}"))),
    )


def _kris(kris: Sequence[WeeklyKri]) -> h.Node:
    if not kris:
        return h.p["No snapshot of the indicators had been taken by the end of the week."]
    heads = ("Indicator", "Status", "Status before", "Value", "Value before", "Change", "Limit", "n")
    body = [
        (
            kri_name(kri.name),
            _status(kri.status),
            _status(kri.prior_status),
            measured(kri.name, kri.unit, kri.value),
            measured(kri.name, kri.unit, kri.prior),
            _change(kri),
            limit_words(kri.name, kri.unit, kri.threshold),
            f"{kri.n:,}",
        )
        for kri in kris
    ]
    legend = ", ".join(f"{shape} {status}" for status, shape in _SHAPES.items())
    words = f"{legend}. Watch is at the line of attention, breach beyond the limit. Values are raw, with their n."
    return (table(heads, body, numbers=3), h.p(".note")[words])


def _entered_hold(report: WeeklyReport) -> h.Node:
    if not report.entered_hold:
        return h.p["Nothing came into the hold band in the week."]
    body = [(each.type, h.bdi[each.id], each.at, _figure(each.score), str(each.n)) for each in report.entered_hold]
    return table(("What", "Id", "When, UTC", "Score", "n"), body, numbers=3)


def _alerts(report: WeeklyReport) -> h.Node:
    alerts, decisions, hours = report.alerts, report.dispositions, report.time_to_decision_hours
    status = ", ".join(f"{count:,} {words(name)}" for name, count in alerts.by_status.items())
    returns = report.transfers.returns
    against = f"{decisions.overturned:,} against a draft or an earlier automatic close"
    by_whom = f"{decisions.by_platform:,} by the platform, {decisions.by_person:,} by persons"
    waits = f"median {_hours(hours.median)}, 90th percentile {_hours(hours.p90)}, n = {hours.n}"
    facts = [
        f"Alerts that opened in the week, as they stand now: {status}.",
        f"Decisions of the week: {by_whom}, {against}.",
        f"Hours to a person's first decision: {waits}.",
        f"Transfers of the week that were returned: {returns.any:,}, of which unauthorized: {returns.unauthorized:,}.",
    ]
    body = [(h.bdi[words(each.detector)], each.route, f"{each.count:,}") for each in alerts.by_detector]
    listed = columns(_detectors(report), table(("Detector", "Route", "Alerts"), body, numbers=2)) if body else None
    return [*(h.p[fact] for fact in facts), listed]


def _detectors(report: WeeklyReport) -> h.Node:
    """Most alerts first, routes together."""
    most = detector_totals(report.alerts.by_detector)
    detectors = [Bar(words(detector), count, f"{count:,}") for detector, count in most[:MOST_DETECTORS]]
    rest = sum(count for _, count in most[MOST_DETECTORS:])
    if rest:
        detectors.append(Bar("all others", rest, f"{rest:,}", "unscored"))
    return bar_chart("alerts", "Alerts opened, by detector", detectors)


def _status(status: KriStatus) -> h.Node:
    return h.span(class_=f"status {status}")[f"{_SHAPES[status]} {status}"]


def _change(kri: WeeklyKri) -> str:
    if kri.delta is None:
        return NOT_MEASURED
    if not kri.delta:
        return "±0"
    return f"{'+' if kri.delta > 0 else _MINUS}{measured(kri.name, kri.unit, abs(kri.delta))}"


def _figure(score: int | None) -> str:
    return NOT_MEASURED if score is None else str(score)


def _hours(hours: float | None) -> str:
    return "not measured" if hours is None else f"{hours:,.1f}"


def _with_share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f}\N{NO-BREAK SPACE}%)" if total else f"{count:,}"
