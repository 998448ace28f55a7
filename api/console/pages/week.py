"""A program's week: the report in the frame of the console, with the weeks beside it, and as a page to print."""

from typing import Final
from urllib.parse import urlencode

import htpy as h

from clearhold.api.console.components.words import outsider
from clearhold.api.console.visit import Answer, DocumentAnswer, HtmlAnswer, Visit
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.reports.page import page_of, parts_of_week, period_of
from clearhold.api.reports.schemas import WeeklyQuery
from clearhold.api.reports.service import week_exists
from clearhold.api.reports.weekly import WeekOfProgram
from clearhold.features.core.instants import week_of, written_instant

PATH: Final = "/console/programs/{program_id:str}/week"
PRINT: Final = f"{PATH}/print"
_WEEK: Final = RequestSchema(WeeklyQuery, rules=week_exists)


async def show(visit: Visit) -> Answer:
    week = await _read(visit)
    report = week.report
    program = f"/console/programs/{report.program_id}"
    content = h.div(".week")[
        h.header[
            h.p(".small")[h.a(href=program)["program"], " · weekly report"],
            h.h1[
                outsider(report.program_name),
                h.span(".simulated")["simulated"] if report.simulated is True else None,
                h.span(".simulated")["the week is not over"] if report.generated_at < report.to else None,
            ],
            h.p[period_of(report)],
            _ways_on(visit, week, program),
        ],
        parts_of_week(week),
        h.p(".small")[
            f"Generated {report.generated_at} · scores {', '.join(week.score_versions)}",
            f" · policies {', '.join(week.policy_versions)} · ",
            h.code[report.key],
        ],
    ]
    return HtmlAnswer(f"{report.program_name}, {report.iso_week}", content)


async def printed(visit: Visit) -> Answer:
    """As a separate page, to read and to print."""
    page = page_of(await _read(visit))
    return DocumentAnswer(page.body, page.policy)


async def _read(visit: Visit) -> WeekOfProgram:
    query = _WEEK.read_query([*visit.query.items()])
    return await visit.services.weekly_reports.read(visit.principal, visit.params["program_id"], query.week)


def _ways_on(visit: Visit, week: WeekOfProgram, program: str) -> h.Element:
    """The week before, the week after where it has begun, and paper."""
    report = week.report
    start, end = written_instant(report.from_), written_instant(report.to)
    before, after = (_query(str(week_of(at))) for at in (start - 1, end))
    return h.nav(".chips", aria_label="Weeks")[
        h.a(href=f"{program}/week{before}")["Week before"],
        h.a(href=f"{program}/week{after}")["Week after"] if end <= visit.now else None,
        h.a(href=f"{program}/week/print{_query(report.iso_week)}", target="_blank")["To print"],
    ]


def _query(name: str) -> str:
    return f"?{urlencode({'week': name})}"
