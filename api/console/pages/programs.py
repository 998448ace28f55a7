"""Programs in a table; one program: its indicators, scores, limits, weeks, and what the platform may close alone."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

import htpy as h
import msgspec

from clearhold.api.console.components.figures import STATES, sparkline
from clearhold.api.console.components.limits import (
    limit_form,
    limit_table,
    limits_summary,
    pending_limits,
    requested_limit,
)
from clearhold.api.console.components.program_rows import program_table
from clearhold.api.console.components.words import band_mark, count, moment, outsider
from clearhold.api.console.pages.bank_events import faults_of_program, newest_faults
from clearhold.api.console.visit import Answer, DocumentAnswer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.events.routes import EventPage
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.limits.service import Limits, NewLimit, limit_rules
from clearhold.api.lists.lists import moments_exist
from clearhold.api.overview.routes import OverviewQuery
from clearhold.api.reports.kri_words import NOT_MEASURED, kri_name, limit_words, measured
from clearhold.api.reports.page import page_of
from clearhold.api.reports.schemas import ProgramReport, ProgramReportQuery, WeeklyQuery
from clearhold.api.reports.service import week_exists
from clearhold.features.core.errors import RiskError, UnavailableError
from clearhold.features.core.instants import DAYS_7, week_of
from clearhold.features.core.principal import KeyScope
from clearhold.features.policy.autonomy import Objection
from clearhold.features.policy.program_autonomy import DetectorEligibility, ProgramAutonomy

PATH: Final = "/console/programs"
WEEKS: Final = 8
FAULTS: Final = 5
_NEW_LIMIT: Final = RequestSchema(NewLimit, rules=limit_rules)
_REPORT: Final = RequestSchema(ProgramReportQuery, rules=moments_exist)
_WEEK: Final = RequestSchema(WeeklyQuery, rules=week_exists)
_BUSY: Final = "The state of this program cannot be read right now. Load the page again in a moment."
_OBJECTIONS: Final[Mapping[Objection, str]] = {
    Objection.ALWAYS_REVIEWED: "always decided by a person",
    Objection.BAD_RATE_BOUND: "too few labels, or more than 2 % may be bad",
    Objection.REVIEWED_TOO_FEW: "fewer than 50 were decided by persons",
    Objection.OVERTURN_RATE: "persons held or escalated more than 2 %",
    Objection.OVERTURNED_RECENTLY: "persons held or escalated more than 5 % in the last 30 days",
}


class ProgramView(msgspec.Struct, frozen=True, kw_only=True):
    """``limits`` and ``autonomy`` are None while the program's state cannot be read; ``autonomy`` also for a session
    that may not read policies. ``faults`` are None for one that may not read events.
    """

    program_id: str
    report: ProgramReport
    limits: Limits | None
    autonomy: ProgramAutonomy | None
    faults: EventPage | None
    refusal: str | None


async def show_all(visit: Visit) -> Answer:
    overview = await visit.services.overview.read(visit.principal, OverviewQuery())
    heading = count(len(overview.programs), "program")
    return HtmlAnswer("Programs", h.div(".programs-page")[h.h1["Programs"], h.p[heading], program_table(overview)])


async def show(visit: Visit) -> Answer:
    return await _page(visit, None)


async def week(visit: Visit) -> Answer:
    """The weekly report as a separate page, to read and to print."""
    query = _WEEK.read_query([*visit.query.items()])
    page = page_of(await visit.services.weekly_reports.read(visit.principal, visit.params["program_id"], query.week))
    return DocumentAnswer(page.body, page.policy)


async def request_limit(visit: Visit) -> Answer:
    program_id = visit.params["program_id"]
    try:
        body, _ = _NEW_LIMIT.decode(msgspec.json.encode(requested_limit(visit.form)))
        await visit.services.limits.request(visit.principal, program_id, body, visit.effect_id())
    except RiskError as error:
        page = await _page(visit, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PATH}/{program_id}?requested=limit#limits")


async def _page(visit: Visit, refusal: str | None) -> HtmlAnswer:
    services, principal, program_id = visit.services, visit.principal, visit.params["program_id"]
    report = await services.program_reports.read(principal, program_id, _REPORT.read_query([]))
    limits, autonomy, faults = await asyncio.gather(
        _limits(visit, report.id), _autonomy(visit, report.id), _faults(visit, report.id)
    )
    view = ProgramView(
        program_id=report.id, report=report, limits=limits, autonomy=autonomy, faults=faults, refusal=refusal
    )
    return HtmlAnswer(report.name, _content(visit, view))


async def _limits(visit: Visit, program_id: str) -> Limits | None:
    try:
        return await visit.services.limits.read(visit.principal, program_id)
    except UnavailableError:
        return None


async def _autonomy(visit: Visit, program_id: str) -> ProgramAutonomy | None:
    if not visit.principal.has_scope(KeyScope.POLICIES):
        return None
    try:
        return await visit.services.autonomy.read(visit.principal, program_id)
    except UnavailableError:
        return None


async def _faults(visit: Visit, program_id: str) -> EventPage | None:
    may_read = visit.principal.has_scope(KeyScope.ALERTS_READ)
    return await newest_faults(visit, program_id, FAULTS) if may_read else None


def _content(visit: Visit, view: ProgramView) -> h.Element:
    may_read_policies = visit.principal.has_scope(KeyScope.POLICIES)
    return h.div(".program")[
        _head(view.report),
        h.section[h.h2["Key risk indicators"], _kris(view.report)],
        h.section("#limits")[h.h2["Limits"], _limit_part(visit, view)],
        h.section[h.h2["Closed by the platform alone"], _autonomy_part(view.autonomy)] if may_read_policies else None,
        h.section("#faults")[h.h2["Events without effect"], faults_of_program(view.faults)]
        if view.faults is not None
        else None,
        h.section[h.h2["Weekly reports"], _weeks(visit, view.program_id)],
        h.section[h.h2["Alerts of the last 30 days"], _alerts(view.report)],
        h.p[h.a(href=f"/console/things/program/{view.program_id}")["What happened, by time"]],
    ]


def _head(report: ProgramReport) -> h.Element:
    score, rank = report.current, report.rank
    scores = [each.program_score for each in report.history]
    known = [each for each in scores if each is not None]
    words = (
        f"{len(scores):,} scores of 30 days: {min(known)} to {max(known)}, last {known[-1]}"
        if known
        else "No scores in 30 days"
    )
    return h.header[
        h.p(".small")["program"],
        h.h1[outsider(report.name), h.span(".simulated")["simulated"] if report.simulated is True else None],
        h.p[
            band_mark(score.band, score.score) if score is not None else "No score yet.",
            h.span(".small")[f" n = {score.n} indicators · {score.version}"] if score is not None else None,
            f" · rank {rank.rank} of {rank.of}" if rank is not None else None,
            " · ",
            h.a(href=f"/console/queue?programId={report.id}")["its queue"],
        ],
        h.p[sparkline(scores, words), h.span(".small")[words]],
        _transitions(report),
    ]


def _transitions(report: ProgramReport) -> h.Node:
    if not report.transitions:
        return h.p(".small")["No change of band in 30 days."]
    newest = report.transitions[::-1][:5]
    return h.ul(".plain.small")[(h.li[moment(each.at), f" {each.from_} to {each.to}"] for each in newest)]


def _kris(report: ProgramReport) -> h.Node:
    if not report.kris:
        return h.p["No snapshot of the indicators was taken yet."]
    before = {each.name: each.from_ for each in report.kri_deltas}
    heads = ("Indicator", "State", "Value", "30 days before", "Limit", "n")
    figures = {"Value", "30 days before", "Limit", "n"}
    return h.div(".wide", tabindex="0", role="region", aria_label="Key risk indicators")[
        h.table(".kris")[
            h.thead[h.tr[(h.th(scope="col", class_="number" if each in figures else None)[each] for each in heads)]],
            h.tbody[
                (
                    h.tr[
                        h.th(scope="row")[kri_name(name)],
                        h.td(class_=kri.status.value)[
                            h.span(aria_hidden="true")[STATES[kri.status]],
                            " not measured" if kri.status == "unmeasured" else f" {kri.status.value}",
                        ],
                        h.td(".number")[measured(name, kri.unit, kri.value), _caveat(kri.note)],
                        h.td(".number")[measured(name, kri.unit, before.get(name))],
                        h.td(".number")[limit_words(name, kri.unit, kri.threshold)],
                        h.td(".number")[f"{kri.n:,}"],
                    ]
                    for name, kri in report.kris.items()
                )
            ],
        ],
        h.p(".small")[f"{NOT_MEASURED} is not measured, and counts for nothing in the score. It is never 0."],
    ]


def _caveat(note: str | msgspec.UnsetType) -> h.Node:
    return None if note is msgspec.UNSET else h.p(".small")[note]


def _limit_part(visit: Visit, view: ProgramView) -> h.Node:
    if view.limits is None:
        return h.p[_BUSY]
    is_requested = visit.query.get("requested") == "limit" and view.refusal is None
    return [
        h.p(".note", role="status")["Requested. Another person has to approve it."] if is_requested else None,
        h.p(".small")[limits_summary(view.limits), "."],
        limit_table(view.limits),
        pending_limits(view.limits),
        limit_form(visit, f"{PATH}/{view.program_id}/limits", view.refusal),
    ]


def _autonomy_part(autonomy: ProgramAutonomy | None) -> h.Node:
    if autonomy is None:
        return h.p[_BUSY]
    return [
        h.p["Tier ", h.b[autonomy.tier.value], ". ", " ".join(autonomy.warnings)],
        h.div(".wide", tabindex="0", role="region", aria_label="Evidence on detectors")[
            h.table[
                h.thead[
                    h.tr[
                        h.th(scope="col")["Detector"],
                        h.th(scope="col")["Closed alone"],
                        h.th(".number", scope="col")["Alerts"],
                        h.th(".number", scope="col")["Decided by persons"],
                        h.th(scope="col")["Against it"],
                    ]
                ],
                h.tbody[(_evidence(each) for each in autonomy.eligibility)],
            ]
        ]
        if autonomy.eligibility
        else h.p["No detector of this program can be closed alone."],
    ]


def _evidence(row: DetectorEligibility) -> h.Element:
    return h.tr[
        h.th(scope="row")[row.detector.replace("_", " ")],
        h.td["yes" if row.closable else "no"],
        h.td(".number")[f"{row.alerts:,}"],
        h.td(".number")[f"{row.reviewed:,}"],
        h.td(".words")["; ".join(_OBJECTIONS[each] for each in row.objections) or "nothing"],
    ]


def _weeks(visit: Visit, program_id: str) -> h.Element:
    """The last full weeks, the newest first."""
    weeks = (str(week_of(visit.now - number * DAYS_7)) for number in range(1, WEEKS + 1))
    return h.ul(".chips")[
        (
            h.li[h.a(href=f"{PATH}/{program_id}/week?{urlencode({'week': name})}", target="_blank")[name]]
            for name in weeks
        )
    ]


def _alerts(report: ProgramReport) -> h.Node:
    if not report.alerts_by_detector:
        return h.p["None."]
    return h.ul(".plain")[_alert_counts(report)]


def _alert_counts(report: ProgramReport) -> Iterable[h.Element]:
    for each in report.alerts_by_detector:
        yield h.li[f"{each.count:,} {each.detector.replace('_', ' ')}, {each.route.value}"]
