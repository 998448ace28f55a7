"""Endpoints for outbound webhooks, and the deliveries to them.

Only operators manage endpoints of the whole tenant, which get events of simulated and bank-sourced programs. A key
manages the endpoints of the programs within its reach.

Errors  NotFoundError for an endpoint, delivery or program that is not this tenant's; ForbiddenError for one out of a
        key's reach; InvalidRequestError for a URL that the service does not deliver to
"""

from collections.abc import Sequence
from typing import Final

import structlog
from anyio import to_thread
from msgspec import UNSET

from clearhold.api.area import Resources
from clearhold.api.lists.lists import to_answer
from clearhold.api.webhooks.schemas import (
    DeliveriesQuery,
    NewWebhook,
    WebhookChange,
    WebhookCreated,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookRotation,
    WebhookSecret,
    to_delivery,
)
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.principal import Principal
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
        return tuple(map(self._delivery, await to_thread.run_sync(self._page, endpoint, query)))

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
