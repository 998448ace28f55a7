"""Entries on their way to the log: sealed, numbered, and with the ids under which they are to be added."""

from collections.abc import Sequence

from clearhold.store.redis_log.fields import entry_fields
from clearhold.store.redis_log.reader import SEQ_BITS, SEQ_LIMIT, control_key, shard_key
from clearhold.store.redis_log.writes import StreamEntry
from clearhold.store.seals import EntrySeals


class NewEntries:
    """Belongs to the appender. ``last`` has the highest confirmed offset of each shard, 0 without one."""

    def __init__(self, shards: int, seals: EntrySeals | None, numbers: Sequence[int]) -> None:
        """``seals`` and ``numbers`` as for the appender."""
        self._seals = seals
        self._numbers = list(numbers) or [0] * shards
        self.last = [0] * shards
        self._moved_on_from = [0] * shards
        self._keys = [shard_key(shard) for shard in range(shards)]

    def resume(self, numbers: Sequence[int], ends: Sequence[int]) -> None:
        self._numbers, self.last = list(numbers), list(ends)

    def to_shard(self, shard: int, kind: str, program_id: str, appended_at: int, body: bytes) -> StreamEntry:
        number = self._numbers[shard] = self._numbers[shard] + 1
        return self._sealed(self._keys[shard], self._next_id(shard), (kind, program_id, appended_at, body), number)

    def to_control(self, tenant_id: str, kind: str, appended_at: int, body: bytes) -> StreamEntry:
        return self._sealed(control_key(tenant_id), "*", (kind, "", appended_at, body))

    def note(self, shard: int, offset: int) -> None:
        """Note a confirmed entry."""
        self.last[shard] = max(self.last[shard], offset)

    def _sealed(
        self, key: str, stream_id: str, contents: tuple[str, str, int, bytes], number: int | None = None
    ) -> StreamEntry:
        seal = b"" if self._seals is None else self._seals.seal(key, *contents, number=number)
        return key, stream_id, entry_fields(*contents, seal)

    def _next_id(self, shard: int) -> str:
        """``*``, Redis's own choice; but while the clock stands behind the stream, Redis counts up within one
        millisecond, and before that count outgrows an offset we move on to the next millisecond ourselves.
        """
        last = self.last[shard]
        if last & (SEQ_LIMIT - 1) < SEQ_LIMIT // 2 or self._moved_on_from[shard] == last:
            return "*"
        self._moved_on_from[shard] = last  # Once: Redis itself puts later appends after it.
        return f"{(last >> SEQ_BITS) + 1}-0"
