"""Projection of the control streams: webhook endpoints with their secrets.

Secrets are sealed in the log and open in memory, because each delivery is signed with them. The committer's thread
reads the tenants with endpoints: that mapping is replaced whole, never changed.

Errors  ForbiddenError for an endpoint of the tenant out of the principal's reach
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from clearhold.features.core.errors import ErrorCode, ForbiddenError
from clearhold.features.core.instants import written_instant
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.features.webhooks.delivery import LISTENED_URL
from clearhold.features.webhooks.payloads import EventType
from clearhold.store.control.credentials import Credential
from clearhold.store.control.entries import WebhookChangedEntry, WebhookEntry, WebhookSecretEntry
from clearhold.store.keys import SecretBox

OPERATORS_ONLY: Final = (
    "A webhook endpoint of the whole tenant needs the tenant's operator token; an API key has endpoints of programs."
)


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint of a tenant, enabled since ``enabled_at`` (microseconds); at most two secrets, the newest first."""

    id: str
    tenant_id: str
    program_id: str | None
    url: str
    events: tuple[EventType, ...]
    enabled: bool
    enabled_at: int
    description: str | None
    created_by: str
    created_at: str
    secrets: tuple[Credential, ...]

    @property
    def is_sent_to(self) -> bool:
        """Whether its deliveries are sent now; a listener fetches its deliveries itself."""
        return self.enabled and not self.is_listened_to

    @property
    def is_listened_to(self) -> bool:
        return self.url.startswith(LISTENED_URL)

    def takes(self, event: EventType, program_id: str | None) -> bool:
        """Whether an event of this program, or of the whole tenant, is delivered here."""
        return (not self.events or event in self.events) and self.program_id in {None, program_id}

    def secrets_at(self, at: int) -> tuple[str, ...]:
        """The secrets that sign at an instant, the newest first."""
        return tuple(secret.value for secret in self.secrets if secret.is_valid(at))


Enabled = Mapping[str, tuple[Endpoint, ...]]
"""The enabled endpoints by tenant; a tenant without one is absent."""


class WebhookEndpoints:
    """Changed by the event loop alone. ``enabled`` may be read by any thread."""

    def __init__(self, *, box: SecretBox) -> None:
        self._box = box
        self._endpoints: dict[str, Endpoint] = {}
        self.enabled: Enabled = {}

    def add(self, tenant_id: str, entry: WebhookEntry) -> None:
        fields = asdict(entry)
        secrets = (Credential(self._box.open(fields.pop("sealed_secret"))),)
        enabled_at = written_instant(entry.created_at)
        self._put(Endpoint(**fields, tenant_id=tenant_id, enabled=True, enabled_at=enabled_at, secrets=secrets))

    def change(self, _tenant_id: str, entry: WebhookChangedEntry) -> None:
        endpoint = self._endpoints[entry.id]
        is_new = entry.enabled and not endpoint.enabled
        self._put(
            replace(
                endpoint,
                url=entry.url,
                events=entry.events,
                description=entry.description,
                enabled=entry.enabled,
                enabled_at=written_instant(entry.changed_at) if is_new else endpoint.enabled_at,
            )
        )

    def rotate(self, _tenant_id: str, entry: WebhookSecretEntry) -> None:
        secret = Credential(self._box.open(entry.sealed_secret))
        replaced = Credential(self._box.open(entry.sealed_replaced), entry.others_until)
        self._put(replace(self._endpoints[entry.endpoint_id], secrets=(secret, replaced)))

    def find(self, principal: Principal, endpoint_id: str) -> Endpoint | None:
        """The tenant's endpoint with that id, in upper or lower case; ForbiddenError outside a key's mode."""
        endpoint = self._endpoints.get(endpoint_id.lower())
        if endpoint is None or endpoint.tenant_id != principal.tenant_id:
            return None
        if endpoint.program_id is not None and not principal.finds(endpoint.program_id):
            return None
        require_endpoint_of(principal, endpoint.program_id)
        return endpoint

    def of_id(self, endpoint_id: str) -> Endpoint | None:
        """For the deliveries themselves."""
        return self._endpoints.get(endpoint_id)

    def of_principal(self, principal: Principal) -> tuple[Endpoint, ...]:
        """The endpoints that the principal reaches, newest first, disabled ones too."""
        endpoints = [endpoint for endpoint in self._endpoints.values() if _is_reached(principal, endpoint)]
        return tuple(sorted(endpoints, key=lambda endpoint: (endpoint.created_at, endpoint.id), reverse=True))

    def disabled_count(self) -> int:
        """Of all tenants, for the metrics."""
        return sum(not endpoint.enabled for endpoint in self._endpoints.values())

    def listened_ids(self) -> list[str]:
        """The endpoints of all tenants whose listeners fetch their deliveries; for any thread."""
        return [endpoint.id for endpoint in (*self._endpoints.values(),) if endpoint.is_listened_to]

    def _put(self, endpoint: Endpoint) -> None:
        self._endpoints[endpoint.id] = endpoint
        others = [each for each in self.enabled.get(endpoint.tenant_id, ()) if each.id != endpoint.id]
        of_tenant = (*others, endpoint) if endpoint.enabled else tuple(others)
        enabled = dict(self.enabled) | {endpoint.tenant_id: of_tenant}
        self.enabled = {tenant_id: endpoints for tenant_id, endpoints in enabled.items() if endpoints}


def require_endpoint_of(principal: Principal, program_id: str | None) -> None:
    """Raise ForbiddenError unless the principal may have an endpoint for this program, or for the whole tenant.

    A tenant-wide one is for operators only: it gets events of programs that no single key reaches.
    """
    if program_id is not None:
        principal.require_program(program_id)
    elif principal.kind is PrincipalKind.KEY:
        raise ForbiddenError(OPERATORS_ONLY, ErrorCode.OPERATOR_TOKEN_REQUIRED)


def _is_reached(principal: Principal, endpoint: Endpoint) -> bool:
    if endpoint.tenant_id != principal.tenant_id:
        return False
    if endpoint.program_id is None:
        return principal.kind is not PrincipalKind.KEY
    return principal.reaches(endpoint.program_id)
