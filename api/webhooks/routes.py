"""Endpoints for outbound webhooks, and the deliveries to them.

Only operators manage endpoints of the whole tenant, which get events of simulated and bank-sourced programs. A key
manages the endpoints of the programs within its reach.

Errors  NotFoundError for an endpoint, delivery or program that is not this tenant's; ForbiddenError for one out of a
        key's reach; InvalidRequestError for a URL that the service does not deliver to
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog
from litestar import delete, get, patch
from msgspec import UNSET

from clearhold.api.area import Area, Resources
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.lists.lists import to_answer
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
    to_delivery,
)
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.webhooks.delivery import endpoint_url
from clearhold.features.webhooks.payloads import EventType
from clearhold.store.control.webhooks import Endpoint, require_endpoint_of
from clearhold.store.duck.webhooks import StoredDelivery, WebhookDeliveries

UNKNOWN_DELIVERY: Final = "Unknown delivery of this endpoint. GET /api/webhooks/{webhookId}/deliveries lists them."

log = structlog.get_logger()


class WebhookService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._registry, self._new_id = resources.programs, resources.webhook_registry, stores.new_id
        self._endpoints, self._dispatch = stores.registry.tenancy.webhooks, resources.webhook_dispatch
        self._deliveries = WebhookDeliveries(stores.database)

    async def create(self, principal: Principal, request: NewWebhook, effect_id: str | None) -> WebhookCreated:
        """The endpoint with its secret; a repeated ``effect_id`` returns the first one, without its secret."""
        program_id = self._programs.named(principal, request.program_id)
        require_endpoint_of(principal, program_id)
        endpoint, secret = await self._registry.create(
            principal,
            url=self._url(request.url),
            events=_events(request.events),
            program_id=program_id,
            description=request.description,
            effect_id=effect_id,
        )
        log.info("webhook_created", endpoint_id=endpoint.id, operator=principal.operator)
        return WebhookCreated(id=endpoint.id, url=endpoint.url, events=endpoint.events, secret=secret)

    async def list(self, principal: Principal) -> tuple[WebhookEndpoint, ...]:
        """Newest first, disabled ones too."""
        return tuple(to_answer(each, WebhookEndpoint) for each in self._endpoints.of_principal(principal))

    async def change(
        self, principal: Principal, webhook_id: str, request: WebhookChange, effect_id: str | None
    ) -> WebhookEndpoint:
        """Changes the given fields."""
        endpoint = await self._registry.change(
            principal,
            webhook_id,
            effect_id=effect_id,
            url=None if request.url is UNSET else self._url(request.url),
            events=None if request.events is UNSET else _events(request.events),
            enabled=None if request.enabled is UNSET else request.enabled,
            description=None if request.description is UNSET else request.description,
            clears_description=request.description is None,
        )
        log.info("webhook_changed", endpoint_id=endpoint.id, operator=principal.operator)
        return to_answer(endpoint, WebhookEndpoint)

    async def disable(self, principal: Principal, webhook_id: str, effect_id: str | None) -> WebhookEndpoint:
        """Nothing is delivered from now on; undelivered events wait."""
        endpoint = await self._registry.change(principal, webhook_id, effect_id=effect_id, enabled=False)
        log.info("webhook_disabled", endpoint_id=endpoint.id, operator=principal.operator)
        return to_answer(endpoint, WebhookEndpoint)

    async def rotate(
        self, principal: Principal, webhook_id: str, request: WebhookRotation, effect_id: str | None
    ) -> WebhookSecret:
        """A new secret; the present one also signs for the overlap."""
        endpoint, secret = await self._registry.rotate(
            principal, webhook_id, overlap_hours=request.overlap_hours, effect_id=effect_id
        )
        log.info("webhook_secret_rotated", endpoint_id=endpoint.id, operator=principal.operator)
        return WebhookSecret(id=endpoint.id, secret=secret)

    async def deliveries(
        self, principal: Principal, webhook_id: str, query: DeliveriesQuery
    ) -> tuple[WebhookDelivery, ...]:
        """Newest first."""
        endpoint = self._registry.read(principal, webhook_id)
        return tuple(map(self._delivery, await in_reader(self._page, endpoint, query)))

    async def redeliver(self, principal: Principal, webhook_id: str, delivery_id: str) -> WebhookDelivery:
        """Makes the delivery due at once; its attempts stay counted."""
        endpoint = self._registry.read(principal, webhook_id)
        stored = await self._dispatch.redeliver(endpoint, delivery_id.lower())
        if stored is None:
            raise NotFoundError(UNKNOWN_DELIVERY, ErrorCode.DELIVERY_NOT_FOUND)
        log.info("webhook_redelivery", delivery_id=stored.row.id, operator=principal.operator)
        return self._delivery(stored)

    async def ping(self, principal: Principal, webhook_id: str, effect_id: str | None) -> WebhookDelivery:
        """A ``ping`` to the endpoint; the same ``effect_id`` sends one."""
        endpoint = self._registry.read(principal, webhook_id)
        return self._delivery(await self._dispatch.ping(endpoint, effect_id or self._new_id()))

    def _page(self, endpoint: Endpoint, query: DeliveriesQuery) -> Sequence[StoredDelivery]:
        before = None
        if query.before is not None:
            last = self._deliveries.find(endpoint.tenant_id, endpoint.id, str(query.before))
            if last is None:
                raise NotFoundError(UNKNOWN_DELIVERY, ErrorCode.DELIVERY_NOT_FOUND)
            before = last.row
        return self._deliveries.list_newest(endpoint.tenant_id, endpoint.id, query.limit, before=before)

    def _url(self, text: str) -> str:
        try:
            return endpoint_url(text, allow_local=self._dispatch.allow_local)
        except ValueError as error:
            raise invalid("url", str(error), FieldCode.MALFORMED) from None

    def _delivery(self, stored: StoredDelivery) -> WebhookDelivery:
        return self._programs.marked(to_delivery(stored), stored.row.program_id)


def _events(names: tuple[str, ...]) -> tuple[EventType, ...]:
    return tuple(map(EventType, dict.fromkeys(names)))


_TAG: Final = "webhooks"
_ENDPOINT: Final = "/api/webhooks/{webhook_id:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.WEBHOOKS)
_OF_ENDPOINT: Final = (ErrorCode.OPERATOR_TOKEN_REQUIRED, ErrorCode.WEBHOOK_NOT_FOUND)

_CREATE: Final = _operation(
    id="createWebhook",
    summary="Registers an endpoint for events. Only this answer has its secret.",
    answers={201: WebhookCreated},
    refusals=(ErrorCode.OPERATOR_TOKEN_REQUIRED, ErrorCode.TOO_MANY_WEBHOOKS),
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
