"""What waits for one endpoint, in memory: ids and states, due first. The tables have all of it.

Memory holds the deliveries that are due first, ``QUEUE_LIMIT`` at most; the others are read when these are done. A body
is kept only where it came with a commit and few others wait; else it is read when its delivery is due.
"""

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final

import msgspec

from features.core.rows.webhooks import WebhookDeliveryRow
from features.webhooks.delivery import OPEN, DeliveryState, spread_of
from store.duck.webhooks import DueDelivery

QUEUE_LIMIT: Final = 10_000
KEPT_BODIES: Final = 256
READ_AT_ONCE: Final = 64


class Waiting(msgspec.Struct, eq=False, gc=False):
    """A delivery in memory. ``is_uncommitted``: the tables do not show its present state yet."""

    id: str
    event: str
    event_id: str
    created_at: int
    state: DeliveryState
    body: bytes | None = None
    is_in_flight: bool = False
    is_uncommitted: bool = False

    @property
    def due_at(self) -> int:
        return self.state.next_attempt_at + spread_of(self.id, self.state.status)


class EndpointQueue:
    """Belongs to one event loop. ``has_more``: the tables have deliveries that wait and are not in memory."""

    def __init__(self, endpoint_id: str) -> None:
        self.endpoint_id = endpoint_id
        self.has_more = True
        self.is_loading = False
        self.reading_bodies = asyncio.Lock()
        self.accepted_at: int | None = None
        self.exhausted_at: int | None = None
        self._known: dict[str, Waiting] = {}
        self._in_flight: dict[str, Waiting] = {}
        self._due: list[tuple[int, int, int, str]] = []  # due, order of arrival, version, id
        self._arrivals = count()
        self._bodies = 0
        self._changed_while_loading: set[str] = set()
        self._arrived: list[WebhookDeliveryRow] = []

    def __len__(self) -> int:
        return len(self._known)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def find(self, delivery_id: str) -> Waiting | None:
        return self._known.get(delivery_id)

    def offer(self, row: WebhookDeliveryRow) -> None:
        """A delivery that was committed just now. While the tables are read, it waits for those that are due before."""
        if self.has_more or len(self._known) + len(self._arrived) >= QUEUE_LIMIT:
            self.has_more = True
        elif self.is_loading:
            self._arrived.append(row)
        elif row.id not in self._known:
            self._add(row)

    def put(self, waiting: Waiting) -> None:
        """A delivery that waits, or waits again."""
        self._known[waiting.id] = waiting
        heapq.heappush(self._due, (waiting.due_at, next(self._arrivals), waiting.state.version, waiting.id))

    def first_due_at(self) -> int | None:
        """When the delivery that is due first is due; None when none waits."""
        while self._due:
            due_at, _, version, delivery_id = self._due[0]
            waiting = self._known.get(delivery_id)
            if waiting is not None and not waiting.is_in_flight and waiting.state.version == version:
                return due_at
            heapq.heappop(self._due)
        return None

    def take(self, now: int) -> Waiting | None:
        """The delivery that is due first, from now on in flight; None when none is."""
        due_at = self.first_due_at()
        if due_at is None or due_at > now:
            return None
        waiting = self._known[heapq.heappop(self._due)[-1]]
        waiting.is_in_flight = True
        self._in_flight[waiting.id] = waiting
        return waiting

    def land(self, waiting: Waiting) -> None:
        """The delivery is not in flight any more."""
        waiting.is_in_flight = False
        del self._in_flight[waiting.id]
        if waiting.body is not None:
            waiting.body = None
            self._bodies -= 1
        if waiting.state.status in OPEN and waiting.id in self._known:
            self.put(waiting)

    def without_body(self) -> list[Waiting]:
        """The deliveries that are about to be sent, and those that are due next, whose bodies are not in memory."""
        soon = (self._known.get(delivery_id) for *_, delivery_id in heapq.nsmallest(READ_AT_ONCE, self._due))
        return [each for each in (*self._in_flight.values(), *soon) if each is not None and each.body is None]

    def keep_bodies(self, bodies: Iterable[tuple[Waiting, bytes]]) -> None:
        for waiting, body in bodies:
            if waiting.body is None:
                waiting.body = body
                self._bodies += 1

    def committed(self, delivery_id: str, version: int) -> None:
        """The tables show this version of a delivery."""
        if self.is_loading:
            self._changed_while_loading.add(delivery_id)
        waiting = self._known.get(delivery_id)
        if waiting is None or waiting.state.version != version:
            return
        waiting.is_uncommitted = False
        if waiting.state.status not in OPEN and not waiting.is_in_flight:
            self._forget(waiting)

    def wants_to_load(self, now: int) -> bool:
        """Whether the tables are to be read: for more, or for what is due ahead of what is in memory."""
        if not self.has_more or self.is_loading:
            return False
        return len(self._known) < QUEUE_LIMIT // 2 or not self._due or self._due[0][0] > now

    def begin_load(self) -> None:
        self.is_loading, self.has_more = True, False

    def end_load(self, due: Sequence[DueDelivery] | None) -> None:
        """Take what the tables have, those that are due first; None when they could not be read."""
        self.is_loading = False
        changed, self._changed_while_loading = self._changed_while_loading, set()
        arrived, self._arrived = self._arrived, []
        if due is None:
            self.has_more = True
            return
        self.has_more = self.has_more or len(due) >= QUEUE_LIMIT
        for waiting in [*self._replaceable(changed)]:
            self._forget(waiting)
        for each in due:
            if each.id not in self._known and each.id not in changed:
                self._known[each.id] = Waiting(each.id, each.event, each.event_id, each.created_at, each.state)
        self._due = [
            (each.due_at, next(self._arrivals), each.state.version, each.id)
            for each in self._known.values()
            if not each.is_in_flight and each.state.status in OPEN
        ]
        heapq.heapify(self._due)
        for row in arrived:
            self.offer(row)

    def _add(self, row: WebhookDeliveryRow) -> None:
        waiting = Waiting(
            row.id, row.event, row.event_id, row.created_at, DeliveryState(next_attempt_at=row.created_at)
        )
        if self._bodies < KEPT_BODIES:
            waiting.body = row.body.encode()
            self._bodies += 1
        self.put(waiting)

    def _replaceable(self, changed: set[str]) -> Iterator[Waiting]:
        """What the tables show as well."""
        for each in self._known.values():
            if not (each.is_in_flight or each.is_uncommitted or each.id in changed):
                yield each

    def _forget(self, waiting: Waiting) -> None:
        del self._known[waiting.id]
        if waiting.body is not None:
            self._bodies -= 1
