"""The log of a stopped service moved from Redis into segments, as it would be after a day."""

from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Final

from clearhold.store.lake.log_segments import LogSegments, Segmenter
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import LogReader

SHARDS: Final = 16
PAGE: Final = 5


def move_into_segments(data: Path, share: Fraction = Fraction(2, 3)) -> None:
    """Let Redis forget the older part of the log, in segments of five entries."""
    server, segments = EmbeddedRedis(data), LogSegments(data / "lake")
    server.start()
    try:
        with closing(connect_sync(server.socket_path)) as client:
            reader = LogReader(client, range(SHARDS))
            for shard in range(SHARDS):
                entries = reader.range(shard, 0, reader.tail(shard), count=10_000)
                moved = int(len(entries) * share)
                upto = entries[moved - 1].offset if moved else 0
                Segmenter(reader, segments, page_entries=PAGE, linger_ms=0).run_once(shard, upto, upto)
            assert any(segments.shard(shard).last_offset for shard in range(SHARDS))
    finally:
        server.stop()
