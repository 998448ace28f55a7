"""Webhook endpoints over HTTP."""

from functools import partial
from typing import Final

from litestar import delete, get, patch

from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.webhooks.schemas import (
    CREATED,
    DELIVERY,
    ENDPOINT,
    EVENTS,
    EXAMPLES,
    NEW_WEBHOOK,
    SECRET,
    DeliveriesQuery,
    NewWebhook,
    WebhookChange,
    WebhookCreated,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvents,
    WebhookRotation,
    WebhookSecret,
)
from clearhold.api.webhooks.service import WebhookService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.webhooks.payloads import EventType

_TAG: Final = "webhooks"
_ENDPOINT: Final = "/api/webhooks/{webhook_id:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.WEBHOOKS)
_OF_ENDPOINT: Final = (ErrorCode.OPERATOR_TOKEN_REQUIRED, ErrorCode.WEBHOOK_NOT_FOUND)

_CREATE: Final = _operation(
    id="createWebhook",
    summary="Registers an endpoint for events. Only this answer has its secret.",
    answers={201: WebhookCreated},
    refusals=(ErrorCode.OPERATOR_TOKEN_REQUIRED, ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.TOO_MANY_WEBHOOKS),
    body=RequestSchema(NewWebhook),
    example=NEW_WEBHOOK,
    answer_example=CREATED,
    shown_once=("secret",),
)
_LIST: Final = _operation(
    id="listWebhooks",
    summary="The endpoints that the caller reaches, newest first, disabled ones too.",
    answers={200: tuple[WebhookEndpoint, ...]},
    answer_example=[ENDPOINT],
)
_EVENTS: Final = _operation(
    id="listWebhookEvents",
    summary="The names of all events, with one payload of each.",
    answers={200: WebhookEvents},
    answer_example=EVENTS,
)
_CHANGE: Final = _operation(
    id="changeWebhook",
    summary="Changes an endpoint, or enables it again: waiting deliveries are then sent.",
    answers={200: WebhookEndpoint},
    refusals=(*_OF_ENDPOINT, ErrorCode.TOO_MANY_WEBHOOKS),
    body=RequestSchema(WebhookChange),
    example={"enabled": True},
    answer_example=ENDPOINT,
)
_DISABLE: Final = _operation(
    id="deleteWebhook",
    summary="Disables an endpoint. It stays listed, and its deliveries stay readable.",
    answers={200: WebhookEndpoint},
    refusals=_OF_ENDPOINT,
    answer_example=ENDPOINT | {"enabled": False},
)
_ROTATE: Final = _operation(
    id="rotateWebhookSecret",
    summary="Creates a new secret. The present one also signs, for overlapHours.",
    answers={201: WebhookSecret},
    refusals=_OF_ENDPOINT,
    body=RequestSchema(WebhookRotation),
    body_required=False,
    example={"overlapHours": 24},
    answer_example={"id": CREATED["id"], "secret": SECRET},
    shown_once=("secret",),
)
_DELIVERIES: Final = _operation(
    id="listWebhookDeliveries",
    summary="The deliveries to an endpoint, newest first; with `before`, those older than that delivery.",
    answers={200: tuple[WebhookDelivery, ...]},
    refusals=(*_OF_ENDPOINT, ErrorCode.DELIVERY_NOT_FOUND),
    query=RequestSchema(DeliveriesQuery),
    answer_example=[DELIVERY],
)
_REDELIVER: Final = _operation(
    id="redeliver",
    summary="Makes a delivery due at once, whatever its status. Its attempts stay counted.",
    answers={200: WebhookDelivery},
    refusals=(
        ErrorCode.OPERATOR_TOKEN_REQUIRED,
        ErrorCode.WEBHOOK_NOT_FOUND,
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.NOT_CONFIRMED,
    ),
    answer_example=DELIVERY | {"status": "pending"},
)
_TEST: Final = _operation(
    id="testWebhook",
    summary="Sends a `ping` to an endpoint, whatever events it takes.",
    answers={200: WebhookDelivery},
    refusals=(*_OF_ENDPOINT, ErrorCode.NOT_CONFIRMED),
    answer_example=DELIVERY | {"event": "ping", "payload": EVENTS["examples"]["ping"], "status": "pending"},
)


@get("/api/webhooks/events", opt=_EVENTS.as_opt)
async def list_webhook_events() -> WebhookEvents:
    return WebhookEvents(events=tuple(EventType), examples=EXAMPLES)


AREA: Final = Area(
    routes=(
        write_route("/api/webhooks", _CREATE, _TAG, WebhookService.create),
        answer_route("/api/webhooks", _LIST, _TAG, WebhookService.list),
        list_webhook_events,
        write_route(_ENDPOINT, _CHANGE, _TAG, WebhookService.change, patch),
        write_route(_ENDPOINT, _DISABLE, _TAG, WebhookService.disable, delete),
        write_route(f"{_ENDPOINT}/rotate", _ROTATE, _TAG, WebhookService.rotate),
        answer_route(f"{_ENDPOINT}/deliveries", _DELIVERIES, _TAG, WebhookService.deliveries),
        write_route(
            f"{_ENDPOINT}/deliveries/{{delivery_id:str}}/redeliver", _REDELIVER, _TAG, WebhookService.redeliver
        ),
        write_route(f"{_ENDPOINT}/test", _TEST, _TAG, WebhookService.ping),
    ),
    provide={_TAG: WebhookService},
)
