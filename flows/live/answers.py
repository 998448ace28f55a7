"""One answer of the feed: the reader is brought from its last event to now, and then joins the others."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

from clearhold.features.live.reading import End, Resync
from clearhold.flows.live.feed_events import blocks, quiet_block, resync_block
from clearhold.flows.live.missed import MissedEvents
from clearhold.flows.live.positions import Position
from clearhold.flows.live.readers import FeedReader
from clearhold.flows.live.ring import Ring

PIECE_BYTES: Final = 64 * 1024


class FeedAnswer:
    """``resyncs`` counts by reason."""

    def __init__(
        self, reader: FeedReader, ring: Ring, position: Position, *, missed: MissedEvents, resyncs: Counter[str]
    ) -> None:
        self._reader, self._ring, self._position = reader, ring, position
        self._missed, self._resyncs = missed, resyncs
        self.ended = reader.ended

    async def pieces(self) -> AsyncIterator[bytes]:
        """The bytes that bring the reader to now. With the end of the iteration it is given further events as they
        come, where it has a connection.
        """
        if self._missed.is_unknown(self._position):
            yield self._begin_now(Resync.UNKNOWN_POSITION)
        self._position.log = self._ring.end.log  # also of a position that the log and a former one share
        has_newest_id = False
        while not self.ended.done():
            events, upto = self._ring.after(self._position), None
            if events is None:
                events, upto = await self._missed.after(self._reader.tenant_id, self._position)
            if events is None:
                yield self._begin_now(Resync.TOO_OLD)
            elif events or upto is not None:
                for piece in _pieces(blocks(events, self._position, self._reader.wanted)):
                    yield piece
                if upto is not None:
                    self._position.advance(upto)
                has_newest_id = False
            elif not has_newest_id:
                has_newest_id = True
                yield quiet_block(self._position)
            else:
                if self._reader.follows:
                    self._ring.join(self._reader)
                return

    def farewell(self, reason: End) -> bytes:
        """The last event; it has no id, because a slow reader may lack events before it."""
        return b'event: end\ndata: {"reason":"%s"}\n\n' % reason.encode()

    def _begin_now(self, reason: Resync) -> bytes:
        self._resyncs[reason] += 1
        self._position = self._ring.end.copy()
        return resync_block(reason, self._position)


def _pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts, some together."""
    piece = bytearray()
    for part in parts:
        piece += part
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
