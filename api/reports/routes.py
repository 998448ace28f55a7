"""Reports over HTTP, for reading: of an actor, of a program, of a program's week."""

from functools import partial
from typing import Any, Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import JSON, Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import moments_exist
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.api.reports.page import page_of
from clearhold.api.reports.parts import week_exists
from clearhold.api.reports.schemas import (
    ActorQuery,
    ActorReport,
    ProgramReport,
    ProgramReportQuery,
    WeeklyQuery,
    WeeklyReport,
)
from clearhold.api.reports.service import ActorReports, ProgramReports
from clearhold.api.reports.weekly import WeeklyReports
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_TRANSFERS: Final[dict[str, Any]] = {
    "count": 42,
    "volumeCents": "1250000",
    "returns": {"any": 2, "unauthorized": 1},
    "bands": {"clear": 36, "review": 4, "hold": 1, "unscored": 1},
}
_REASON: Final[dict[str, Any]] = {
    "id": "ERS-RET-02",
    "signal": "unauthorized_returns",
    "weight": 36,
    "hard": False,
    "sentence": "2 unauthorized returns in 60 days (n = 40).",
}
_CURRENT: Final[dict[str, Any]] = {
    "score": 36,
    "band": "review",
    "n": 40,
    "confidence": 0.67,
    "version": "ers-v1",
    "reasons": [_REASON],
    "hard": False,
    "scoredAt": "2026-09-10T15:04:05.000Z",
}
_TRANSITION: Final[dict[str, Any]] = {
    "at": "2026-09-10T15:04:05.000Z",
    "from": "clear",
    "to": "review",
    "score": 36,
    "n": 40,
}
_ALERT_ID: Final = "6f1c2d3e-4a5b-4c6d-8e7f-001122334455"

ACTOR_REPORT: Final[dict[str, Any]] = {
    "kind": "actor",
    "type": "entity",
    "id": "enti_2zExample0001",
    "name": "Ada Example",
    "programId": PROGRAM_ID,
    "generatedAt": "2026-09-14T08:00:00.000Z",
    "from": "2026-08-16T00:00:00.000Z",
    "to": "2026-09-15T00:00:00.000Z",
    "current": _CURRENT,
    "history": [
        {
            "at": "2026-09-10T15:04:05.000Z",
            "score": 36,
            "band": "review",
            "n": 40,
            "version": "ers-v1",
            "signals": [{"code": "unauthorized_returns", "weight": 36}],
        }
    ],
    "transitions": [_TRANSITION],
    "signalTrends": {"unauthorized_returns": {"count": 1, "prior": 0}},
    "transfers": _TRANSFERS,
    "alerts": [
        {
            "id": _ALERT_ID,
            "detector": "unauthorized_return",
            "status": "closed",
            "route": "reviewed",
            "openedAt": "2026-09-10T15:04:05.000Z",
            "summary": "A second debit of enti_2zExample0001 was returned as unauthorized within 60 days.",
        }
    ],
    "dispositions": [
        {
            "alertId": _ALERT_ID,
            "decidedBy": "operator:j.lee",
            "decision": "close",
            "overturnsDraft": False,
            "createdAt": "2026-09-10T17:20:00.000Z",
        }
    ],
}

_KRI: Final = "ach_unauthorized_return_rate"
_DETECTOR: Final = {"detector": "unauthorized_return", "route": "reviewed", "count": 3}

PROGRAM_REPORT: Final[dict[str, Any]] = {
    "kind": "program",
    "id": PROGRAM_ID,
    "name": "Example Payroll",
    "generatedAt": "2026-09-14T08:00:00.000Z",
    "from": "2026-08-16T00:00:00.000Z",
    "to": "2026-09-15T00:00:00.000Z",
    "current": None,
    "history": [{"asOf": "2026-09-14T07:45:00.000Z", "programScore": 35, "band": "review", "n": 12}],
    "transitions": [_TRANSITION],
    "snapshotId": "6f1c7a52-9f0e-4c0b-8a53-0f1d2c3b4a59",
    "kris": {_KRI: {"value": 0.0051, "n": 3_900, "unit": "ratio", "threshold": 0.005, "status": "breach"}},
    "kriDeltas": [
        {
            "name": _KRI,
            "from": 0.0042,
            "to": 0.0051,
            "delta": 0.0009,
            "statusFrom": "watch",
            "statusTo": "breach",
            "n": 3_900,
        }
    ],
    "rank": {"rank": 2, "of": 9, "n": 12},
    "transfers": _TRANSFERS,
    "alertsByDetector": [_DETECTOR],
}

WEEKLY_REPORT: Final[dict[str, Any]] = {
    "kind": "weekly",
    "key": f"weekly:{PROGRAM_ID}:2026-W37",
    "programId": PROGRAM_ID,
    "programName": "Example Payroll",
    "isoWeek": "2026-W37",
    "from": "2026-09-07T00:00:00.000Z",
    "to": "2026-09-14T00:00:00.000Z",
    "generatedAt": "2026-09-14T08:00:00.000Z",
    "programScore": {"current": 35, "prior": 10, "band": "review", "n": 12},
    "kris": [
        {
            "name": _KRI,
            "value": 0.0051,
            "prior": 0.0042,
            "delta": 0.0009,
            "status": "breach",
            "priorStatus": "watch",
            "n": 3_900,
            "unit": "ratio",
            "threshold": 0.005,
        }
    ],
    "alerts": {
        "total": 3,
        "byDetector": [_DETECTOR],
        "byStatus": {"open": 1, "auto_closed": 0, "closed": 2, "held": 0, "escalated": 0},
    },
    "enteredHold": [
        {"type": "entity", "id": "enti_2zExample0001", "score": 74, "n": 40, "at": "2026-09-10T15:04:05.000Z"}
    ],
    "dispositions": {"total": 2, "byPlatform": 0, "byPerson": 2, "overturned": 1},
    "timeToDecisionHours": {"median": 2.25, "p90": 3.4, "n": 2},
    "transfers": _TRANSFERS,
    "summary": "Week 2026-W37 of program ... runs from Monday 2026-09-07 00:00 UTC to Monday 2026-09-14 00:00 UTC. ...",
}


_operation: Final = partial(Operation, tag="reports", access=Access.BEARER, scope=KeyScope.REPORTS)
_HTML: Final = "text/html"
_HTML_MEDIA: Final = f"{_HTML}; charset=utf-8"
_PERIOD: Final = (
    "from and to bound whole days in UTC, at most 366; left out, they are the last 30 days including today."
)

_ACTOR: Final = _operation(
    id="getActorReport",
    summary="An entity, counterparty or agent over a period: score, transfers, alerts and decisions. "
    "actorType is entity, counterparty or agent; an agent is an entity of the program agents. " + _PERIOD + " "
    "History, transitions, alerts and dispositions are the newest 200 of the period, the first two oldest first. "
    "400 if several programs have an actor of that id and programId names none of them.",
    answers={200: ActorReport},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.ENTITY_NOT_FOUND, ErrorCode.COUNTERPARTY_NOT_FOUND),
    asks_owner=True,
    answer_example=ACTOR_REPORT,
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
    answer_example=PROGRAM_REPORT,
    query=RequestSchema(ProgramReportQuery, rules=moments_exist),
)
_WEEKLY: Final = _operation(
    id="getWeeklyReport",
    summary="A program over an ISO week, Monday 00:00 UTC to the next. The current week may be asked for, one that has "
    "not begun is a 400. format html is the same as a page to read and to print.",
    answers={200: WeeklyReport},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    answer_example=WEEKLY_REPORT,
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
