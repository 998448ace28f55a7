"""The log's names in Redis, and its offsets: a stream id ``ms-seq`` as the integer ``ms << 20 | seq``.

An offset fits 63 bits until 2248. A body is stored unchanged, byte for byte.

Errors  ``ValueError`` for an id that has no offset
"""

import asyncio
from typing import Final

IDENTITY: Final = "log:identity"
TENANTS: Final = "log:tenants"
TRIMMED: Final = "log:trimmed"
"""A hash: the offset up to which each shard was trimmed, where its entries in Redis begin."""

_KIND, _PROGRAM, _APPENDED_AT, _BODY = b"k", b"p", b"t", b"b"
_USUAL_ORDER: Final = [_KIND, _PROGRAM, _APPENDED_AT, _BODY]


def entry_fields(kind: str, program_id: str, appended_at: int, body: bytes) -> tuple[bytes | str | int, ...]:
    """The names and values of an entry's fields, alternating."""
    return _KIND, str(kind), _PROGRAM, program_id, _APPENDED_AT, appended_at, _BODY, body


def read_fields(pairs: list[bytes]) -> tuple[bytes, bytes, bytes, bytes]:
    """Kind, program, instant and body out of alternating names and values, in any order."""
    if pairs[::2] == _USUAL_ORDER:
        return pairs[1], pairs[3], pairs[5], pairs[7]
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return fields[_KIND], fields.get(_PROGRAM, b""), fields[_APPENDED_AT], fields[_BODY]


def shard_key(shard: int) -> str:
    return f"log:{shard}"


def owner_key(shard: int) -> str:
    """A hash: the epoch of the shard's owner, and its address."""
    return f"owner:{shard}"


def control_key(tenant_id: str) -> str:
    return f"log:tenant:{tenant_id}"


SEQ_BITS: Final = 20
SEQ_LIMIT: Final = 1 << SEQ_BITS
_MS_LIMIT: Final = 1 << (63 - SEQ_BITS)


def offset_of(stream_id: bytes | str) -> int:
    text = stream_id if isinstance(stream_id, bytes) else stream_id.encode("ascii")
    ms_text, _, seq_text = text.partition(b"-")
    ms, seq = int(ms_text), int(seq_text)
    if not 0 <= ms < _MS_LIMIT or not 0 <= seq < SEQ_LIMIT:
        raise ValueError(f"The stream id {text.decode()} has no offset: its parts must be below 2**43 and 2**20.")
    return ms << SEQ_BITS | seq


def stream_id_of(offset: int) -> str:
    if offset < 0:
        raise ValueError(f"An offset is not negative: {offset}.")
    return f"{offset >> SEQ_BITS}-{offset & (SEQ_LIMIT - 1)}"


def log_time_of(offset: int) -> int:
    """The time at which Redis took the entry, in microseconds, to the millisecond."""
    return (offset >> SEQ_BITS) * 1_000


POLL_EVERY_S: Final = 0.004


class LogProgress:
    """The offsets up to which each shard's entries are applied and committed; 0 without entries.

    Written by the threads that move entries, read by any thread.
    """

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self._applied = [0] * shards
        self._committed = [0] * shards

    def applied_offset(self, shard: int) -> int:
        """The offset up to which the shard's state has applied every entry."""
        return self._applied[shard]

    def committed_offset(self, shard: int) -> int:
        """The offset up to which the tables have the rows of the shard's entries."""
        return self._committed[shard]

    def mark_applied(self, shard: int, offset: int) -> None:
        self._applied[shard] = offset

    def mark_committed(self, shard: int, offset: int) -> None:
        self._committed[shard] = offset

    async def committed(self, shard: int, offset: int, *, within_s: float | None = None) -> None:
        """Return once the shard is committed up to ``offset``, so that all effects of its entries can be read;
        ``TimeoutError`` after ``within_s``, if given.

        The flow commits on other threads, so the offset is polled; a commit takes some milliseconds.
        """
        async with asyncio.timeout(within_s):
            while self.committed_offset(shard) < offset:  # noqa: ASYNC110 - the committer has no event of this loop
                await asyncio.sleep(POLL_EVERY_S)
