"""How right the scores are, for model risk: calibration, the hold band, labels, decisions, cards in shadow."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlencode

import htpy as h
import msgspec

from clearhold.api.console.components.quality import INTERVAL, QUALITY, FigureTable, csv_of, figure, row_of
from clearhold.api.console.components.score_tables import drift_table, score_tables
from clearhold.api.console.components.words import count, marked, moment, money
from clearhold.api.console.visit import Answer, FileAnswer, HtmlAnswer, Visit
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.metrics.routes import DecisionHours, Metrics, MetricsHistoryQuery, MetricsQuery
from clearhold.api.metrics.scores import DriftQuery, ScoreDrift, ScoreFigures, ScoreQuery
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.measured import Measured
from clearhold.features.core.principal import KeyScope

PATH: Final = QUALITY
FILE: Final = f"{QUALITY}/{{table:str}}"
DAYS: Final = (7, 30, 90, 365)
_METRICS: Final = RequestSchema(MetricsQuery)
_HISTORY: Final = RequestSchema(MetricsHistoryQuery)
_SCORES: Final = RequestSchema(ScoreQuery)
_DRIFTS: Final = RequestSchema(DriftQuery)
FEWEST_WEEKS: Final = 4
MOST_WEEKS: Final = 52
_READING: Final = (
    ". Shares have the 95 % interval of Wilson and the number of observations. A figure that was not measured says so, "
    "and is never 0. Labels favour alerted transfers."
)
_CHALLENGED: Final = "Champion and challenger"
_PAST_DAYS: Final = "60"
_SUFFIX: Final = ".csv"


async def show(visit: Visit) -> Answer:
    metrics = await _metrics(visit)
    wanted = [(name, visit.query[name]) for name in ("days", "program") if visit.query.get(name)]
    content = h.div(".settings.record.quality")[
        h.div(".section")[
            h.h1["Quality"],
            h.p[
                f"{count(metrics.window_days, 'day')} to today, as of ",
                moment(metrics.as_of),
                _READING,
            ],
            _filters(visit),
            [figure(each, urlencode(wanted)) for each in await _tables(visit, metrics)],
        ]
    ]
    return HtmlAnswer("Quality", content)


async def file(visit: Visit) -> Answer:
    """One of the tables as a file."""
    key = visit.params["table"].removesuffix(_SUFFIX)
    for table in await _tables(visit, await _metrics(visit)):
        if table.key == key and visit.params["table"].endswith(_SUFFIX):
            return FileAnswer(f"{key}{_SUFFIX}", csv_of(table), "text/csv")
    raise NotFoundError("There is no such table.", ErrorCode.PATH_NOT_FOUND)


async def _metrics(visit: Visit) -> Metrics:
    query = [("days", visit.query.get("days") or "30"), *_program(visit)]
    return await visit.services.metrics.read(visit.principal, _METRICS.read_query(query))


def _program(visit: Visit) -> list[tuple[str, str]]:
    program = visit.query.get("program")
    return [("programId", program)] if program else []


def _filters(visit: Visit) -> h.Element:
    query = visit.query
    return h.form(class_="event-filters", action=PATH, method="get")[
        h.label[
            "Program",
            h.select(name="program")[
                h.option(value="")["all programs"],
                (
                    h.option(value=each.id, selected=query.get("program") == each.id)[marked(each.name)]
                    for each in visit.services.programs.list(visit.principal, source=None)
                ),
            ],
        ],
        h.label[
            "Days",
            h.select(name="days")[
                (h.option(value=str(each), selected=query.get("days", "30") == str(each))[f"{each}"] for each in DAYS)
            ],
        ],
        h.button(type="submit")["Show"],
    ]


async def _tables(visit: Visit, metrics: Metrics) -> list[FigureTable]:
    cards = await _cards(visit) if visit.principal.has_scope(KeyScope.POLICIES) else []
    of_scores = score_tables(await _scores(visit))
    return [*_of_metrics(metrics), *of_scores, drift_table(await _drift(visit)), await _history(visit), *cards]


async def _scores(visit: Visit) -> ScoreFigures:
    query = _SCORES.read_query([("days", visit.query.get("days") or "30"), *_program(visit)])
    return await visit.services.score_metrics.read(visit.principal, query)


async def _drift(visit: Visit) -> ScoreDrift:
    """Of the same days in whole weeks, and of four at least."""
    days = int(visit.query.get("days") or "30")
    weeks = min(MOST_WEEKS, max(FEWEST_WEEKS, days // 7))
    query = _DRIFTS.read_query([("weeks", str(weeks)), *_program(visit)])
    return await visit.services.score_metrics.drift(visit.principal, query)


def _of_metrics(metrics: Metrics) -> Iterable[FigureTable]:
    yield _calibration(metrics)
    yield _hold_band(metrics)
    yield _labels(metrics)
    yield _decisions(metrics)
    times = metrics.time_to_decision_hours
    yield FigureTable(
        "time-to-decision",
        "Hours to a decision",
        "From the alert's opening to its first decision.",
        ("Decided by", "Median", "90 % within", "n"),
        (_hours("a person", times.reviewed), _hours("the policy", times.automated)),
    )


def _calibration(metrics: Metrics) -> FigureTable:
    of = metrics.calibration
    return _shares_table(
        "calibration",
        "Calibration by band",
        "Of the labelled transfers that landed in a band, the share that went bad. A calibrated score rises from clear "
        "to hold, and its intervals do not overlap.",
        "Band",
        (("hold", of.hold), ("review", of.review), ("clear", of.clear), ("unscored", of.unscored)),
    )


def _hold_band(metrics: Metrics) -> FigureTable:
    hold = metrics.hold_band
    return _shares_table(
        "hold-band",
        "How right the hold band is",
        f"By labels: {hold.tp:,} held and bad, {hold.fp:,} held and ok, {hold.fn:,} bad and not held.",
        "Figure",
        (("precision", hold.precision), ("recall", hold.recall)),
    )


def _labels(metrics: Metrics) -> FigureTable:
    return _shares_table(
        "labels",
        "Maturity and coverage",
        "A label ok is provisional for 60 days, in which the transfer may come back as unauthorized.",
        "Figure",
        (
            ("labels that are final", metrics.label_maturity),
            ("transfers with a score", metrics.coverage.transfers),
            ("programs with a score", metrics.coverage.programs),
        ),
    )


def _decisions(metrics: Metrics) -> FigureTable:
    cleared = metrics.approved_without_waiting
    return _shares_table(
        "decisions",
        "Decisions",
        f"{cleared.count:,} of {count(cleared.n, 'scored transfer')} cleared without an alert, "
        f"which moved {money(cleared.cents)}.",
        "Figure",
        (("closed by the policy", metrics.auto_closed), ("overturned by a person", metrics.overturned)),
    )


def _shares_table(key: str, title: str, words: str, head: str, shares: tuple[tuple[str, Measured], ...]) -> FigureTable:
    rows = tuple(row_of(name, each) for name, each in shares)
    return FigureTable(key, title, words, (head, *INTERVAL), rows, shares)


def _hours(name: str, hours: DecisionHours) -> tuple[str, str | None, str | None, int]:
    median, p90 = (None if each is None else f"{each:.1f} h" for each in (hours.median, hours.p90))
    return name, median, p90, hours.n


async def _history(visit: Visit) -> FigureTable:
    """The metrics as they stood at the end of each day."""
    query = _HISTORY.read_query([("limit", _PAST_DAYS), *_program(visit)])
    page = await visit.services.metrics.history(visit.principal, query)
    rows = tuple(
        (
            each.to[:10],
            each.window_days,
            each.hold_band.precision.value,
            each.hold_band.recall.value,
            each.calibration.clear.value,
            each.overturned.value,
            each.label_maturity.value,
        )
        for each in page.data
    )
    heads = ("Up to", "Days", "Hold precision", "Hold recall", "Clear gone bad", "Overturned", "Labels final")
    words = "The same figures as they stood at the end of each day, newest first: a drift shows here."
    return FigureTable("history", "History", words, heads, rows)


async def _cards(visit: Visit) -> list[FigureTable]:
    """Each card in shadow, beside the champion."""
    listed = msgspec.json.decode((await visit.services.scorecards.list(visit.principal)).body)
    tables = []
    for each in (card for card in listed if card["inShadow"]):
        compared = await visit.services.scorecards.compare(visit.principal, each["version"])
        test, pairs = compared.mc_nemar, ((name, getattr(compared, name)) for name in ("champion", "challenger"))
        probability = "not measured" if test.p_value is None else f"p = {test.p_value:.4f}"
        words = (
            f"{count(compared.transfers, 'transfer')} that both scored; {compared.labelled_bad:,} bad and "
            f"{compared.labelled_ok:,} ok labels are final. McNemar's test: {probability}."
        )
        shares = tuple(
            (f"{name}, {figure}", getattr(figures, figure))
            for name, figures in pairs
            for figure in ("precision", "recall")
        )
        title = f"{_CHALLENGED} {each['version']}"
        tables.append(_shares_table(each["version"], title, words, "Card", shares))
    return tables or [FigureTable("challenger", _CHALLENGED, "No card runs in shadow.", ("Card", *INTERVAL), ())]
