"""Whether segments, log and database join without a hole, for every shard and control stream.

A shard's log is its segments and then the entries in Redis. Redis has the offset up to which it was trimmed, each
segment the end of its predecessor, and the database its committed offset.

Errors  ``DamagedSegmentError`` for segments that overlap
"""

from collections.abc import Mapping, Sequence
from itertools import islice

import msgspec

from clearhold.features.core.instants import format_instant
from clearhold.store.joining.losses import Hole
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.lake.segment_files import Gap
from clearhold.store.redis_log.offsets import log_time_of, stream_id_of
from clearhold.store.redis_log.reader import LogReader

SHOWN_HOLES = 3


class StreamEnds(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a stream in each place, as offsets; 0 where it is empty. ``trimmed`` is where Redis begins."""

    stream: str
    segments: int
    gaps: Sequence[Gap] = ()
    trimmed: int = 0
    tail: int = 0
    committed: int = 0

    @property
    def known(self) -> int:
        """The highest offset known outside of Redis."""
        return max(self.segments, self.committed)

    @property
    def is_behind(self) -> bool:
        """Whether Redis ends before the other places: it was lost, or is an older copy."""
        return self.tail < self.known

    def holes(self) -> list[Hole]:
        """The entries that are in none of the places."""
        gaps = list(self.gaps)
        if self.trimmed > self.segments:
            gaps.append(Gap(self.segments, self.trimmed))
        begin = max(self.segments, self.trimmed, self.tail)
        if begin < self.committed:
            gaps.append(Gap(begin, self.committed))
        return [Hole(stream=self.stream, after=gap.after, upto=gap.upto) for gap in gaps]


def shard_ends(
    reader: LogReader, segments: LogSegments, committed: Mapping[int, int], *, shards: int
) -> list[StreamEnds]:
    """The ends of every shard; ``committed`` are the database's offsets, empty if it cannot be opened."""
    return [
        StreamEnds(
            stream=segments.shard(shard).name,
            segments=segments.last_offset(shard),
            gaps=segments.shard(shard).gaps(),
            trimmed=reader.trimmed(shard),
            tail=reader.tail(shard),
            committed=committed.get(shard, 0),
        )
        for shard in range(shards)
    ]


def control_ends(reader: LogReader, segments: LogSegments) -> dict[str, StreamEnds]:
    """The ends of every tenant's control stream, which Redis keeps whole."""
    return {
        tenant_id: StreamEnds(
            stream=segments.control(tenant_id).name,
            segments=segments.last_control_offset(tenant_id),
            gaps=segments.control(tenant_id).gaps(),
            tail=reader.control_tail(tenant_id),
        )
        for tenant_id in sorted({*reader.tenants(), *segments.tenants()})
    }


def sentence_of(holes: Sequence[Hole]) -> str:
    """The holes in words, the first few of them."""
    parts = [
        f"{hole.stream} lacks the entries after {_place(hole.after)} and up to {_place(hole.upto)}"
        for hole in islice(holes, SHOWN_HOLES)
    ]
    more = len(holes) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def _place(offset: int) -> str:
    return f"{stream_id_of(offset)} ({format_instant(log_time_of(offset))})" if offset else "its beginning"
