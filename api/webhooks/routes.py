"""Webhook endpoints over HTTP."""

from functools import partial
from typing import Final

from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, optional_body_of, principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.webhooks.examples import CREATED, DELIVERY, ENDPOINT, EVENTS, NEW_WEBHOOK, SECRET
from clearhold.api.webhooks.schemas import (
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
from clearhold.store.duck.webhooks import WebhookDeliveries

_operation: Final = partial(Operation, tag="webhooks", access=Access.BEARER, scope=KeyScope.WEBHOOKS)
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


@post("/api/webhooks", opt=_CREATE.as_opt)
async def create_webhook(request: ApiRequest, webhooks: NamedDependency[WebhookService]) -> WebhookCreated:
    return await webhooks.create(
        principal_of(request.scope), body_of(request.scope, NewWebhook), effect_id_of(request.scope)
    )


@get("/api/webhooks", opt=_LIST.as_opt)
async def list_webhooks(request: ApiRequest, webhooks: NamedDependency[WebhookService]) -> tuple[WebhookEndpoint, ...]:
    return webhooks.list(principal_of(request.scope))


@get("/api/webhooks/events", opt=_EVENTS.as_opt)
async def list_webhook_events(webhooks: NamedDependency[WebhookService]) -> WebhookEvents:
    return webhooks.events()


@patch("/api/webhooks/{webhook_id:str}", opt=_CHANGE.as_opt)
async def change_webhook(
    webhook_id: FromPath[str], request: ApiRequest, webhooks: NamedDependency[WebhookService]
) -> WebhookEndpoint:
    change = body_of(request.scope, WebhookChange)
    return await webhooks.change(principal_of(request.scope), webhook_id, change, effect_id_of(request.scope))


@delete("/api/webhooks/{webhook_id:str}", status_code=200, opt=_DISABLE.as_opt)
async def disable_webhook(
    webhook_id: FromPath[str], request: ApiRequest, webhooks: NamedDependency[WebhookService]
) -> WebhookEndpoint:
    return await webhooks.disable(principal_of(request.scope), webhook_id, effect_id_of(request.scope))


@post("/api/webhooks/{webhook_id:str}/rotate", opt=_ROTATE.as_opt)
async def rotate_webhook_secret(
    webhook_id: FromPath[str], request: ApiRequest, webhooks: NamedDependency[WebhookService]
) -> WebhookSecret:
    rotation = optional_body_of(request.scope, WebhookRotation)
    return await webhooks.rotate(
        principal_of(request.scope), webhook_id, rotation.overlap_hours, effect_id_of(request.scope)
    )


@get("/api/webhooks/{webhook_id:str}/deliveries", opt=_DELIVERIES.as_opt)
async def list_webhook_deliveries(
    webhook_id: FromPath[str], request: ApiRequest, webhooks: NamedDependency[WebhookService]
) -> tuple[WebhookDelivery, ...]:
    query = query_of(request.scope, DeliveriesQuery)
    return await webhooks.deliveries(principal_of(request.scope), webhook_id, query)


@post("/api/webhooks/{webhook_id:str}/deliveries/{delivery_id:str}/redeliver", status_code=200, opt=_REDELIVER.as_opt)
async def redeliver(
    webhook_id: FromPath[str],
    delivery_id: FromPath[str],
    request: ApiRequest,
    webhooks: NamedDependency[WebhookService],
) -> WebhookDelivery:
    return await webhooks.redeliver(principal_of(request.scope), webhook_id, delivery_id)


@post("/api/webhooks/{webhook_id:str}/test", status_code=200, opt=_TEST.as_opt)
async def send_test(
    webhook_id: FromPath[str], request: ApiRequest, webhooks: NamedDependency[WebhookService]
) -> WebhookDelivery:
    return await webhooks.ping(principal_of(request.scope), webhook_id, effect_id_of(request.scope))


def _webhooks(resources: Resources) -> WebhookService:
    stores = resources.stores
    return WebhookService(
        programs=resources.programs,
        registry=resources.webhook_registry,
        endpoints=stores.registry.tenancy.webhooks,
        deliveries=WebhookDeliveries(stores.database),
        dispatch=resources.webhook_dispatch,
        new_id=stores.new_id,
    )


AREA: Final = Area(
    routes=(
        create_webhook,
        list_webhooks,
        list_webhook_events,
        change_webhook,
        disable_webhook,
        rotate_webhook_secret,
        list_webhook_deliveries,
        redeliver,
        send_test,
    ),
    provide={"webhooks": _webhooks},
)
