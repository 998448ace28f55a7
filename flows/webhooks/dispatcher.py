"""Delivers events to the endpoints of banks: at least once, at most four at a time for each endpoint.

a commit ─▶ queue of its endpoint ─▶ prepare: body, headers, signatures ─▶ send ─▶ settle: outcome row, next attempt

A delivery and its outcomes are rows, so a crash forgets nothing: at the start, what no outcome ended is read again. An
outcome that was not committed is lost, and its delivery is sent twice.

Unit    seconds; instants in microseconds
Errors  none: what fails is tried again, and counted
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from features.core.errors import ErrorCode, UnavailableError
from features.core.instants import SECOND_US
from features.core.rows.webhooks import WebhookAttemptRow, WebhookDeliveryRow
from features.core.vocabulary import ProgramSource
from features.webhooks import row_events
from features.webhooks.delivery import Attempt, DeliveryState, DeliveryStatus, is_given_up, redelivered, settled
from features.webhooks.event_types import EventType
from features.webhooks.signature import delivery_headers
from flows.webhooks.counts import WebhookCounts
from flows.webhooks.outbox import delivery_rows
from flows.webhooks.queue import QUEUE_LIMIT, EndpointQueue, Waiting
from flows.webhooks.sender import Sender
from store.clock import Clock
from store.control.tenancy import Tenancy
from store.control.webhooks import Endpoint
from store.duck.webhooks import StoredDelivery, WebhookDeliveries
from store.tables.row_tables import RowTables, row_tables, rows_of

IN_FLIGHT_OF_ENDPOINT: Final = 4
IN_FLIGHT: Final = 256
"""In all. The slots are given in turn, and an endpoint asks for four at most: a slow one starves no other."""

ROUND_EVERY_S: Final = 0.5
CONFIRMED_WITHIN_S: Final = 5.0
NOT_CONFIRMED: Final = "The request was accepted but is not confirmed yet. Repeat it with the same Idempotency-Key."
STOPPED_WITHIN_S: Final = 1.0
_TRY_AGAIN_US: Final = 5 * SECOND_US

log = structlog.get_logger()

Commit = Callable[[RowTables], None]
"""Has rows committed; may wait, so it is called on a worker thread."""

Disable = Callable[[str], Awaitable[None]]
"""Disables the endpoint of this id."""


class Prepared(NamedTuple):
    """What one attempt sends."""

    url: str
    headers: dict[str, str]
    body: bytes


class WebhookDispatcher:
    """Belongs to one event loop, but for ``on_commit``."""

    def __init__(
        self,
        *,
        tenancy: Tenancy,
        table: WebhookDeliveries,
        sender: Sender,
        disable: Disable,
        clock: Clock,
        counts: WebhookCounts,
        allow_local: bool,
    ) -> None:
        """``allow_local``: endpoints on this machine may be registered."""
        self._tenancy, self._endpoints, self._table, self._sender = tenancy, tenancy.webhooks, table, sender
        self._disable, self._clock, self.counts = disable, clock, counts
        self._commit: Commit | None = None
        self.allow_local = allow_local
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._changed: set[str] = set()
        self._queues: dict[str, EndpointQueue] = {}
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unwritten: list[WebhookAttemptRow | WebhookDeliveryRow] = []
        self._writing: asyncio.Task[None] | None = None
        self._confirmations: dict[tuple[str, int], list[asyncio.Future[None]]] = {}

    def attach(self, commit: Commit) -> None:
        """From now on commits are heard of; what was committed before is read from the tables."""
        self._loop, self._commit = asyncio.get_running_loop(), commit

    async def run(self) -> None:
        """Round after round, until cancelled; begin when what the log held at the start is committed."""
        while True:
            self.round()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ROUND_EVERY_S):
                    while True:
                        await self._wake.wait()
                        self._begin_changed()

    def round(self) -> None:
        """Begin what is due and has room."""
        self._drop_disabled()
        for endpoints in self._endpoints.enabled.values():
            for endpoint in endpoints:
                if endpoint.is_sent_to:
                    self._begin_due(self._queue_of(endpoint.id))
        self.counts.waiting = sum(map(len, self._queues.values()))
        self.counts.in_flight = sum(queue.in_flight for queue in self._queues.values())
        first = [due_at for queue in self._queues.values() if (due_at := queue.first_due_at()) is not None]
        self.counts.due_since = min(first, default=None)

    def _begin_changed(self) -> None:
        """Between rounds: look at the endpoints alone of which something ended or came."""
        self._wake.clear()
        changed, self._changed = self._changed, set()
        for endpoint_id in changed:
            endpoint = self._endpoints.of_id(endpoint_id)
            if endpoint is not None and endpoint.is_sent_to:
                self._begin_due(self._queue_of(endpoint_id))

    def _note_change(self, endpoint_id: str) -> None:
        self._changed.add(endpoint_id)
        self._wake.set()

    async def stop(self) -> None:
        """Wait a moment for what is in flight, write the outcomes, and leave the rest to the next start."""
        tasks = [*self._tasks]
        if tasks:
            await asyncio.wait(tasks, timeout=STOPPED_WITHIN_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
        self._loop = None

    def on_commit(self, tables: RowTables) -> None:
        """On the committer's thread: hand over what was committed of deliveries."""
        loop = self._loop
        deliveries = tables.get(WebhookDeliveryRow.__name__)
        attempts = tables.get(WebhookAttemptRow.__name__)
        if loop is None or (deliveries is None and attempts is None):
            return
        new = [] if deliveries is None else rows_of(WebhookDeliveryRow, deliveries)
        changed = [] if attempts is None else rows_of(WebhookAttemptRow, attempts)
        with contextlib.suppress(RuntimeError):  # the loop has ended: the tables have it all
            loop.call_soon_threadsafe(self._committed, new, changed)

    async def ping(self, endpoint: Endpoint, cause: str) -> StoredDelivery:
        """Enqueue a ``ping``; the same cause gives the same delivery."""
        program_id, now = endpoint.program_id, self._clock.now()
        is_simulated = program_id is not None and (
            self._tenancy.programs.source_of(program_id) is ProgramSource.SIMULATED
        )
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
        await self._write_and_confirm(row, row.id, 0)
        return StoredDelivery(row, DeliveryState(next_attempt_at=row.created_at))

    async def redeliver(self, endpoint: Endpoint, delivery_id: str) -> StoredDelivery | None:
        """Make a delivery due at once, whatever became of it; None when the endpoint has none of this id."""
        queue = self._queue_of(endpoint.id)
        waiting = queue.find(delivery_id)
        stored = await asyncio.to_thread(self._table.find, endpoint.tenant_id, endpoint.id, delivery_id)
        if stored is None:
            return None
        row = stored.row
        waiting = queue.find(delivery_id) or waiting  # one that ended meanwhile says how
        if waiting is None:
            waiting = Waiting(row.id, row.event, row.event_id, row.created_at, stored.state)
        waiting.state = redelivered(waiting.state, now=self._clock.now())
        waiting.is_uncommitted = True
        state = waiting.state
        if endpoint.is_sent_to and not waiting.is_in_flight:
            queue.put(waiting)
        await self._write_and_confirm(_attempt_row(endpoint, row.id, state, self._clock.now()), row.id, state.version)
        return StoredDelivery(row, state)

    def _queue_of(self, endpoint_id: str) -> EndpointQueue:
        queue = self._queues.get(endpoint_id)
        if queue is None:
            queue = self._queues[endpoint_id] = EndpointQueue(endpoint_id)
        return queue

    def _drop_disabled(self) -> None:
        """Deliveries of an endpoint that nothing is sent to wait in the tables."""
        for endpoint_id, queue in [*self._queues.items()]:
            endpoint = self._endpoints.of_id(endpoint_id)
            if (endpoint is None or not endpoint.is_sent_to) and not queue.in_flight and not queue.is_loading:
                del self._queues[endpoint_id]

    def _begin_due(self, queue: EndpointQueue) -> None:
        now = self._clock.now()
        if queue.wants_to_load(now):
            queue.begin_load()
            self._start(self._load(queue))
        while queue.in_flight < IN_FLIGHT_OF_ENDPOINT:
            waiting = queue.take(now)
            if waiting is None:
                return
            self._start(self._deliver(queue, waiting))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load(self, queue: EndpointQueue) -> None:
        """Read what waits, those that are due first, and once how the endpoint did before."""
        due = None
        try:
            if queue.accepted_at is None and queue.exhausted_at is None:
                past = await asyncio.to_thread(self._table.past_of, queue.endpoint_id)
                queue.accepted_at, queue.exhausted_at = past.accepted_at, past.exhausted_at
            due = await asyncio.to_thread(self._table.waiting, queue.endpoint_id, QUEUE_LIMIT)
        except Exception as error:  # noqa: BLE001 - whatever failed: a later round reads again
            log.warning("webhook_load_failed", endpoint_id=queue.endpoint_id, error=f"{type(error).__name__}: {error}")
        finally:
            queue.end_load(due)
        if due is not None:
            self._note_change(queue.endpoint_id)

    async def _deliver(self, queue: EndpointQueue, waiting: Waiting) -> None:
        try:
            async with self._slots:
                endpoint = self._endpoints.of_id(queue.endpoint_id)
                if endpoint is None or not endpoint.is_sent_to:
                    return
                prepared = await self._prepare(endpoint, queue, waiting)
                attempt = await self._sender.send(*prepared)
        except Exception as error:  # noqa: BLE001 - whatever failed is ours, not the receiver's: it counts as no attempt
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

    async def _prepare(self, endpoint: Endpoint, queue: EndpointQueue, waiting: Waiting) -> Prepared:
        """The body and the headers of this attempt."""
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
        return Prepared(endpoint.url, headers, body)

    async def _read_body(self, endpoint: Endpoint, queue: EndpointQueue, waiting: Waiting) -> bytes:
        """The body, read with those of the next ones: whoever comes meanwhile finds its own read."""
        async with queue.reading_bodies:
            if waiting.body is None:
                wanted = queue.without_body()
                places = [(each.id, each.created_at) for each in wanted]
                bodies = await asyncio.to_thread(self._table.bodies, endpoint.id, places)
                queue.keep_bodies((each, bodies[each.id]) for each in wanted if each.id in bodies)
        if waiting.body is None:
            raise LookupError("The body of a delivery is not in the tables.")
        return waiting.body

    def _settle(self, endpoint: Endpoint, queue: EndpointQueue, waiting: Waiting, attempt: Attempt) -> None:
        """Record the outcome."""
        now = self._clock.now()
        state = waiting.state = settled(waiting.state, attempt, now=now)
        waiting.is_uncommitted = True
        self._write(_attempt_row(endpoint, waiting.id, state, now))
        self.counts.attempts[DeliveryStatus.DELIVERED if attempt.error is None else attempt.error] += 1
        if attempt.error is None:
            queue.accepted_at = now
            return
        log.info("webhook_attempt_failed", delivery_id=waiting.id, endpoint_id=endpoint.id, error=attempt.error.value)
        if state.status is DeliveryStatus.EXHAUSTED:
            queue.exhausted_at = now
            self.counts.exhausted += 1

    async def _disable_if_given_up(self, endpoint: Endpoint, queue: EndpointQueue, attempt: Attempt) -> None:
        """An endpoint that is gone, or accepted nothing for days, is disabled."""
        since = max(endpoint.enabled_at, queue.accepted_at or 0)
        has_exhausted = queue.exhausted_at is not None and queue.exhausted_at >= since
        is_due = is_given_up(last_accepted_at=since, has_exhausted=has_exhausted, now=self._clock.now())
        if not (attempt.is_gone or is_due):
            return
        try:
            await self._disable(endpoint.id)
        except UnavailableError as error:  # the next attempt that fails tries again
            log.warning("webhook_endpoint_not_disabled", endpoint_id=endpoint.id, error=str(error))
            return
        reason = "gone" if attempt.is_gone else "nothing_accepted"
        self.counts.disabled[reason] += 1
        log.warning("webhook_endpoint_disabled", endpoint_id=endpoint.id, reason=reason)

    def _committed(self, new: list[WebhookDeliveryRow], changed: list[WebhookAttemptRow]) -> None:
        for attempt in changed:
            queue = self._queues.get(attempt.endpoint_id)
            if queue is not None:
                queue.committed(attempt.delivery_id, attempt.version)
            self._confirm(attempt.delivery_id, attempt.version)
        for delivery in new:
            endpoint = self._endpoints.of_id(delivery.endpoint_id)
            if endpoint is not None and endpoint.is_sent_to:
                self._queue_of(delivery.endpoint_id).offer(delivery)
                self._note_change(delivery.endpoint_id)
            self._confirm(delivery.id, 0)

    def _confirm(self, delivery_id: str, version: int) -> None:
        for future in self._confirmations.pop((delivery_id, version), ()):
            if not future.done():
                future.set_result(None)

    async def _write_and_confirm(
        self, row: WebhookAttemptRow | WebhookDeliveryRow, delivery_id: str, version: int
    ) -> None:
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._confirmations.setdefault((delivery_id, version), [])
        waiting.append(confirmed)
        self._write(row)
        try:
            await asyncio.wait_for(confirmed, CONFIRMED_WITHIN_S)
        except TimeoutError:
            self._confirmations.pop((delivery_id, version), None)
            raise UnavailableError(NOT_CONFIRMED, ErrorCode.NOT_CONFIRMED) from None

    def _write(self, row: WebhookAttemptRow | WebhookDeliveryRow) -> None:
        """Hand a row to the committer, together with those that come while the last ones are handed over."""
        self._unwritten.append(row)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_all())

    async def _write_all(self) -> None:
        assert self._commit is not None, "nothing is delivered before it is attached"
        while self._unwritten:
            rows, self._unwritten = self._unwritten, []
            tables = row_tables(
                {
                    kind: [row for row in rows if isinstance(row, kind)]
                    for kind in (WebhookDeliveryRow, WebhookAttemptRow)
                }
            )
            await asyncio.to_thread(self._commit, tables)


def _attempt_row(endpoint: Endpoint, delivery_id: str, state: DeliveryState, now: int) -> WebhookAttemptRow:
    return WebhookAttemptRow(
        tenant_id=endpoint.tenant_id,
        endpoint_id=endpoint.id,
        delivery_id=delivery_id,
        version=state.version,
        status=state.status.value,
        attempts=state.attempts,
        next_attempt_at=state.next_attempt_at,
        last_status_code=state.last_status_code,
        last_error=None if state.last_error is None else state.last_error.value,
        delivered_at=state.delivered_at,
        settled_at=now,
    )
