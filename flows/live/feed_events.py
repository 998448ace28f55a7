"""The events of a commit as the feed keeps and sends them.

An event is encoded once, whatever the number of its readers: as lines of server-sent events, without its id, which
tells how far a reader is and so differs in a reader that catches up.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from clearhold.features.live.entries import LiveEntryRow
from clearhold.features.live.payloads import LiveKind
from clearhold.features.live.reading import Resync, Wanted
from clearhold.flows.live.positions import Position, ShardPlace
from clearhold.store.live.entries import entry_id


class FeedEvent(NamedTuple):
    """``lines`` are the event's fields but its id, each line with its end."""

    shard: int
    place: ShardPlace
    entry: str
    program_id: str
    kind: LiveKind
    band: str | None
    severity: str | None
    lines: bytes


ANY: Final = Wanted()
_ENTRY: Final = attrgetter("shard", "offset")
_OFFSET: Final = attrgetter("offset")


def feed_events(entries: Iterable[LiveEntryRow]) -> list[FeedEvent]:
    """All events of one tenant from some entries, in the order of ``live_events``; sorted by offset across shards."""
    counted = [(each, number) for _, entry in groupby(entries, _ENTRY) for number, each in enumerate(entry, 1)]
    counted.sort(key=lambda pair: _OFFSET(pair[0]))
    return [
        FeedEvent(
            shard=each.shard,
            place=ShardPlace(each.offset, number),
            entry=entry_id(each.offset, each.index),
            program_id=each.program_id,
            kind=LiveKind(each.kind),
            band=each.band,
            severity=each.severity,
            lines=b"event: %s\ndata: %s\n" % (each.kind.encode(), each.body),
        )
        for each, number in counted
    ]


def blocks(events: Iterable[FeedEvent], position: Position, wanted: Wanted = ANY) -> Iterator[bytes]:
    """The events with their ids, as bytes to send; moves the position, also over events that are not wanted."""
    for event in events:
        position.move(event.shard, event.place)
        if wanted.takes(event):
            yield b"id: %s\n%s\n" % (position.id_after(event.entry).encode(), event.lines)


def quiet_block(position: Position) -> bytes:
    """Moves a reader's last id, without an event."""
    return b"id: %s\n\n" % position.id_after().encode()


def resync_block(reason: Resync, position: Position) -> bytes:
    """Tells that events are missing before this position."""
    return b'id: %s\nevent: resync\ndata: {"reason":"%s"}\n\n' % (position.id_after().encode(), reason.encode())
