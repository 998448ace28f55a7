"""Delivers events to the endpoints of banks: at least once, at most four at a time for each endpoint.

a commit ─▶ queue of its endpoint ─▶ send: body, headers, signatures ─▶ settle: outcome row, next attempt

Deliveries and their outcomes are rows: a start reads again the deliveries without a final outcome. An uncommitted
outcome is lost, and its delivery is sent twice.

Unit    seconds; instants in microseconds
Errors  none: failures are retried and counted
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from time import monotonic
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.core.rows.events import WebhookAttemptRow
from clearhold.features.webhooks import row_events
from clearhold.features.webhooks.delivery import (
    Attempt,
    DeliveryState,
    DeliveryStatus,
    delivery_headers,
    is_given_up,
    redelivered,
    settled,
)
from clearhold.features.webhooks.payloads import EventType
from clearhold.flows.running.supervision import end
from clearhold.flows.webhooks.outbox import WebhookCounts, delivery_rows
from clearhold.flows.webhooks.queue import QUEUE_LIMIT, EndpointQueue, WaitingDelivery
from clearhold.flows.webhooks.row_exchange import RowExchange, WebhookRow
from clearhold.flows.webhooks.sender import Sender
from clearhold.store.clock import Clock
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.duck.webhooks import StoredDelivery, WebhookDeliveries

IN_FLIGHT_OF_ENDPOINT: Final = 4
FIRST_IN_FLIGHT: Final = 1
"""Until an attempt has ended, nothing shows that the receiver is not slow."""

IN_FLIGHT: Final = 192
"""In all, to receivers that answer quickly, and to those without a finished attempt."""

SLOW_IN_FLIGHT: Final = 64
SLOW_S: Final = 2.0
"""A receiver with an attempt of this duration is slow, whatever it answered: it could hold all slots of the others."""

SLOW_FOR_US: Final = 5 * MINUTE_US
"""A slow receiver is quick again after this time without a slow attempt, once its newest one was quick."""

QUEUES_AT_ONCE: Final = 200
"""Endpoints between two pauses for requests: well under a millisecond's work."""

ROUND_EVERY_S: Final = 0.5
STOPPED_WITHIN_S: Final = 1.0
_TRY_AGAIN_US: Final = 5 * SECOND_US

log = structlog.get_logger()


class SendingSlots(NamedTuple):
    """Slots, and a sender with look-ups of names, that only its receivers wait for."""

    free: asyncio.Semaphore
    sender: Sender


class WebhookDispatcher:
    """Belongs to one event loop. ``rows`` takes the commits, once it is attached."""

    def __init__(
        self,
        *,
        tenancy: Tenancy,
        table: WebhookDeliveries,
        sender: Sender,
        slow_sender: Sender,
        disable: Callable[[str], Awaitable[None]],
        clock: Clock,
        counts: WebhookCounts,
        allow_local: bool,
        require_owner: Callable[[], None] = lambda: None,
    ) -> None:
        """``disable`` takes the id of an endpoint; ``allow_local``: endpoints on this machine may be registered;
        ``require_owner`` raises when nothing may be sent now.
        """
        self._require_owner = require_owner
        self._tenancy, self._endpoints, self._table = tenancy, tenancy.webhooks, table
        self._disable, self._clock, self.counts = disable, clock, counts
        self.allow_local = allow_local
        self._wake = asyncio.Event()
        self._changed: set[str] = set()
        self._queues: dict[str, EndpointQueue] = {}
        self._quick = SendingSlots(asyncio.Semaphore(IN_FLIGHT), sender)
        self._slow = SendingSlots(asyncio.Semaphore(SLOW_IN_FLIGHT), slow_sender)
        self._tasks: set[asyncio.Task[None]] = set()
        self.rows = RowExchange(self._take)

    async def run(self) -> None:
        """Run rounds until cancelled; begin when the log of the start is committed."""
        while True:
            await self.round()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ROUND_EVERY_S):
                    while True:
                        await self._wake.wait()
                        await self._begin_changed()

    async def round(self) -> None:
        """Begin the due deliveries that have room, and count; pauses for requests, however many endpoints."""
        for endpoints in self._endpoints.enabled.values():
            for endpoint in endpoints:
                if endpoint.is_sent_to:
                    self._queue_of(endpoint.id)
        waiting, in_flight, first_due = 0, 0, list[int]()
        for number, queue in enumerate([*self._queues.values()], 1):
            if self._is_sent_to(queue.endpoint_id):
                if self._begin_due(queue) or number % QUEUES_AT_ONCE == 0:
                    await asyncio.sleep(0)
            elif not queue.in_flight and not queue.is_loading:
                del self._queues[queue.endpoint_id]  # the tables keep its deliveries
                continue
            waiting, in_flight, due_at = waiting + len(queue), in_flight + queue.in_flight, queue.first_due_at()
            first_due += [] if due_at is None else [due_at]
        self.counts.waiting, self.counts.in_flight = waiting, in_flight
        self.counts.due_since = min(first_due, default=None)

    async def _begin_changed(self) -> None:
        """Between rounds: look only at endpoints with a new or finished delivery."""
        self._wake.clear()
        changed, self._changed = self._changed, set()
        for endpoint_id in changed:
            if self._is_sent_to(endpoint_id) and self._begin_due(self._queue_of(endpoint_id)):
                await asyncio.sleep(0)

    def _note_change(self, endpoint_id: str) -> None:
        self._changed.add(endpoint_id)
        self._wake.set()

    async def stop(self) -> None:
        """Wait shortly for deliveries in flight, write the outcomes, and leave the rest to the next start."""
        tasks = [*self._tasks]
        if tasks:
            await asyncio.wait(tasks, timeout=STOPPED_WITHIN_S)
        await end(tasks)
        await self.rows.stop()

    async def ping(self, endpoint: Endpoint, cause: str) -> StoredDelivery:
        """Enqueue a ``ping``; one cause has one delivery."""
        program_id, now = endpoint.program_id, self._clock.now()
        is_simulated = program_id is not None and (self._tenancy.programs.is_simulated(program_id))
        event = row_events.ping(
            cause,
            tenant_id=endpoint.tenant_id,
            program_id=program_id,
            endpoint_id=endpoint.id,
            at=now,
            mark=row_events.simulated(is_simulated),
        )
        row = delivery_rows(event, [endpoint], self._tenancy, now=now)[0]
        known = await asyncio.to_thread(self._table.find, endpoint.tenant_id, endpoint.id, row.id)
        if known is not None:
            return known
        await self.rows.write_and_confirm(row)
        return StoredDelivery(row, DeliveryState(next_attempt_at=row.created_at))

    async def redeliver(self, endpoint: Endpoint, delivery_id: str) -> StoredDelivery | None:
        """Make a delivery due at once, in any state; None when the endpoint has none of this id."""
        queue = self._queue_of(endpoint.id)
        waiting = queue.find(delivery_id)
        stored = await asyncio.to_thread(self._table.find, endpoint.tenant_id, endpoint.id, delivery_id)
        if stored is None:
            return None
        row = stored.row
        waiting = queue.find(delivery_id) or waiting  # it may have ended meanwhile
        if waiting is None:
            waiting = WaitingDelivery(row.id, row.event, row.event_id, row.created_at, stored.state)
        waiting.state = redelivered(waiting.state, now=self._clock.now())
        waiting.is_uncommitted = True
        state = waiting.state
        if endpoint.is_sent_to and not waiting.is_in_flight:
            queue.put(waiting)
        await self.rows.write_and_confirm(_attempt_row(endpoint, row.id, state, self._clock.now()))
        return StoredDelivery(row, state)

    def _queue_of(self, endpoint_id: str) -> EndpointQueue:
        queue = self._queues.get(endpoint_id)
        if queue is None:
            queue = self._queues[endpoint_id] = EndpointQueue(endpoint_id)
        return queue

    def _is_sent_to(self, endpoint_id: str) -> bool:
        endpoint = self._endpoints.of_id(endpoint_id)
        return endpoint is not None and endpoint.is_sent_to

    def _begin_due(self, queue: EndpointQueue) -> bool:
        """Begin the due deliveries that have room; False if nothing began."""
        now, begun = self._clock.now(), len(self._tasks)
        if queue.wants_to_load(now):
            queue.begin_load()
            self._start(self._load(queue))
        room = FIRST_IN_FLIGHT if queue.was_slow is None else IN_FLIGHT_OF_ENDPOINT
        while queue.in_flight < room and (waiting := queue.take(now)) is not None:
            self._start(self._deliver(queue, waiting))
        return len(self._tasks) > begun

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load(self, queue: EndpointQueue) -> None:
        """Read the waiting deliveries, the first due ones first, and once the endpoint's history."""
        read = None
        try:
            if queue.accepted_at is None and queue.exhausted_at is None:
                past = await asyncio.to_thread(self._table.past_of, queue.endpoint_id)
                queue.accepted_at, queue.exhausted_at = past
            read = await asyncio.to_thread(lambda: queue.prepared(self._table.waiting(queue.endpoint_id, QUEUE_LIMIT)))
        except Exception as error:  # noqa: BLE001 - whatever failed: a later round reads again
            log.warning("webhook_load_failed", endpoint_id=queue.endpoint_id, error=f"{type(error).__name__}: {error}")
        finally:
            queue.end_load(read)
        if read is not None:
            self._note_change(queue.endpoint_id)

    async def _deliver(self, queue: EndpointQueue, waiting: WaitingDelivery) -> None:
        slots = self._slow if queue.is_slow(self._clock.now()) else self._quick
        try:
            async with slots.free:
                endpoint = self._endpoints.of_id(queue.endpoint_id)
                if endpoint is None or not endpoint.is_sent_to:
                    return
                attempt = await self._send(slots.sender, endpoint, queue, waiting)
        except Exception as error:  # noqa: BLE001 - the fault is ours, not the receiver's: it counts as no attempt
            log.warning("webhook_attempt_broke", delivery_id=waiting.id, error=f"{type(error).__name__}: {error}")
            again_at = self._clock.now() + _TRY_AGAIN_US
            waiting.state = msgspec.structs.replace(waiting.state, next_attempt_at=again_at)
        else:
            self._settle(endpoint, queue, waiting, attempt)
            if attempt.error is not None:
                await self._disable_if_given_up(endpoint, queue, attempt)
        finally:
            queue.land(waiting)
            self._note_change(queue.endpoint_id)

    async def _send(
        self, sender: Sender, endpoint: Endpoint, queue: EndpointQueue, waiting: WaitingDelivery
    ) -> Attempt:
        body = waiting.body or await self._read_body(endpoint, queue, waiting)
        now = self._clock.now()
        headers = delivery_headers(
            body,
            event=EventType(waiting.event),
            event_id=waiting.event_id,
            delivery_id=waiting.id,
            secrets=endpoint.secrets_at(now),
            at=now,
        )
        began = monotonic()
        self._require_owner()
        attempt = await sender.send(endpoint.url, headers, body)
        queue.was_slow = monotonic() - began >= SLOW_S
        if queue.was_slow:
            queue.slow_until = self._clock.now() + SLOW_FOR_US
        return attempt

    async def _read_body(self, endpoint: Endpoint, queue: EndpointQueue, waiting: WaitingDelivery) -> bytes:
        """The body, read with those of the next ones, so that a later caller finds its own in memory."""
        async with queue.reading_bodies:
            if waiting.body is None:
                wanted = queue.without_body(self._clock.now())
                places = [(each.id, each.created_at) for each in wanted]
                bodies = await asyncio.to_thread(self._table.bodies, endpoint.id, places)
                queue.keep_bodies((each, bodies[each.id]) for each in wanted if each.id in bodies)
        if waiting.body is None:
            raise LookupError("The body of a delivery is not in the tables.")
        return waiting.body

    def _settle(self, endpoint: Endpoint, queue: EndpointQueue, waiting: WaitingDelivery, attempt: Attempt) -> None:
        """Record the outcome."""
        now = self._clock.now()
        state = waiting.state = settled(waiting.state, attempt, now=now)
        waiting.is_uncommitted = True
        self.rows.write(_attempt_row(endpoint, waiting.id, state, now))
        self.counts.attempts[DeliveryStatus.DELIVERED if attempt.error is None else attempt.error] += 1
        if attempt.error is None:
            queue.accepted_at = now
            return
        log.info("webhook_attempt_failed", delivery_id=waiting.id, endpoint_id=endpoint.id, error=attempt.error.value)
        if state.status is DeliveryStatus.EXHAUSTED:
            queue.exhausted_at = now
            self.counts.exhausted += 1

    async def _disable_if_given_up(self, endpoint: Endpoint, queue: EndpointQueue, attempt: Attempt) -> None:
        """Disable an endpoint that is gone, or has accepted nothing for days."""
        since = max(endpoint.enabled_at, queue.accepted_at or 0)
        has_exhausted = queue.exhausted_at is not None and queue.exhausted_at >= since
        is_due = is_given_up(last_accepted_at=since, has_exhausted=has_exhausted, now=self._clock.now())
        if not (attempt.is_gone or is_due):
            return
        try:
            await self._disable(endpoint.id)
        except UnavailableError as error:  # the next failed attempt tries again
            log.warning("webhook_endpoint_not_disabled", endpoint_id=endpoint.id, error=str(error))
            return
        reason = "gone" if attempt.is_gone else "nothing_accepted"
        self.counts.disabled[reason] += 1
        log.warning("webhook_endpoint_disabled", endpoint_id=endpoint.id, reason=reason)

    def _take(self, row: WebhookRow) -> None:
        """Take a committed row."""
        if isinstance(row, WebhookAttemptRow):
            queue = self._queues.get(row.endpoint_id)
            if queue is not None:
                queue.committed(row.delivery_id, row.version)
        elif self._is_sent_to(row.endpoint_id):
            self._queue_of(row.endpoint_id).offer(row)
            self._note_change(row.endpoint_id)


def _attempt_row(endpoint: Endpoint, delivery_id: str, state: DeliveryState, now: int) -> WebhookAttemptRow:
    return WebhookAttemptRow(
        tenant_id=endpoint.tenant_id,
        endpoint_id=endpoint.id,
        delivery_id=delivery_id,
        settled_at=now,
        **msgspec.to_builtins(state),
    )
