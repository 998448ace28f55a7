"""The newest events of one tenant, and the readers that are given each further one."""

from collections import deque
from collections.abc import Sequence

from clearhold.features.live.reading import Wanted
from clearhold.flows.live.feed_events import FeedEvent
from clearhold.flows.live.positions import Position
from clearhold.flows.live.readers import FeedReader


class Ring:
    """Events after ``begin`` and up to ``end``. A change makes another ``end``, so that it can be compared."""

    def __init__(self, begin: Position) -> None:
        self.restart(begin)
        self.readers: dict[Wanted, dict[FeedReader, None]] = {}
        self.open = 0  # readers, also the ones that still catch up
        self.left_at = 0.0  # by the last one, of the event loop's clock

    def restart(self, at: Position) -> None:
        """Begin at a position, without the events before it."""
        self.begin, self.end = at, at.copy()
        self.events: deque[FeedEvent] = deque()
        self.bytes = 0

    def add(self, events: Sequence[FeedEvent], end: Position, *, most_events: int, most_bytes: int) -> None:
        self.events += events
        self.bytes += sum(len(each.lines) for each in events)
        self.end = end
        while self.events and (len(self.events) > most_events or self.bytes > most_bytes):
            oldest = self.events.popleft()
            self.bytes -= len(oldest.lines)
            self.begin.move(oldest.shard, oldest.place)

    def after(self, position: Position) -> list[FeedEvent] | None:
        """The events that the position has not read, in order; None when it may lack some that are not here."""
        if any(position.of(shard) < place for shard, place in self.begin.places.items()):
            return None
        behind = {shard for shard, place in self.end.places.items() if position.of(shard) < place}
        unread: list[FeedEvent] = []
        newest_first = reversed(self.events)
        while behind and (event := next(newest_first, None)) is not None:
            if not position.has_read(event.shard, event.place):
                unread.append(event)
            else:
                behind.discard(event.shard)
        unread.reverse()
        return unread

    def join(self, reader: FeedReader) -> None:
        self.readers.setdefault(reader.wanted, {})[reader] = None

    def part(self, reader: FeedReader) -> None:
        readers = self.readers.get(reader.wanted, {})
        readers.pop(reader, None)
        if not readers:
            self.readers.pop(reader.wanted, None)

    def all_readers(self) -> list[FeedReader]:
        return [reader for readers in self.readers.values() for reader in readers]
