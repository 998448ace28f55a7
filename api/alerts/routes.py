"""Alerts over HTTP: the queue, one alert, decisions and appeals."""

from functools import partial
from typing import Final

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ASGIApp

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.version_routes import write_route
from clearhold.api.alerts.decisions import DecisionService
from clearhold.api.alerts.examples import ALERT, ALERT_DETAIL, APPEAL_REQUEST, APPEALED, DECISION_REQUEST
from clearhold.api.alerts.schemas import (
    Alert,
    AlertDetail,
    AlertFilters,
    AlertPage,
    AlertsQuery,
    AppealRequest,
    DecisionRequest,
)
from clearhold.api.alerts.service import AlertHistory, AlertService
from clearhold.api.area import Area, Resources
from clearhold.api.dispositions.examples import DISPOSITION
from clearhold.api.dispositions.schemas import Disposition
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import Downloads, ExportFormat
from clearhold.api.lists.lists import next_link
from clearhold.api.lists.operations import export_operation, list_operation
from clearhold.api.transfers.routes import transfer_service
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.alerts import Alerts
from clearhold.store.duck.decisions import Actions, Dispositions

_TAG: Final = "alerts"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_READ)
_deciding: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_DECIDE)


class AlertExportQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


_LIST: Final = list_operation(
    "listAlerts",
    tag=_TAG,
    summary="Alerts, the worst first: hard ones, then the hold band, then by severity, and the newest of equal ones "
    "first. An alert that becomes worse between two pages moves ahead of them.",
    scope=KeyScope.ALERTS_READ,
    page=AlertPage,
    query=AlertsQuery,
    example=ALERT,
)
_EXPORT: Final = export_operation(
    "exportAlerts",
    tag=_TAG,
    summary="Downloads all alerts of a list: one alert a line, or CSV with a header row.",
    scope=KeyScope.ALERTS_READ,
    item=Alert,
    query=AlertExportQuery,
    example=ALERT,
)
_READ: Final = _operation(
    id="getAlert",
    summary="One alert with its transfer, the draft, and the decisions and actions so far. `reasons` are those of the "
    "score at which the alert opened and add up to `scoreAtAlert`; the detector's own finding is in `evidence`. "
    "An appeal has no such score; its `reasons` are those of the transfer's score.",
    answers={200: AlertDetail},
    refusals=(ErrorCode.ALERT_NOT_FOUND, ErrorCode.UNAVAILABLE),
    answer_example=ALERT_DETAIL,
)
_DECIDE: Final = _deciding(
    id="decideAlert",
    summary="Signs a decision. Of simultaneous decisions only one takes effect. A closed alert is final, and only "
    "a held one can be released. An alert routed `reviewed` needs a person: an API key has to name one in X-Operator. "
    "`warnings` name executed actions that the decision contradicts. Where the policy has `hardNeedsSecondPerson`, "
    "closing or releasing a hard alert is an action `decide_alert` (202) that takes effect when another person "
    "approves it.",
    answers={201: Disposition, 202: Action},
    refusals=(
        ErrorCode.PERSON_REQUIRED,
        ErrorCode.ALERT_NOT_FOUND,
        ErrorCode.ALERT_CLOSED,
        ErrorCode.ALERT_NOT_HELD,
        ErrorCode.ALREADY_DECIDED,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(DecisionRequest),
    example=DECISION_REQUEST,
    answer_example=DISPOSITION,
)
_APPEAL: Final = _deciding(
    id="appealAlert",
    summary="Appeals against a closed alert: opens a new alert, for a person to decide, that refers to it.",
    answers={201: Alert},
    refusals=(
        ErrorCode.ALERT_NOT_FOUND,
        ErrorCode.ALERT_NOT_CLOSED,
        ErrorCode.ALREADY_APPEALED,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(AppealRequest),
    example=APPEAL_REQUEST,
    answer_example=APPEALED,
)
_DISPOSITIONS: Final = _operation(
    id="listDispositionsOfAlert",
    summary="The decisions on one alert, oldest first.",
    answers={200: tuple[Disposition, ...]},
    refusals=(ErrorCode.ALERT_NOT_FOUND,),
    answer_example=[DISPOSITION],
)


@get("/api/alerts", opt=_LIST.as_opt)
async def list_alerts(request: ApiRequest, alerts: NamedDependency[AlertService]) -> Response[AlertPage]:
    page = await alerts.page(principal_of(request.scope), query_of(request.scope, AlertsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/alerts/export", opt=_EXPORT.as_opt)
async def export_alerts(
    request: ApiRequest, alerts: NamedDependency[AlertService], downloads: NamedDependency[Downloads]
) -> ASGIApp:
    principal, query = principal_of(request.scope), query_of(request.scope, AlertExportQuery)
    batches = alerts.export(principal, query)
    return downloads.of(principal, batches, name="alerts", kind=Alert, format_=query.format)


@get("/api/alerts/{alert_id:str}", opt=_READ.as_opt)
async def get_alert(alert_id: FromPath[str], request: ApiRequest, alerts: NamedDependency[AlertService]) -> AlertDetail:
    return await alerts.read(principal_of(request.scope), alert_id)


@post("/api/alerts/{alert_id:str}/appeal", opt=_APPEAL.as_opt)
async def appeal_alert(
    alert_id: FromPath[str], request: ApiRequest, decisions: NamedDependency[DecisionService]
) -> Alert:
    appeal = body_of(request.scope, AppealRequest)
    return await decisions.appeal(principal_of(request.scope), alert_id, appeal, effect_id_of(request.scope))


@get("/api/alerts/{alert_id:str}/dispositions", opt=_DISPOSITIONS.as_opt)
async def list_dispositions_of_alert(
    alert_id: FromPath[str], request: ApiRequest, alerts: NamedDependency[AlertService]
) -> tuple[Disposition, ...]:
    return await alerts.dispositions(principal_of(request.scope), alert_id)


def _alerts(resources: Resources) -> AlertService:
    stores = resources.stores
    history = AlertHistory(
        programs=resources.programs, dispositions=Dispositions(stores.database), actions=Actions(stores.database)
    )
    return AlertService(
        programs=resources.programs,
        alerts=Alerts(stores.database),
        history=history,
        transfers=transfer_service(resources),
        clock=stores.clock,
    )


def _decisions(resources: Resources) -> DecisionService:
    return DecisionService(
        programs=resources.programs,
        alerts=Alerts(resources.stores.database),
        dispositions=Dispositions(resources.stores.database),
        actions=Actions(resources.stores.database),
        command_log=resources.command_log,
    )


AREA: Final = Area(
    routes=(
        list_alerts,
        export_alerts,
        get_alert,
        write_route("/api/alerts/{alert_id:str}/decide", _DECIDE, "decisions", DecisionService.decide),
        appeal_alert,
        list_dispositions_of_alert,
    ),
    provide={"alerts": _alerts, "decisions": _decisions},
)
