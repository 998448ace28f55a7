"""The deliveries that follow from the rows of a commit, written in its transaction. And the metrics of webhooks, by
result, never by tenant, endpoint or id.

rows of a commit ─▶ of tenants with an endpoint ─▶ event ─▶ one delivery for each endpoint that takes it

A tenant without an endpoint costs one dictionary lookup; one with endpoints costs a mask over each table of their
events. A rebuild commits without an outbox, so deliveries are not repeated.

Errors  none: an event that cannot be built is logged and counted, and its rows are committed without it
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.catalogue.kris import SnapshotCause
from clearhold.features.core.canonical import Chain, derived_id
from clearhold.features.core.entries.actions import ActionStatus
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.principal import Simulated
from clearhold.features.core.rows.alerts import ActionRow, AlertBodyRow, AlertRow, BackfillRow, DispositionRow, LabelRow
from clearhold.features.core.rows.events import PreflightRow, TransferRow, WebhookDeliveryRow
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.webhooks import row_events
from clearhold.features.webhooks.delivery import AttemptError, DeliveryStatus
from clearhold.features.webhooks.payloads import MAX_BODY_BYTES, EventType, WebhookEvent
from clearhold.flows.running.counts import counter, gauge, zeros
from clearhold.store.clock import Clock
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.control.webhooks import Enabled, Endpoint
from clearhold.store.tables import RowTables, row_tables, rows_in


class WebhookCounts:
    """The committer's thread changes ``events_lost``, the event loop all others."""

    def __init__(self) -> None:
        self.attempts: Counter[str] = zeros((DeliveryStatus.DELIVERED, *AttemptError))
        self.events_lost = 0
        self.waiting = 0
        self.in_flight = 0
        self.due_since: int | None = None  # when the oldest due delivery became due, or None
        self.exhausted = 0
        self.disabled: Counter[str] = zeros(("gone", "nothing_accepted"))  # endpoints, by reason


class WebhookCollector(Collector):
    """``disabled`` counts the endpoints that are disabled now."""

    def __init__(self, counts: WebhookCounts, disabled: Callable[[], int], *, clock: Clock) -> None:
        self._counts, self._disabled, self._clock = counts, disabled, clock

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield counter("clearhold_webhook_attempts", "Attempts to deliver.", counts.attempts, "result")
        given_up = "Endpoints disabled by the service itself."
        yield counter("clearhold_webhook_endpoints_given_up", given_up, counts.disabled, "reason")
        lost = "Events that could not be built, and were not delivered."
        yield counter("clearhold_webhook_events_lost", lost, counts.events_lost)
        waiting = "Waiting deliveries in memory."
        yield gauge("clearhold_webhook_deliveries_waiting", waiting, counts.waiting)
        overdue = "Age of the oldest due delivery."
        since = counts.due_since
        overdue_s = 0.0 if since is None else max(0, self._clock.now() - since) / SECOND_US
        yield gauge("clearhold_webhook_overdue_seconds", overdue, overdue_s)
        exhausted = "Deliveries given up after their last attempt."
        yield counter("clearhold_webhook_deliveries_exhausted", exhausted, counts.exhausted)
        in_flight = "Attempts under way."
        yield gauge("clearhold_webhook_deliveries_in_flight", in_flight, counts.in_flight)
        disabled = "Disabled endpoints."
        yield gauge("clearhold_webhook_endpoints_disabled", disabled, self._disabled())


Row = TypeVar("Row", bound=msgspec.Struct)
_NO_ROWS: Final[RowTables] = {}

log = structlog.get_logger()


class _Commit(NamedTuple):
    """The rows of a commit, and the tenants with endpoints for an event type."""

    tables: RowTables
    enabled: Enabled

    def of(self, kind: type[Row], *events: EventType, where: Callable[[pa.Table], Any] | None = None) -> list[Row]:
        """The rows of a type for tenants with endpoints for these events, narrowed by a further mask."""
        table = self.tables.get(kind.__name__)
        if table is None or not (tenants := self._tenants_for(events)):
            return []
        mask = pc.is_in(table["tenant_id"], pa.array(tenants, pa.string()))
        if where is not None:
            mask = pc.and_kleene(mask, where(table))
        chosen = table.filter(mask)
        return [*rows_in(kind, chosen)] if chosen.num_rows else []

    def keys(self, kind: type[msgspec.Struct], *names: str) -> set[tuple[Any, ...]]:
        """The values of the columns in all rows of a type."""
        table = self.tables.get(kind.__name__)
        return set() if table is None else set(zip(*(table[name].to_pylist() for name in names), strict=True))

    def _tenants_for(self, events: Iterable[EventType]) -> list[str]:
        wanted = set(events)
        return [
            tenant_id
            for tenant_id, endpoints in self.enabled.items()
            if any(not each.events or wanted.intersection(each.events) for each in endpoints)
        ]


Make = Callable[[Simulated], WebhookEvent]
"""Builds an event, given the mark of its program."""

Source = Callable[[_Commit], Iterator[tuple[str, Make]]]
"""The events that follow from one type of rows, each with its program."""


def _each(kind: type[msgspec.Struct], event: EventType, build: Callable[[Any, Simulated], WebhookEvent]) -> Source:
    """An event for each row of a type."""

    def events(commit: _Commit) -> Iterator[tuple[str, Make]]:
        rows: list[Any] = commit.of(kind, event)
        for row in rows:
            yield row.program_id, partial(build, row)

    return events


def _alerts(commit: _Commit) -> Iterator[tuple[str, Make]]:
    """The first version of an alert is committed with its body; of several in this commit the first counts."""
    opened = commit.keys(AlertBodyRow, "alert_id")
    for row in commit.of(AlertRow, EventType.ALERT_OPENED):
        if (row.id,) in opened:
            yield row.program_id, partial(row_events.alert_opened, row)


def _is_of_actions(table: pa.Table) -> Any:
    return pc.equal(table["chain"], pa.scalar(Chain.ACTIONS.value))


def _actions(commit: _Commit) -> Iterator[tuple[str, Make]]:
    """The first version of an action has the link of its request beside it, an approved one that of its approval."""
    events = (EventType.ACTION_CREATED, EventType.ACTION_APPROVED)
    facts = commit.of(ChainFactRow, *events, where=_is_of_actions)
    at = {(fact.id, fact.offset): fact.created_at for fact in facts}
    for row in commit.of(ActionRow, *events):
        if (row.id, row.offset) in at:
            yield row.program_id, partial(row_events.action_created, row)
        approved_at = at.get((derived_id(row.id, ActionStatus.APPROVED.value), row.offset))
        if approved_at is not None:
            yield row.program_id, partial(row_events.action_approved, row, approved_at)


def _transfers(commit: _Commit) -> Iterator[tuple[str, Make]]:
    """The versions that were scored by their own entry, without those of a backfill, which are not news."""
    rescored = commit.keys(BackfillRow, "shard", "offset")
    scored = commit.of(
        TransferRow, EventType.TRANSFER_SCORED, where=lambda table: pc.equal(table["scored_offset"], table["offset"])
    )
    for row in scored:
        if (row.shard, row.offset) not in rescored:
            yield row.program_id, partial(row_events.transfer_scored, row)


def _kris(commit: _Commit) -> Iterator[tuple[str, Make]]:
    for row in commit.of(KriSnapshotRow, EventType.KRI_SNAPSHOT):
        if row.cause == SnapshotCause.HISTORY.value:  # days that passed before the program was here
            continue
        yield row.program_id, partial(row_events.kri_snapshot, row)


_SOURCES: Final[tuple[Source, ...]] = (
    _alerts,
    _each(DispositionRow, EventType.DISPOSITION_SIGNED, row_events.disposition_signed),
    _actions,
    _each(PreflightRow, EventType.PREFLIGHT_SCORED, row_events.preflight_scored),
    _transfers,
    _each(LabelRow, EventType.LABEL_RECORDED, row_events.label_recorded),
    _kris,
)


class WebhookOutbox:
    """Used by one thread; a second one changes the tenancy, which is read once a commit."""

    def __init__(self, tenancy: Tenancy, *, clock: Clock, counts: WebhookCounts) -> None:
        self._tenancy, self._clock, self._counts = tenancy, clock, counts

    def deliveries_for(self, tables: RowTables) -> RowTables:
        """The deliveries to be committed with these rows."""
        enabled = self._tenancy.webhooks.enabled
        if not enabled:
            return _NO_ROWS
        commit = _Commit(tables, enabled)
        deliveries: dict[str, WebhookDeliveryRow] = {}
        for source in _SOURCES:
            for program_id, make in source(commit):
                for row in self._deliveries_of(program_id, make, enabled):
                    deliveries.setdefault(row.id, row)
        return row_tables({WebhookDeliveryRow: [*deliveries.values()]})

    def _deliveries_of(self, program_id: str, make: Make, enabled: Enabled) -> list[WebhookDeliveryRow]:
        is_simulated = self._tenancy.programs.is_simulated(program_id)
        try:
            event = make(row_events.simulated(is_simulated))
            endpoints = [each for each in enabled[event.tenant_id] if each.takes(event.type, event.program_id)]
            return delivery_rows(event, endpoints, self._tenancy, now=self._clock.now()) if endpoints else []
        except Exception as error:  # noqa: BLE001 - the rows of the commit exist nowhere else: they come first
            self._counts.events_lost += 1
            log.error("webhook_event_lost", program_id=program_id, error=f"{type(error).__name__}: {error}")  # noqa: TRY400
            return []


def delivery_rows(
    event: WebhookEvent, endpoints: Iterable[Endpoint], tenancy: Tenancy, *, now: int
) -> list[WebhookDeliveryRow]:
    """One delivery of an event for each endpoint."""
    tenant = tenancy.tenants.find(event.tenant_id)
    assert tenant is not None, "an event belongs to a tenant"
    body = row_events.body_of(event, tenant.slug)
    if len(body.encode()) > MAX_BODY_BYTES:
        raise ValueError(f"The body of an event is longer than {MAX_BODY_BYTES} bytes.")
    return [
        WebhookDeliveryRow(
            tenant_id=event.tenant_id,
            program_id=event.program_id or event.tenant_id,
            id=row_events.delivery_id_of(event.id, endpoint.id),
            endpoint_id=endpoint.id,
            event=event.type.value,
            event_id=event.id,
            body=body,
            created_at=now,
        )
        for endpoint in endpoints
    ]
