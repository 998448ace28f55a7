"""Reports over HTTP, for reading: of an actor, of a program, of a program's week."""

from functools import partial
from typing import Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import JSON, Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import moments_exist
from clearhold.api.reports.page import page_of
from clearhold.api.reports.schemas import (
    ActorQuery,
    ActorReport,
    ProgramReport,
    ProgramReportQuery,
    WeeklyQuery,
    WeeklyReport,
)
from clearhold.api.reports.service import ActorReports, ProgramReports, week_exists
from clearhold.api.reports.weekly import WeeklyReports
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_EXAMPLES: Final = examples_of(__file__)


_operation: Final = partial(Operation, tag="reports", access=Access.BEARER, scope=KeyScope.REPORTS)
_HTML: Final = "text/html"
_HTML_MEDIA: Final = f"{_HTML}; charset=utf-8"
_PERIOD: Final = (
    "from and to bound whole days in UTC, at most 366; left out, they are the last 30 days including today."
)

_ACTOR: Final = _operation(
    id="getActorReport",
    summary="An entity, counterparty, agent or account over a period: score, transfers, alerts and decisions. "
    "An agent is an entity of the program agents; an account has no score. " + _PERIOD + " "
    "History, transitions, alerts and dispositions are the newest 200 of the period, the first two oldest first. "
    "400 if several programs have an actor of that id and programId names none of them.",
    answers={200: ActorReport},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.ENTITY_NOT_FOUND,
        ErrorCode.COUNTERPARTY_NOT_FOUND,
        ErrorCode.AGENT_NOT_FOUND,
        ErrorCode.ACCOUNT_NOT_FOUND,
    ),
    asks_owner=True,
    answer_example=_EXAMPLES["actor_report"],
    query=RequestSchema(ActorQuery, rules=moments_exist),
)


_PROGRAM: Final = _operation(
    id="getProgramReport",
    summary="A program over a period: its score, key risk indicators, transfers and alerts. " + _PERIOD + " "
    "History has every snapshot of the period, or of more than 200 the last of each of 200 equal parts of it; "
    "transitions are the newest 200. current, kris and rank are those of the end of the period.",
    answers={200: ProgramReport},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    answer_example=_EXAMPLES["program_report"],
    query=RequestSchema(ProgramReportQuery, rules=moments_exist),
)
_WEEKLY: Final = _operation(
    id="getWeeklyReport",
    summary="A program over an ISO week, Monday 00:00 UTC to the next. The current week may be asked for, one that has "
    "not begun is a 400. format html is the same as a page to read and to print.",
    answers={200: WeeklyReport},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    answer_example=_EXAMPLES["weekly_report"],
    media=(JSON, _HTML_MEDIA),
    text_examples={_HTML_MEDIA: '<!doctype html><html lang="en">...</html>'},
    query=RequestSchema(WeeklyQuery, rules=week_exists),
)


@get("/api/reports/weekly/{program_id:str}", opt=_WEEKLY.as_opt)
async def get_weekly_report(
    program_id: FromPath[str], request: ApiRequest, weekly_reports: NamedDependency[WeeklyReports]
) -> Response[WeeklyReport] | Response[bytes]:
    query = query_of(request.scope, WeeklyQuery)
    week = await weekly_reports.read(principal_of(request.scope), program_id, query.week)
    if query.format == "json":
        return Response(week.report)
    page = page_of(week)
    return Response(page.body, media_type=_HTML, headers={"Content-Security-Policy": page.policy})


AREA: Final = Area(
    routes=(
        answer_route("/api/reports/actor/{actor_type:str}/{actor_id:str}", _ACTOR, "actor_reports", ActorReports.read),
        answer_route("/api/reports/program/{program_id:str}", _PROGRAM, "program_reports", ProgramReports.read),
        get_weekly_report,
    ),
    provide={"actor_reports": ActorReports, "program_reports": ProgramReports, "weekly_reports": WeeklyReports},
)
