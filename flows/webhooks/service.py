"""Outbound webhooks in a running service: the outbox of its commits, and the dispatcher on its event loop."""

import duckdb

from flows.webhooks.collector import WebhookCollector
from flows.webhooks.counts import WebhookCounts
from flows.webhooks.dispatcher import WebhookDispatcher
from flows.webhooks.network import GuardedNetwork, Resolver
from flows.webhooks.outbox import WebhookOutbox
from flows.webhooks.sender import Sender
from store.clock import Clock
from store.control.tenancy import Tenancy
from store.control.webhook_registry import WebhookRegistry
from store.duck.webhooks import WebhookDeliveries


class Webhooks:
    """``allow_local``: endpoints on this machine are delivered to."""

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
        self.registry = registry
        self.outbox = WebhookOutbox(tenancy, clock=clock, counts=counts)
        self.collector = WebhookCollector(counts, tenancy.webhooks.disabled_count)
        self.dispatcher = WebhookDispatcher(
            tenancy=tenancy,
            table=WebhookDeliveries(database),
            sender=Sender(GuardedNetwork(Resolver(), allow_local=allow_local)),
            disable=registry.disable,
            clock=clock,
            counts=counts,
            allow_local=allow_local,
        )
