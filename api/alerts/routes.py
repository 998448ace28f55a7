"""Alerts over HTTP: the queue, one alert, decisions and appeals."""

from functools import partial
from typing import Final

from clearhold.api.actions.schemas import Action
from clearhold.api.alerts.schemas import (
    ALERT,
    ALERT_DETAIL,
    APPEAL_REQUEST,
    APPEALED,
    DECISION_REQUEST,
    Alert,
    AlertDetail,
    AlertExportQuery,
    AlertPage,
    AlertsQuery,
    AppealRequest,
    DecisionRequest,
)
from clearhold.api.alerts.service import AlertService
from clearhold.api.area import Area
from clearhold.api.dispositions.routes import DISPOSITION, Disposition
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, export_operation, export_route, list_operation, write_route
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_TAG: Final = "alerts"
_PATH: Final = "/api/alerts/{alert_id:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_READ)
_deciding: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_DECIDE)


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


AREA: Final = Area(
    routes=(
        answer_route("/api/alerts", _LIST, _TAG, AlertService.page),
        export_route("/api/alerts/export", _EXPORT, _TAG, AlertService.export),
        answer_route(_PATH, _READ, _TAG, AlertService.read),
        write_route(f"{_PATH}/decide", _DECIDE, _TAG, AlertService.decide),
        write_route(f"{_PATH}/appeal", _APPEAL, _TAG, AlertService.appeal),
        answer_route(f"{_PATH}/dispositions", _DISPOSITIONS, _TAG, AlertService.dispositions),
    ),
    provide={_TAG: AlertService},
)
