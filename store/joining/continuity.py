"""Whether segments, log and database join without a hole, for every shard and control stream.

The log of a shard is its segments and, behind them, what Redis holds: Redis says up to where it was trimmed, and each
segment where the one before it ends. The database says up to where it once was committed.

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
    """Where a stream ends in each place, as offsets; 0 where it has nothing. ``trimmed`` is where Redis begins."""

    stream: str
    segments: int
    gaps: Sequence[Gap] = ()
    trimmed: int = 0
    tail: int = 0
    committed: int = 0

    @property
    def known(self) -> int:
        """The highest offset that there is a trace of outside of Redis."""
        return max(self.segments, self.committed)

    @property
    def is_behind(self) -> bool:
        """Whether Redis ends before what the other places have seen of it: it was lost, or is an older copy."""
        return self.tail < self.known

    def holes(self) -> list[Hole]:
        """What is in none of the places."""
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
    """The ends of every shard; ``committed`` are the database's, none of which is a database that cannot be opened."""
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
        f"{hole.stream} lacks what came behind {_place(hole.after)} and up to {_place(hole.upto)}"
        for hole in islice(holes, SHOWN_HOLES)
    ]
    more = len(holes) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def _place(offset: int) -> str:
    return f"{stream_id_of(offset)} ({format_instant(log_time_of(offset))})" if offset else "its beginning"
