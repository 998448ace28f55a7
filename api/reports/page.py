"""A weekly report as a page for an examiner, on the screen and on paper: no scripts, nothing fetched.

All text is escaped by ``api/http/html.py``; names and ids that others chose stand apart from the text around them.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from clearhold.api.http.html import Html, joined, node
from clearhold.api.reports.charts import Bar, columns, rows, score_line
from clearhold.api.reports.page_style import policy_of, style_of
from clearhold.api.reports.schemas import WeeklyKri, WeeklyReport
from clearhold.api.reports.weekly import WeekOfProgram
from clearhold.features.catalogue.kris import KRIS
from clearhold.features.core.entries.kris import KriStatus, KriUnit
from clearhold.features.core.instants import datetime_of, parse_instant
from clearhold.features.core.sentences import money
from clearhold.features.core.vocabulary import WAITING, Band

MOST_DETECTORS: Final = 8
_SHAPES: Final = {KriStatus.OK: "●", KriStatus.WATCH: "▲", KriStatus.BREACH: "■", KriStatus.UNMEASURED: "○"}
_BAND_SHAPES: Final = {Band.CLEAR: "●", Band.REVIEW: "▲", Band.HOLD: "■", Band.UNSCORED: "○"}
_PERCENT_ENDS: Final = ("_rate", "_share", "_use", "_concentration")
_LOWER_LIMITS: Final = {kri.name.value for kri in KRIS if kri.is_lower}
_MINUS: Final = "\N{MINUS SIGN}"
_NOTHING: Final = "\N{EN DASH}"


class Page(msgspec.Struct, frozen=True):
    """A page and its Content-Security-Policy."""

    body: bytes
    policy: str


def page_of(week: WeekOfProgram) -> Page:
    report = week.report
    style = style_of(report.key)
    title = f"{report.program_name}, week {report.iso_week}"
    head = node(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        node("title", title),
        node("style", style),
    )
    main = node(
        "main",
        node("header", *_title_block(week)),
        _tiles(report),
        _section("Summary", *(node("p", paragraph) for paragraph in week.paragraphs)),
        _section("The week in figures", _charts(week)),
        _section("Key risk indicators", _kris(report.kris)),
        _section("Into the hold band", _entered_hold(report)),
        _section("Alerts and decisions", _alerts(report)),
        node("footer", report.key),
    )
    body = b"<!doctype html>" + node("html", head, node("body", main), lang="en").encode()
    return Page(body, policy_of(style))


def _title_block(week: WeekOfProgram) -> Iterable[Html]:
    report = week.report
    start, end = parse_instant(report.from_), parse_instant(report.to)
    assert start is not None
    assert end is not None
    monday, sunday = datetime_of(start), datetime_of(end) - timedelta(days=1)
    marks = []
    if report.simulated is True:
        marks.append(node("span", "Simulated program", class_="mark"))
    if report.generated_at < report.to:
        marks.append(node("span", "Week not over", class_="mark"))
    yield node("p", "Weekly program report", class_="kicker")
    yield node("h1", node("bdi", report.program_name))
    yield node("p", f"Week {report.iso_week} · {monday:%A %-d %B} to {sunday:%A %-d %B %Y} · UTC", class_="period")
    yield node("p", *marks) if marks else Html()
    about = (
        ("Program", report.program_id),
        ("Period", f"{report.from_[:16]}Z to {report.to[:16]}Z"),
        ("Generated", report.generated_at),
        ("Scores", ", ".join(week.score_versions)),
        ("Policies", ", ".join(week.policy_versions)),
        ("Report", report.key),
    )
    yield node("dl", *(node("div", node("dt", name), node("dd", text)) for name, text in about), class_="about")


def _tiles(report: WeeklyReport) -> Html:
    score, transfers, alerts, hours = (
        report.program_score,
        report.transfers,
        report.alerts,
        report.time_to_decision_hours,
    )
    waiting = sum(alerts.by_status[status] for status in WAITING)
    prior = "not measured" if score.prior is None else score.prior
    median = (
        "time to a decision not measured" if hours.median is None else f"median {hours.median:,.1f} h to a decision"
    )
    return node(
        "div",
        _tile(
            "Program Risk Score",
            _figure(score.current),
            f"{_BAND_SHAPES[score.band]} {score.band} · {prior} the week before · n = {score.n}",
        ),
        _tile("Transfers", f"{transfers.count:,}", f"{money(int(transfers.volume_cents))} moved"),
        _tile("Alerts opened", f"{alerts.total:,}", f"{waiting:,} wait for a decision"),
        _tile(
            "Decisions", f"{report.dispositions.total:,}", f"{report.dispositions.by_person:,} by persons · {median}"
        ),
        class_="tiles",
    )


def _tile(head: str, figure: str, small: str) -> Html:
    parts = (("head", head), ("figure", figure), ("small", small))
    return node("div", *(node("div", text, class_=style) for style, text in parts), class_="tile")


def _charts(week: WeekOfProgram) -> Html:
    report = week.report
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    days = tuple(zip(names, week.days, strict=True))
    bands = report.transfers.bands
    counts = (("clear", bands.clear), ("review", bands.review), ("hold", bands.hold), ("unscored", bands.unscored))
    scores = [(f"W{each.number:02d}", None if point is None else point.score) for each, point in week.weeks]
    charts = (
        score_line("scores", f"Program Risk Score at the end of the last {len(scores)} weeks", scores),
        rows(
            "bands",
            "Transfers by band",
            [
                Bar(f"{_BAND_SHAPES[Band(band)]} {band}", count, _with_share(count, report.transfers.count), band)
                for band, count in counts
            ],
        ),
        columns(
            "transfers", "Transfers by day", [Bar(day, each.transfers, f"{each.transfers:,}") for day, each in days]
        ),
        columns(
            "volume", "Volume by day, US dollars", [Bar(day, each.cents, _short(each.cents)) for day, each in days]
        ),
    )
    return node("div", *charts, class_="columns")


def _kris(kris: Sequence[WeeklyKri]) -> Html:
    if not kris:
        return node("p", "No snapshot of the indicators had been taken by the end of the week.")
    heads = ("Indicator", "Status", "Status before", "Value", "Value before", "Change", "Limit", "n")
    body = [
        (
            _kri_name(kri.name),
            _status(kri.status),
            _status(kri.prior_status),
            _measured(kri, kri.value),
            _measured(kri, kri.prior),
            _change(kri),
            _limit(kri),
            f"{kri.n:,}",
        )
        for kri in kris
    ]
    legend = ", ".join(f"{shape} {status}" for status, shape in _SHAPES.items())
    words = f"{legend}. Watch is at the line of attention, breach beyond the limit. Values are raw, with their n."
    return joined([_table(heads, body, numbers=3), node("p", words, class_="note")])


def _entered_hold(report: WeeklyReport) -> Html:
    if not report.entered_hold:
        return node("p", "Nothing came into the hold band in the week.")
    body = [
        (each.type, node("bdi", each.id), each.at, _figure(each.score), str(each.n)) for each in report.entered_hold
    ]
    return _table(("What", "Id", "When, UTC", "Score", "n"), body, numbers=3)


def _alerts(report: WeeklyReport) -> Html:
    alerts, decisions, hours = report.alerts, report.dispositions, report.time_to_decision_hours
    status = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in alerts.by_status.items())
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
    body = [(node("bdi", each.detector), each.route, f"{each.count:,}") for each in alerts.by_detector]
    parts = [*(node("p", fact) for fact in facts)]
    if body:
        listed = _table(("Detector", "Route", "Alerts"), body, numbers=2)
        parts.append(node("div", _detectors(report), listed, class_="columns"))
    return joined(parts)


def _detectors(report: WeeklyReport) -> Html:
    """Most alerts first, routes together."""
    by_detector: dict[str, int] = {}
    for each in report.alerts.by_detector:
        by_detector[each.detector] = by_detector.get(each.detector, 0) + each.count
    most = sorted(by_detector.items(), key=lambda item: (-item[1], item[0]))
    detectors = [Bar(_cut(detector), count, f"{count:,}") for detector, count in most[:MOST_DETECTORS]]
    rest = sum(count for _, count in most[MOST_DETECTORS:])
    if rest:
        detectors.append(Bar("all others", rest, f"{rest:,}", "unscored"))
    return rows("alerts", "Alerts opened, by detector", detectors)


def _section(title: str, *content: Html) -> Html:
    return node("section", node("h2", title), *content)


def _table(heads: Sequence[str], body: Iterable[Sequence[str]], *, numbers: int) -> Html:
    """A table whose columns from ``numbers`` on are figures."""
    styles = ["text" if place < numbers else "number" for place in range(len(heads))]
    head = node("tr", *(node("th", each, scope="col", class_=style) for each, style in zip(heads, styles, strict=True)))
    lines = [
        node("tr", *(node("td", cell, class_=style) for cell, style in zip(line, styles, strict=True))) for line in body
    ]
    return node("div", node("table", node("thead", head), node("tbody", *lines)), class_="wide")


def _status(status: KriStatus) -> Html:
    return node("span", f"{_SHAPES[status]} {status}", class_=f"status {status}")


def _kri_name(name: str) -> str:
    words = name.replace("_", " ")
    return f"ACH{words[3:]}" if words.startswith("ach ") else words[:1].upper() + words[1:]


def _measured(kri: WeeklyKri, value: float | None) -> str:
    if value is None:
        return _NOTHING
    if kri.unit is KriUnit.RATIO:
        return f"{value * 100:,.2f}\N{NO-BREAK SPACE}%" if kri.name.endswith(_PERCENT_ENDS) else f"{value:,.2f}"
    if kri.unit is KriUnit.CENTS:
        return money(round(value))
    if kri.unit is KriUnit.COUNT:
        return f"{value:,.0f}"
    return f"{value:,.1f}\N{NO-BREAK SPACE}{kri.unit}"


def _change(kri: WeeklyKri) -> str:
    if kri.delta is None:
        return _NOTHING
    if not kri.delta:
        return "±0"
    return f"{'+' if kri.delta > 0 else _MINUS}{_measured(kri, abs(kri.delta))}"


def _limit(kri: WeeklyKri) -> str:
    if kri.threshold is None:
        return _NOTHING
    return f"{'≥' if kri.name in _LOWER_LIMITS else '≤'} {_measured(kri, kri.threshold)}"


def _figure(score: int | None) -> str:
    return _NOTHING if score is None else str(score)


def _hours(hours: float | None) -> str:
    return "not measured" if hours is None else f"{hours:,.1f}"


def _with_share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f}\N{NO-BREAK SPACE}%)" if total else f"{count:,}"


def _short(cents: int) -> str:
    """An amount in as few characters as a bar has room for."""
    dollars = cents / 100
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if dollars >= size:
            return f"{dollars / size:.1f}{letter}"
    return f"{dollars:.0f}"


def _cut(name: str) -> str:
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"


_LABEL: Final = 24
