"""Outbound webhooks of a running service: the outbox of its commits, and the dispatcher on its event loop."""

from typing import Final

import duckdb

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.flows.webhooks.dispatcher import WebhookDispatcher
from clearhold.flows.webhooks.outbox import WebhookCollector, WebhookCounts, WebhookOutbox
from clearhold.flows.webhooks.sender import GuardedNetwork, Resolver, Sender
from clearhold.store.clock import Clock
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.duck.webhooks import WebhookDeliveries

KEPT_US: Final = 30 * DAY_US
"""Ended deliveries can be read, and sent again, for this long."""

KEPT_LISTENED_US: Final = DAY_US
"""Deliveries to a listener are never attempted, so they do not end; they can be read for this long."""

_FORGET_EVERY_US: Final = HOUR_US


class Webhooks:
    """``allow_local``: deliver to endpoints on this machine too."""

    def __init__(
        self,
        tenancy: Tenancy,
        registry: WebhookRegistry,
        database: duckdb.DuckDBPyConnection,
        *,
        clock: Clock,
        allow_local: bool,
    ) -> None:
        counts = WebhookCounts()
        self.registry, self._table, self._clock = registry, WebhookDeliveries(database), clock
        self._endpoints = tenancy.webhooks
        self._forgotten_at = 0
        self.outbox = WebhookOutbox(tenancy, clock=clock, counts=counts)
        self.collector = WebhookCollector(counts, tenancy.webhooks.disabled_count, clock=clock)
        self.dispatcher = WebhookDispatcher(
            tenancy=tenancy,
            table=self._table,
            sender=Sender(GuardedNetwork(Resolver(), allow_local=allow_local)),
            disable=registry.disable,
            clock=clock,
            counts=counts,
            allow_local=allow_local,
        )

    def forget_when_due(self) -> None:
        """Delete deliveries past their retention, once an hour; for the maintenance thread."""
        now = self._clock.now()
        if now - self._forgotten_at >= _FORGET_EVERY_US:
            self._forgotten_at = now
            self._table.forget_settled(now - KEPT_US)
            listened = self._endpoints.listened_ids()
            if listened:
                self._table.forget_of(listened, now - KEPT_LISTENED_US)
