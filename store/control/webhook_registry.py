"""Registers and changes endpoints for outbound webhooks, as entries of the tenant's control stream.

Errors  ConflictError for one endpoint too many; NotFoundError for an endpoint that is unknown or out of reach;
        UnavailableError when the log cannot be written
"""

from typing import Final

from msgspec.structs import replace

from clearhold.features.core.entries.actions import PLATFORM
from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.webhooks.delivery import SECRET_BYTES, secret_of
from clearhold.features.webhooks.payloads import EventType
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ControlKind, WebhookChangedEntry, WebhookEntry, WebhookSecretEntry
from clearhold.store.control.registry import Registry
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.ids import IdFactory, random_bytes
from clearhold.store.keys import SecretBox

MOST_ENDPOINTS: Final = 100
"""The most enabled endpoints of a tenant: every event is written once for each."""

TOO_MANY_ENDPOINTS: Final = f"A tenant has at most {MOST_ENDPOINTS} enabled webhook endpoints. Delete one first."
UNKNOWN_ENDPOINT: Final = "Unknown webhook endpoint on this tenant. GET /api/webhooks lists them."


class WebhookRegistry:
    """Writes what ``Tenancy.webhooks`` shows. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, box: SecretBox, clock: Clock, new_id: IdFactory) -> None:
        self._registry, self._endpoints = registry, registry.tenancy.webhooks
        self._box, self._clock, self._new_id = box, clock, new_id

    async def create(
        self,
        principal: Principal,
        *,
        url: str,
        events: tuple[EventType, ...],
        program_id: str | None,
        description: str | None,
        effect_id: str | None,
    ) -> tuple[Endpoint, str | None]:
        """The endpoint and its secret. Repeated with one ``effect_id``, it is the same endpoint, without its secret."""
        async with self._registry.writing:
            known = None if effect_id is None else self._endpoints.find(principal, effect_id)
            if known is not None:
                return known, None
            self._check_room(principal.tenant_id)
            entry = WebhookEntry(
                id=effect_id or self._new_id(),
                program_id=program_id,
                url=url,
                events=events,
                description=description,
                created_at=format_instant(self._clock.now()),
                created_by=principal.operator,
                sealed_secret=self._new_secret(),
            )
            await self._registry.write(principal.tenant_id, ControlKind.WEBHOOK, entry)
            return _with_secret(self.read(principal, entry.id))

    def read(self, principal: Principal, endpoint_id: str) -> Endpoint:
        endpoint = self._endpoints.find(principal, endpoint_id)
        if endpoint is None:
            raise NotFoundError(UNKNOWN_ENDPOINT, ErrorCode.WEBHOOK_NOT_FOUND)
        return endpoint

    async def change(
        self,
        principal: Principal,
        endpoint_id: str,
        *,
        effect_id: str | None = None,
        url: str | None = None,
        events: tuple[EventType, ...] | None = None,
        enabled: bool | None = None,
        description: str | None = None,
        clears_description: bool = False,
    ) -> Endpoint:
        """Replace the given fields; None leaves a field unchanged. A change without effect is not written."""
        async with self._registry.writing:
            known = self.read(principal, endpoint_id)
            if self._registry.tenancy.has_effect(effect_id):
                return known
            if enabled and not known.enabled:
                self._check_room(principal.tenant_id)
            wanted = {"url": url, "events": events, "description": description, "enabled": enabled}
            changed = replace(known, **{name: value for name, value in wanted.items() if value is not None})
            changed = replace(changed, description=None) if clears_description else changed
            if changed != known:
                await self._write(changed, by=principal.operator, effect_id=effect_id)
            return self.read(principal, endpoint_id)

    async def disable(self, endpoint_id: str) -> None:
        """Disable an endpoint that is gone or accepts nothing, as the platform."""
        async with self._registry.writing:
            known = self._endpoints.of_id(endpoint_id)
            if known is not None and known.enabled:
                await self._write(replace(known, enabled=False), by=PLATFORM)

    async def rotate(
        self, principal: Principal, endpoint_id: str, *, overlap_hours: int, effect_id: str | None
    ) -> tuple[Endpoint, str | None]:
        """The endpoint and a new secret; the present one also signs for the overlap. A repeat is without the secret."""
        async with self._registry.writing:
            known = self.read(principal, endpoint_id)
            if self._registry.tenancy.has_effect(effect_id):
                return known, None
            entry = WebhookSecretEntry(
                endpoint_id=known.id,
                sealed_secret=self._new_secret(),
                sealed_replaced=self._box.seal(known.secrets[0].value),
                others_until=self._clock.now() + overlap_hours * HOUR_US,
                effect_id=effect_id,
            )
            await self._registry.write(principal.tenant_id, ControlKind.WEBHOOK_SECRET, entry)
            return _with_secret(self.read(principal, endpoint_id))

    async def _write(self, changed: Endpoint, *, by: str, effect_id: str | None = None) -> None:
        entry = WebhookChangedEntry(
            id=changed.id,
            url=changed.url,
            events=changed.events,
            description=changed.description,
            enabled=changed.enabled,
            changed_at=format_instant(self._clock.now()),
            changed_by=by,
            effect_id=effect_id,
        )
        await self._registry.write(changed.tenant_id, ControlKind.WEBHOOK_CHANGED, entry)

    def _new_secret(self) -> str:
        """A fresh secret, sealed."""
        return self._box.seal(secret_of(random_bytes(SECRET_BYTES)))

    def _check_room(self, tenant_id: str) -> None:
        if len(self._endpoints.enabled.get(tenant_id, ())) >= MOST_ENDPOINTS:
            raise ConflictError(TOO_MANY_ENDPOINTS, ErrorCode.TOO_MANY_WEBHOOKS)


def _with_secret(endpoint: Endpoint) -> tuple[Endpoint, str]:
    return endpoint, endpoint.secrets[0].value
