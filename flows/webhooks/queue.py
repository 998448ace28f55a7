"""The deliveries of one endpoint that wait, in memory: ids and states, first due first. The tables have all of it.

Memory holds the first ``QUEUE_LIMIT`` due; the others are read later. A body is kept if it came with a commit while few
others waited; otherwise it is read when its delivery is due.
"""

import asyncio
import heapq
from collections.abc import Iterable, Iterator
from itertools import count, islice, takewhile
from typing import Final, NamedTuple

import msgspec

from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.rows.events import WebhookDeliveryRow
from clearhold.features.webhooks.delivery import LONGEST_PAUSE_US, OPEN, SPREAD_US, DeliveryState, spread_of
from clearhold.store.duck.webhooks import DueDelivery

QUEUE_LIMIT: Final = 10_000
KEPT_BODIES: Final = 256
READ_AT_ONCE: Final = 64
READ_AHEAD_US: Final = 15 * SECOND_US
"""Bodies that are due later are not read yet."""

_FURTHEST_US: Final = LONGEST_PAUSE_US + SPREAD_US  # a later time is that of a clock that was ahead

ARRIVED_LIMIT: Final = 1_000
"""The most arrivals during a read of the tables; further ones are read with the next."""

Due = tuple[int, int, str]
"""The due instant, the number of the entry in the heap, and the delivery's id."""


class WaitingDelivery(msgspec.Struct, eq=False, gc=False):
    """A delivery in memory. ``entry`` is the number of its only valid heap entry.

    ``is_uncommitted``: the tables do not have its present state yet.
    """

    id: str
    event: str
    event_id: str
    created_at: int
    state: DeliveryState
    entry: int = -1
    body: bytes | None = None
    is_in_flight: bool = False
    is_uncommitted: bool = False

    @property
    def due_at(self) -> int:
        return self.state.next_attempt_at + spread_of(self.id, self.state.status)


class ReadWaiting(NamedTuple):
    """The waiting deliveries in the tables: by id, and as a heap."""

    known: dict[str, WaitingDelivery]
    due: list[Due]


class EndpointQueue:
    """Belongs to one event loop, but for ``prepared``.

    ``has_more``: further deliveries wait in the tables and are not in memory. ``was_slow``: the newest attempt was;
    None before the first one's end.
    """

    def __init__(self, endpoint_id: str) -> None:
        self.endpoint_id = endpoint_id
        self.has_more = True
        self.is_loading = False
        self.reading_bodies = asyncio.Lock()
        self.accepted_at: int | None = None
        self.exhausted_at: int | None = None
        self.was_slow: bool | None = None
        self.slow_until = 0
        self._known: dict[str, WaitingDelivery] = {}
        self._in_flight: dict[str, WaitingDelivery] = {}
        self._due: list[Due] = []
        self._entries = count()
        self._bodies = 0
        self._changed_while_loading: set[str] = set()
        self._arrived: list[WebhookDeliveryRow] = []

    def __len__(self) -> int:
        return len(self._known)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def is_slow(self, now: int) -> bool:
        """Whether the receiver answered slowly, now or a short while ago."""
        return bool(self.was_slow) or now < self.slow_until

    def find(self, delivery_id: str) -> WaitingDelivery | None:
        return self._known.get(delivery_id)

    def offer(self, row: WebhookDeliveryRow) -> None:
        """Add a newly committed delivery; during a read of the tables it waits behind earlier ones."""
        arrived = len(self._arrived)
        if self.has_more or arrived >= ARRIVED_LIMIT or len(self._known) + arrived >= QUEUE_LIMIT:
            self.has_more = True
        elif self.is_loading:
            self._arrived.append(row)
        elif row.id not in self._known:
            self._add(row)

    def put(self, waiting: WaitingDelivery) -> None:
        """Add a delivery, or put it back."""
        self._known[waiting.id] = waiting
        heapq.heappush(self._due, self._entry_of(waiting))

    def first_due_at(self) -> int | None:
        """When the first delivery is due, or None."""
        while self._due:
            due_at, entry, delivery_id = self._due[0]
            waiting = self._known.get(delivery_id)
            if waiting is not None and not waiting.is_in_flight and waiting.entry == entry:
                return due_at
            heapq.heappop(self._due)
        return None

    def take(self, now: int) -> WaitingDelivery | None:
        """Take the first due delivery into flight, or None."""
        due_at = self.first_due_at()
        if due_at is None or now < due_at <= now + _FURTHEST_US:
            return None
        waiting = self._known[heapq.heappop(self._due)[-1]]
        waiting.is_in_flight = True
        self._in_flight[waiting.id] = waiting
        return waiting

    def land(self, waiting: WaitingDelivery) -> None:
        waiting.is_in_flight = False
        del self._in_flight[waiting.id]
        if waiting.body is not None:
            waiting.body = None
            self._bodies -= 1
        if waiting.state.status in OPEN and waiting.id in self._known:
            self.put(waiting)

    def without_body(self, now: int) -> list[WaitingDelivery]:
        """The deliveries to be sent now or soon whose bodies are not in memory."""
        first = islice(self._in_order(), READ_AT_ONCE)
        soon = (self._known.get(entry[-1]) for entry in takewhile(lambda entry: entry[0] <= now + READ_AHEAD_US, first))
        return [each for each in (*self._in_flight.values(), *soon) if each is not None and each.body is None]

    def keep_bodies(self, bodies: Iterable[tuple[WaitingDelivery, bytes]]) -> None:
        for waiting, body in bodies:
            if waiting.body is None:
                waiting.body = body
                self._bodies += 1

    def committed(self, delivery_id: str, version: int) -> None:
        """Note that the tables have this version of a delivery."""
        if self.is_loading:
            self._changed_while_loading.add(delivery_id)
        waiting = self._known.get(delivery_id)
        if waiting is None or waiting.state.version != version:
            return
        waiting.is_uncommitted = False
        if waiting.state.status not in OPEN and not waiting.is_in_flight:
            self._forget(waiting)

    def wants_to_load(self, now: int) -> bool:
        """Whether to read the tables: for more, or for deliveries that are due earlier than those in memory."""
        if not self.has_more or self.is_loading:
            return False
        return len(self._known) < QUEUE_LIMIT // 2 or not self._due or self._due[0][0] > now

    def begin_load(self) -> None:
        self.is_loading, self.has_more = True, False

    def prepared(self, due: Iterable[DueDelivery]) -> ReadWaiting:
        """On a worker thread, because there may be thousands: the deliveries of the tables in this form."""
        known = {each[0]: WaitingDelivery(*each) for each in due}
        entries = [self._entry_of(waiting) for waiting in known.values()]
        heapq.heapify(entries)
        return ReadWaiting(known, entries)

    def end_load(self, read: ReadWaiting | None) -> None:
        """Take the deliveries read, the first due ones first; None when the tables could not be read."""
        self.is_loading = False
        changed, self._changed_while_loading = self._changed_while_loading, set()
        arrived, self._arrived = self._arrived, []
        if read is None:
            self.has_more = True
            return
        self.has_more = self.has_more or len(read.known) >= QUEUE_LIMIT
        self._replace(read, changed)
        for row in arrived:
            self.offer(row)

    def _replace(self, read: ReadWaiting, changed: set[str]) -> None:
        """Keep the deliveries whose state is newer than the tables', or may be."""
        kept = {
            each.id: each
            for each in self._known.values()
            if each.is_in_flight or each.is_uncommitted or each.id in changed
        }
        for delivery_id in changed - kept.keys():  # it ended meanwhile
            read.known.pop(delivery_id, None)
        self._known, self._due = read.known | kept, read.due
        self._bodies = sum(each.body is not None for each in kept.values())
        for each in kept.values():
            if not each.is_in_flight and each.state.status in OPEN:
                self.put(each)

    def _entry_of(self, waiting: WaitingDelivery) -> Due:
        """A new entry, which replaces the former one."""
        waiting.entry = next(self._entries)
        return waiting.due_at, waiting.entry, waiting.id

    def _in_order(self) -> Iterator[Due]:
        """Heap entries in order, outdated ones too; reads no further than the caller."""
        reached = [(self._due[0], 0)] if self._due else []
        while reached:
            entry, place = heapq.heappop(reached)
            yield entry
            below = range(2 * place + 1, min(2 * place + 3, len(self._due)))
            for each in below:
                heapq.heappush(reached, (self._due[each], each))

    def _add(self, row: WebhookDeliveryRow) -> None:
        waiting = WaitingDelivery(
            row.id, row.event, row.event_id, row.created_at, DeliveryState(next_attempt_at=row.created_at)
        )
        if self._bodies < KEPT_BODIES:
            waiting.body = row.body.encode()
            self._bodies += 1
        self.put(waiting)

    def _forget(self, waiting: WaitingDelivery) -> None:
        del self._known[waiting.id]
        if waiting.body is not None:
            self._bodies -= 1
