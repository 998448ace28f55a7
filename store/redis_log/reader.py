"""Reads the log: entries of the shards in order, from any offset. The log's names in Redis, and its offsets.

An offset is a stream id ``ms-seq`` as the integer ``ms << 20 | seq``. It fits 63 bits until 2248.

Errors  the built-in ``ConnectionError`` while Redis is down, still starting, or refuses commands for a while; a later
        read continues as before; ``LogGapError`` when the next entries were trimmed before they were read;
        ``ValueError`` for an id that has no offset
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
import redis

from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.store.data_dir import LogIdentity
from clearhold.store.redis_log.fields import entry_fields, read_entry
from clearhold.store.redis_log.reads import LogReads, Wait
from clearhold.store.redis_log.tagged import untagged
from clearhold.store.seals import EntrySeals, log_forged, number_of

IDENTITY: Final = "log:identity"
TENANTS: Final = "log:tenants"
TRIMMED: Final = "log:trimmed"
"""A hash: the offset up to which each shard was trimmed, where its entries in Redis begin."""

_BANK: Final = EntryKind.BANK.value
NO_SHARD: Final = -1  # of the entries of control streams


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


def offset_at(at: int) -> int:
    """The lowest offset of entries that Redis takes from this time on; the inverse of ``log_time_of``."""
    return max(0, at) // 1_000 << SEQ_BITS


MAX_BLOCK_MS: Final = 2_000
"""Well below the socket's timeout, so that an idle log does not look dead."""

_CONTROL_PAGE: Final = 500
_SEAL_PAGE: Final = 200


def identity_in(client: redis.Redis) -> LogIdentity | None:
    """The id of the log in a Redis; None without a log."""
    stored = client.get(IDENTITY)
    return None if stored is None else msgspec.json.decode(stored, type=LogIdentity)


class Trims(Protocol):
    """Trims a log that other services may use: for its owner alone."""

    def trim(self, execute: Callable[..., Any], shard: int, upto: int) -> int:
        """As ``LogReader.trim``; ``execute`` runs a command."""


class LogGapError(Exception):
    """The entries that a reader asked for were trimmed."""


class LogReader:
    """For one thread at a time. ``shards`` are those this process owns."""

    def __init__(
        self,
        client: redis.Redis,
        shards: Sequence[int],
        *,
        seals: EntrySeals | None = None,
        wait: Wait | None = None,
        trims: Trims | None = None,
        replicas: int = 0,
    ) -> None:
        """``wait`` is called instead of blocking in ``read``, with the descriptor to wait for. ``seals`` None: no seal
        is checked, for a reader whose entries are not applied. ``trims`` is there for a named Redis. Entries are
        handed on once ``replicas`` replicas have them.
        """
        self._trims, self._seals = trims, seals
        self.offset_of_seal: dict[bytes, int] = {}  # the lowest that was read, in control streams
        self.forged_control: set[tuple[str, int]] = set()
        """Tenant and offset of the forged entries that were read in control streams."""
        self._redis = redis.Redis(connection_pool=client.connection_pool)
        self._reads = LogReads(self._redis, wait=wait, replicas=replicas)
        self._execute = self._reads.execute
        self._shard_of_key = {shard_key(shard).encode(): shard for shard in shards}

    def read(self, after: Mapping[int, int], *, count: int, block_ms: int) -> list[tuple[int, list[LogEntry]]]:
        """Entries after the given offsets (0 where none is given), at most ``count`` a shard; waits up to ``block_ms``
        (0: not at all, at most MAX_BLOCK_MS) for the first one, and returns ``[]`` if none came.
        """
        if not self._shard_of_key:
            return []
        offsets = [stream_id_of(after.get(shard, 0)) for shard in self._shard_of_key.values()]
        block = ("BLOCK", min(block_ms, MAX_BLOCK_MS)) if block_ms > 0 else ()
        shards = tuple(self._shard_of_key.values())
        read = ("XREAD", "COUNT", count, *block, "STREAMS", *self._shard_of_key, *offsets)
        answer, trimmed = self._reads.both(read, ("HMGET", TRIMMED, *shards), block_ms / 1_000)
        for shard, upto in zip(shards, trimmed, strict=True):
            _check_kept(shard, after.get(shard, 0), int(upto or 0))
        pages = []
        for sent_key, entries in answer or ():
            key = untagged(sent_key)
            shard, stream = self._shard_of_key[key], key.decode()
            pages.append((shard, [self._entry(shard, stream, *entry) for entry in entries]))
        return pages

    def range(self, shard: int, after: int, upto: int, *, count: int) -> list[LogEntry]:
        """The first ``count`` entries with ``after`` < offset <= ``upto``."""
        if upto <= after:
            return []
        key = shard_key(shard)
        entries = self._execute("XRANGE", key, f"({stream_id_of(after)}", stream_id_of(upto), "COUNT", count)
        return [self._entry(shard, key, *entry) for entry in entries]

    def entries(self, shard: int, after: int, upto: int, *, page: int) -> Iterator[LogEntry]:
        """All entries with ``after`` < offset <= ``upto``, ``page`` of them in memory at a time."""
        while entries := self.range(shard, after, upto, count=page):
            yield from entries
            after = entries[-1].offset

    def identity(self) -> LogIdentity | None:
        """The id of the log here; None without a log."""
        return identity_in(self._redis)

    def tail(self, shard: int) -> int:
        """The offset of the newest entry ever appended, even if it was trimmed; 0 without any."""
        return self.end_of(shard_key(shard))

    def newest_at(self) -> int:
        """When the newest entry of these shards was appended, by the service's clock; by Redis's when all entries were
        trimmed. 0 without any.
        """
        tails = {shard: self.tail(shard) for shard in self._shard_of_key.values()}
        newest = [each for shard, tail in tails.items() for each in self.range(shard, max(0, tail - 1), tail, count=1)]
        if newest:
            return max(entry.appended_at for entry in newest)
        return max(map(log_time_of, tails.values()), default=0)

    def end_of(self, key: str) -> int:
        """The offset of the newest entry ever appended to a stream; 0 without any."""
        try:
            return offset_of(self._execute("XINFO STREAM", key)["last-generated-id"])
        except redis.ResponseError as error:
            if "no such key" in str(error):
                return 0
            raise

    def newest_number(self, shard: int) -> int:
        """The highest number that a seal of the shard may have: that of its newest seal here, and at least its tail."""
        key, before = shard_key(shard), "+"
        while page := self._execute("XREVRANGE", key, before, "-", "COUNT", _SEAL_PAGE):
            for entry in (self._entry(shard, key, *each) for each in page):
                if entry.seal and not entry.is_forged:
                    return max(number_of(entry), self.tail(shard))
            before = f"({page[-1][0].decode()}"
        return self.tail(shard)

    def trim(self, shard: int, upto: int) -> int:
        """Drop the entries with offset <= ``upto``; returns how many were dropped."""
        if self._trims is not None:
            return self._trims.trim(self._execute, shard, upto)
        self._execute("HSET", TRIMMED, shard, upto)
        return int(self._execute("XTRIM", shard_key(shard), "MINID", stream_id_of(upto + 1)))

    def trimmed(self, shard: int) -> int:
        """The offset up to which the shard was trimmed: all later entries are here."""
        return int(self._execute("HGET", TRIMMED, shard) or 0)

    def check_kept(self, shard: int, after: int) -> None:
        """Raise unless all entries after the offset are here."""
        _check_kept(shard, after, self.trimmed(shard))

    def control(self) -> Iterator[tuple[str, int, str, int, bytes]]:
        """(tenant id, offset, kind, appended at, body) of all control streams, tenant by tenant, each in order."""
        for tenant_id in self.tenants():
            yield from self.control_of(tenant_id)

    def tenants(self) -> list[str]:
        """The ids of all tenants."""
        return sorted(tenant.decode() for tenant in self._execute("SMEMBERS", TENANTS))

    def with_new_control(self, ends: Mapping[str, int]) -> list[str]:
        """The tenants whose control streams have entries after these offsets."""
        if not ends:
            return []
        tenant_of = {control_key(tenant_id).encode(): tenant_id for tenant_id in ends}
        offsets = [stream_id_of(ends[tenant_id]) for tenant_id in tenant_of.values()]
        answer = self._execute("XREAD", "COUNT", 1, "STREAMS", *tenant_of, *offsets)
        return [tenant_of[untagged(key)] for key in dict(answer or ())]

    def rewrite_control(self, tenant_id: str, entries: Sequence[LogEntry]) -> None:
        """Replace a control stream, of a stopped service; a copy of a seal elsewhere no longer counts."""
        self.offset_of_seal |= {entry.seal: entry.offset for entry in reversed(entries) if entry.seal}
        with self._redis.pipeline(transaction=True) as transaction:
            transaction.delete(control_key(tenant_id))
            transaction.sadd(TENANTS, tenant_id)
            for entry in entries:
                fields = entry_fields(entry.kind, entry.program_id, entry.appended_at, entry.body, entry.seal)
                transaction.execute_command("XADD", control_key(tenant_id), stream_id_of(entry.offset), *fields)
            transaction.execute()

    def control_of(self, tenant_id: str, after_offset: int = 0) -> Iterator[tuple[str, int, str, int, bytes]]:
        """As ``control``, of one tenant's stream, after an offset."""
        for entry in self.control_entries(tenant_id, after_offset):
            if not entry.is_forged:
                yield tenant_id, entry.offset, entry.kind, entry.appended_at, entry.body

    def control_entries(self, tenant_id: str, after_offset: int = 0) -> Iterator[LogEntry]:
        """All entries of a control stream after an offset, forged ones too. A seal counts for one entry only, the
        first: a former one, such as that of a revoked key, cannot be repeated.
        """
        key, after = control_key(tenant_id), f"({stream_id_of(after_offset)}"
        while True:
            page = self._execute("XRANGE", key, after, "+", "COUNT", _CONTROL_PAGE)
            for stream_id, pairs in page:
                entry = self._entry(NO_SHARD, key, stream_id, pairs)
                first = self.offset_of_seal.get(entry.seal, entry.offset)
                if entry.seal:  # The lowest offset counts, in whatever order the entries are read.
                    self.offset_of_seal[entry.seal] = min(first, entry.offset)
                if first < entry.offset:
                    entry = msgspec.structs.replace(entry, is_forged=True)
                if entry.is_forged and (tenant_id, entry.offset) not in self.forged_control:
                    self.forged_control.add((tenant_id, entry.offset))
                    log_forged(key, entry)
                yield entry
            if len(page) < _CONTROL_PAGE:
                return
            after = f"({page[-1][0].decode()}"

    def _entry(self, shard: int, stream: str, stream_id: bytes, pairs: list[bytes]) -> LogEntry:
        offset = offset_of(stream_id)
        entry = read_entry(shard, offset, pairs)
        if entry is None:
            entry = LogEntry(shard, offset, "unreadable", "", log_time_of(offset), b" ".join(pairs), is_forged=True)
        elif self._seals is None or not (entry.seal or entry.kind != _BANK):
            return entry
        else:
            entry = self._seals.checked(stream, entry)
        if entry.is_forged and shard != NO_SHARD:  # a control stream is read again and again
            log_forged(stream, entry)
        return entry


def _check_kept(shard: int, after: int, trimmed: int) -> None:
    if trimmed > after:
        raise LogGapError(
            f"Redis has the log of shard {shard} from {stream_id_of(trimmed + 1)} on, and the entries after "
            f"{stream_id_of(after)} were asked for: those between were trimmed unread, appended from "
            f"{format_instant(log_time_of(after))} to {format_instant(log_time_of(trimmed))}. Does a second service "
            "use this Redis?"
        )
