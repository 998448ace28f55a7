"""Alerts over HTTP: the queue, one alert, decisions and appeals."""

from typing import Any, Final

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ASGIApp

from api.alerts.decisions import DecisionService
from api.alerts.schemas import (
    Alert,
    AlertDetail,
    AlertFilters,
    AlertPage,
    AlertsQuery,
    AppealRequest,
    DecisionRequest,
)
from api.alerts.service import AlertService
from api.dispositions.schemas import Disposition
from api.examples import ALERT, ALERT_DETAIL, APPEAL_REQUEST, APPEALED, DECISION_REQUEST, DISPOSITION
from api.http.gate import body_of, effect_id_of, principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.lists.exports import MEDIA_TYPES, ExportFormat, examples_of
from api.lists.lists import moments_exist, next_link
from features.core.principal import KeyScope

_TAG: Final = "alerts"


class AlertExportQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


_LIST: Final = Operation(
    id="listAlerts",
    tag=_TAG,
    summary="Alerts, newest first by the time at which they opened.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: AlertPage, 404: None},
    answer_example={"data": [ALERT], "hasMore": False, "nextCursor": None},
    query=RequestSchema(AlertsQuery, rules=moments_exist),
    headers=("Link",),
)
_EXPORT: Final = Operation(
    id="exportAlerts",
    tag=_TAG,
    summary="All alerts of a list as a download: one a line, or a row under a row of names. "
    "An export that fails midway ends without a clean end of the connection; at most two run at a time.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Alert, 404: None},
    query=RequestSchema(AlertExportQuery, rules=moments_exist),
    headers=("Content-Disposition",),
    media=tuple(MEDIA_TYPES.values()),
    text_examples=examples_of(Alert, ALERT),
)
_READ: Final = Operation(
    id="getAlert",
    tag=_TAG,
    summary="One alert with its transfer, the draft and the decisions so far. `reasons` are those of the score that "
    "opened the alert or last refreshed it; of an appeal, which no score opened, those of the transfer's score.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: AlertDetail, 404: None, 503: None},
    answer_example=ALERT_DETAIL,
)
_DECIDE: Final = Operation(
    id="decideAlert",
    tag=_TAG,
    summary="Signs a decision. Of several at once one is made; a closed alert is final, and only a held one can be "
    "released. An alert routed `reviewed` needs a person: an API key has to name one in X-Operator.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_DECIDE,
    answers={201: Disposition, 404: None},
    body=RequestSchema(DecisionRequest),
    example=DECISION_REQUEST,
    answer_example=DISPOSITION,
)
_APPEAL: Final = Operation(
    id="appealAlert",
    tag=_TAG,
    summary="Opens a new alert, for a person, that points to a closed one.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_DECIDE,
    answers={201: Alert, 404: None},
    body=RequestSchema(AppealRequest),
    example=APPEAL_REQUEST,
    answer_example=APPEALED,
)
_DISPOSITIONS: Final = Operation(
    id="listDispositionsOfAlert",
    tag=_TAG,
    summary="The decisions on one alert, oldest first.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: tuple[Disposition, ...], 404: None},
    answer_example=[DISPOSITION],
)


@get("/api/alerts", opt=_LIST.as_opt)
async def list_alerts(request: Request[Any, Any, Any], alerts: NamedDependency[AlertService]) -> Response[AlertPage]:
    page = await alerts.page(principal_of(request.scope), query_of(request.scope, AlertsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/alerts/export", opt=_EXPORT.as_opt)
async def export_alerts(request: Request[Any, Any, Any], alerts: NamedDependency[AlertService]) -> ASGIApp:
    query = query_of(request.scope, AlertExportQuery)
    return alerts.export(principal_of(request.scope), query, query.format)


@get("/api/alerts/{alert_id:str}", opt=_READ.as_opt)
async def get_alert(
    alert_id: FromPath[str], request: Request[Any, Any, Any], alerts: NamedDependency[AlertService]
) -> AlertDetail:
    return await alerts.read(principal_of(request.scope), alert_id)


@post("/api/alerts/{alert_id:str}/decide", opt=_DECIDE.as_opt)
async def decide_alert(
    alert_id: FromPath[str], request: Request[Any, Any, Any], decisions: NamedDependency[DecisionService]
) -> Disposition:
    asked = body_of(request.scope, DecisionRequest)
    return await decisions.decide(principal_of(request.scope), alert_id, asked, effect_id_of(request.scope))


@post("/api/alerts/{alert_id:str}/appeal", opt=_APPEAL.as_opt)
async def appeal_alert(
    alert_id: FromPath[str], request: Request[Any, Any, Any], decisions: NamedDependency[DecisionService]
) -> Alert:
    asked = body_of(request.scope, AppealRequest)
    return await decisions.appeal(principal_of(request.scope), alert_id, asked, effect_id_of(request.scope))


@get("/api/alerts/{alert_id:str}/dispositions", opt=_DISPOSITIONS.as_opt)
async def list_dispositions_of_alert(
    alert_id: FromPath[str], request: Request[Any, Any, Any], alerts: NamedDependency[AlertService]
) -> tuple[Disposition, ...]:
    return await alerts.dispositions(principal_of(request.scope), alert_id)


ROUTES: Final = (
    list_alerts,
    export_alerts,
    get_alert,
    decide_alert,
    appeal_alert,
    list_dispositions_of_alert,
)
