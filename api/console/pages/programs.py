"""Programs in a table; one program: its indicators, scores, limits, weeks, and what the platform may close alone."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlencode

import htpy as h
import msgspec

from clearhold.api.console.components.autonomy import autonomy_summary, autonomy_versions, evidence_table, ladder
from clearhold.api.console.components.figures import STATES
from clearhold.api.console.components.limits import (
    limit_form,
    limit_table,
    limits_summary,
    pending_limits,
    requested_limit,
)
from clearhold.api.console.components.party_facts import band_change
from clearhold.api.console.components.program_days import (
    ByDay,
    by_day,
    indicator_table,
    score_days,
    trend,
)
from clearhold.api.console.components.program_rows import PROGRAMS, ProgramAddress, program_list
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import band_mark, count, outsider
from clearhold.api.console.pages.bank_events import faults_of_program, newest_faults
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.events.routes import EventPage
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.kris.routes import KriSnapshot, SnapshotsQuery
from clearhold.api.limits.service import Limits, LimitsQuery, NewLimit, limit_rules
from clearhold.api.lists.lists import moments_exist
from clearhold.api.overview.routes import OverviewQuery
from clearhold.api.reports.kri_words import NOT_MEASURED, kri_name, limit_words, measured
from clearhold.api.reports.schemas import ProgramReport, ProgramReportQuery
from clearhold.features.catalogue.kris import KriValue
from clearhold.features.core.errors import RiskError, UnavailableError
from clearhold.features.core.instants import DAY_US, DAYS_7, format_instant, week_of
from clearhold.features.core.principal import KeyScope
from clearhold.features.policy.program_autonomy import ProgramAutonomy

PATH: Final = PROGRAMS
WEEKS: Final = 8
FAULTS: Final = 5
TRANSITIONS: Final = 12
_DATE: Final = len("2026-03-02")
_NEW_LIMIT: Final = RequestSchema(NewLimit, rules=limit_rules)
_REPORT: Final = RequestSchema(ProgramReportQuery, rules=moments_exist)
_SNAPSHOTS: Final = RequestSchema(SnapshotsQuery, rules=moments_exist)
_BUSY: Final = "The state of this program cannot be read right now. Load the page again in a moment."
PERIODS: Final = (30, 90)


class ProgramView(msgspec.Struct, frozen=True, kw_only=True):
    """``limits`` and ``autonomy`` are None while the program's state cannot be read; ``autonomy`` also for a session
    that may not read policies. ``faults`` are None for one that may not read events. ``days`` are those
    of the report's period.
    """

    program_id: str
    report: ProgramReport
    limits: Limits | None
    autonomy: ProgramAutonomy | None
    faults: EventPage | None
    refusal: str | None
    days: ByDay


async def show_all(visit: Visit) -> Answer:
    overview = await visit.services.overview.read(visit.principal, OverviewQuery())
    listed = program_list(overview, ProgramAddress.of(visit.query))
    return HtmlAnswer("Programs", h.div(".programs-page")[h.h1["Programs"], listed])


async def show(visit: Visit) -> Answer:
    return await _page(visit, None)


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
    from_ = format_instant(visit.now - (_period(visit) - 1) * DAY_US)[:_DATE]
    report = await services.program_reports.read(principal, program_id, _REPORT.read_query([("from", from_)]))
    limits, autonomy, faults, snapshots = await asyncio.gather(
        _limits(visit, report.id), _autonomy(visit, report.id), _faults(visit, report.id), _snapshots(visit, report)
    )
    view = ProgramView(
        program_id=report.id,
        report=report,
        limits=limits,
        autonomy=autonomy,
        faults=faults,
        refusal=refusal,
        days=by_day(snapshots, _dates(visit)),
    )
    return HtmlAnswer(report.name, _content(visit, view))


def _period(visit: Visit) -> int:
    """The days of the period; the first of the choices unless another is in the address."""
    wanted = visit.query.get("days")
    return next((each for each in PERIODS if str(each) == wanted), PERIODS[0])


def _dates(visit: Visit) -> list[str]:
    return [format_instant(visit.now - before * DAY_US)[:_DATE] for before in range(_period(visit) - 1, -1, -1)]


async def _snapshots(visit: Visit, report: ProgramReport) -> Sequence[KriSnapshot]:
    """The last one of each day."""
    wanted = [("programId", report.id), ("every", "day"), ("from", report.from_), ("limit", str(_period(visit)))]
    return (await visit.services.kris.page(visit.principal, _SNAPSHOTS.read_query(wanted))).data


async def _limits(visit: Visit, program_id: str) -> Limits | None:
    try:
        return await visit.services.limits.read(visit.principal, program_id, LimitsQuery())
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
        h.section("#history")[h.h2["Program Risk Score"], _history(visit, view)],
        h.section[h.h2["Key risk indicators"], _kris(view)],
        h.section("#limits")[h.h2["Limits"], _limit_part(visit, view)],
        h.section("#autonomy")[h.h2["Closed by the platform alone"], _autonomy_part(visit, view)]
        if may_read_policies
        else None,
        h.section("#faults")[h.h2["Events without effect"], faults_of_program(view.faults)]
        if view.faults is not None
        else None,
        h.section[h.h2["Weekly reports"], _weeks(visit, view.program_id)],
        h.section[h.h2[f"Alerts of the last {len(view.days)} days"], _alerts(view.report)],
        h.p[h.a(href=f"/console/things/program/{view.program_id}")["What happened, by time"]],
    ]


def _head(report: ProgramReport) -> h.Element:
    score, rank = report.current, report.rank
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
    ]


def _history(visit: Visit, view: ProgramView) -> h.Node:
    days = _period(visit)
    return [
        h.ul(".chips")[
            (
                h.li[h.a(href=f"?days={each}#history", aria_current="true" if each == days else None)[f"{each} days"]]
                for each in PERIODS
            )
        ],
        score_days(view.days),
        _transitions(view.report, days),
    ]


def _transitions(report: ProgramReport, days: int) -> h.Node:
    if not report.transitions:
        return h.p(".small")[f"No change of band in {days} days."]
    newest = report.transitions[::-1][:TRANSITIONS]
    return [
        h.h3[f"{count(len(report.transitions), 'change')} of band in {days} days"],
        h.ul(".plain.small")[(band_change(each) for each in newest)],
        h.p(".small")[f"The newest {TRANSITIONS} are shown."] if len(report.transitions) > TRANSITIONS else None,
    ]


def _kris(view: ProgramView) -> h.Node:
    report, days = view.report, len(view.days)
    if not report.kris:
        return h.p["No snapshot of the indicators was taken yet."]
    before = {each.name: each.from_ for each in report.kri_deltas}
    past = f"{days} days before"
    table = wide_table(
        "Key risk indicators",
        ("Indicator", "State", "Value", f"{days} days", past, "Limit", "n"),
        (_kri_row(view, name, kri, before.get(name)) for name, kri in report.kris.items()),
        style="kris",
        figures=("Value", past, "Limit", "n"),
    )
    never = h.p(".small")[f"{NOT_MEASURED} is not measured, and counts for nothing in the score. It is never 0."]
    return [table, never, indicator_table(view.days, [*report.kris])]


def _kri_row(view: ProgramView, name: str, kri: KriValue, past: float | None) -> h.Element:
    return h.tr[
        h.th(scope="row")[kri_name(name)],
        h.td(class_=kri.status.value)[
            h.span(aria_hidden="true")[STATES[kri.status]],
            " not measured" if kri.status == "unmeasured" else f" {kri.status.value}",
        ],
        h.td(".number")[measured(name, kri.unit, kri.value), _caveat(kri.note)],
        h.td[trend(view.days, name, kri)],
        h.td(".number")[measured(name, kri.unit, past)],
        h.td(".number")[limit_words(name, kri.unit, kri.threshold)],
        h.td(".number")[f"{kri.n:,}"],
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


def _autonomy_part(visit: Visit, view: ProgramView) -> h.Node:
    autonomy = view.autonomy
    if autonomy is None:
        return h.p[_BUSY]
    is_requested, is_changed = (visit.query.get(each) == "autonomy" for each in ("requested", "changed"))
    return [
        h.p(".note", role="status")["Requested. Another person has to approve it, under Approvals."]
        if is_requested
        else None,
        h.p(".note", role="status")["Narrowed. It is in force."] if is_changed else None,
        autonomy_summary(autonomy),
        None
        if visit.signed_in.is_read_only
        else h.p[h.a(".button", href=f"{PATH}/{view.program_id}/autonomy")["Change the step"]],
        ladder(autonomy, format_instant(visit.now)),
        h.h3["Evidence on each detector"],
        evidence_table(autonomy),
        h.h3["Changes"],
        autonomy_versions(autonomy),
    ]


def _weeks(visit: Visit, program_id: str) -> h.Element:
    """The last full weeks, the newest first."""
    weeks = (str(week_of(visit.now - number * DAYS_7)) for number in range(1, WEEKS + 1))
    return h.ul(".chips")[
        (h.li[h.a(href=f"{PATH}/{program_id}/week?{urlencode({'week': name})}")[name]] for name in weeks)
    ]


def _alerts(report: ProgramReport) -> h.Node:
    if not report.alerts_by_detector:
        return h.p["None."]
    return h.ul(".plain")[_alert_counts(report)]


def _alert_counts(report: ProgramReport) -> Iterable[h.Element]:
    for each in report.alerts_by_detector:
        yield h.li[f"{each.count:,} {each.detector.replace('_', ' ')}, {each.route.value}"]
