"""What a commit holds, in Redis: a stream of events a program, the newest scores, and a channel for wake-ups.

``out:{programId}``             a stream. The id of an entry is ``ms-(seq << 20 | index)``: the log offset ``ms-seq`` of
                                the committed row, and its place among the events of that log entry. Fields: kind, event
``latest:{type}:{programId}:{id}``, ``latest:program:{programId}``  hashes of the newest score of each actor, program
``live:{programId}``            a channel; a message is the id of the newest entry

``out:log``                     a hash: its field ``log`` is the mark of the log whose events these are

For the service alone: ``out:cursor`` has the offset up to which each shard is written, ``out:programs`` the time of
each stream's last write, and ``out:latest`` that of each hash.

Repeats   Entries and cursor are written in one transaction, which Redis stores as a whole. Ids only grow, so that Redis
          refuses an entry that is there. The cursor is behind the last log entry of which all events are written
Bounds    each stream by its number of entries and by their age; the hashes by age, and together by number
Unit      instants in microseconds; scores of the service's own sets in milliseconds
Errors    ``RedisError`` of the client; then nothing of that write is there, or all of it
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple, cast

import redis

from clearhold.features.core.instants import HOUR_US, MILLISECOND_US, SECOND_US
from clearhold.features.live.entries import LiveEntryRow
from clearhold.store.live.entries import entry_id, stream_key
from clearhold.store.live.transactions import Transaction, Transactions, transaction
from clearhold.store.redis_log.pipeline import command
from clearhold.store.redis_log.reader import SEQ_BITS, SEQ_LIMIT

CURSOR: Final = "out:cursor"
LOG: Final = "out:log"
LOG_FIELD: Final = "log"
PROGRAMS: Final = "out:programs"
LATEST: Final = "out:latest"
MOST_LATEST: Final = 100_000
"""Hashes of newest scores in all programs; beyond this the ones that were written first go."""

_ADDED: Final = attrgetter("added")


def channel_of(program_id: str) -> str:
    return f"live:{program_id}"


def place_of(stream_id: str) -> tuple[int, int]:
    """The log offset and the index of an entry."""
    ms, _, seq = stream_id.partition("-")
    return int(ms) << SEQ_BITS | int(seq) >> SEQ_BITS, int(seq) & (SEQ_LIMIT - 1)


class LiveBounds(NamedTuple):
    """``most_entries`` of each stream; ``kept_us`` is the age at which entries and hashes end."""

    most_entries: int = 100_000
    kept_us: int = 72 * HOUR_US


class LiveWrite(NamedTuple):
    """``entries`` counts the events, ``cursors`` are the offsets of shards after it. The last reply to a transaction
    that ``has_scores`` is the number of all hashes.
    """

    transaction: Transaction
    cursors: Mapping[int, int]
    entries: int
    has_scores: bool


_REPEATED: Final = "equal or smaller"
"""In the refusal of an entry whose id is not above the last one of its stream."""


class LiveStreams:
    """Writes and trims; for one thread."""

    def __init__(self, client: redis.Redis, bounds: LiveBounds) -> None:
        self._client, self.bounds = client, bounds
        self._transactions = Transactions(client)

    def name_log(self, mark: str) -> None:
        """Let readers see which log the entries are of, before any is written."""
        self._client.hset(LOG, LOG_FIELD, mark)

    def cursors(self) -> dict[int, int]:
        """The offset up to which each shard is written; a shard that never was is absent."""
        stored = cast("dict[bytes, bytes]", self._client.hgetall(CURSOR))
        return {int(shard): int(offset) for shard, offset in stored.items()}

    def packed(self, entries: Sequence[LiveEntryRow], cursors: Mapping[int, int], now: int) -> LiveWrite:
        """A write of some hundred entries at most, in order, and cursors of shards."""
        last = {each.program_id: each for each in entries}
        newest = {each.newest_key: each.newest for each in entries if each.newest_key and each.newest}
        commands = [*self._of_programs(last, now // MILLISECOND_US)]
        if cursors:
            commands.append(command("HSET", CURSOR, *chain.from_iterable(cursors.items())))
        commands += self._of_scores(newest, now // MILLISECOND_US)
        added = "".join(map(_ADDED, entries)).encode()
        whole = transaction(commands, first=added, count=len(entries))
        return LiveWrite(whole, cursors, entries=len(entries), has_scores=bool(newest))

    def write(self, write: LiveWrite) -> int:
        """Execute it; returns the number of new entries."""
        replies = self._transactions.execute(write.transaction)
        errors = [reply for reply in replies if isinstance(reply, redis.ResponseError)]
        others = [error for error in errors if _REPEATED not in str(error)]
        if others:  # the rest was executed: its entries are refused when they are repeated
            if write.cursors:
                self._client.hdel(CURSOR, *map(str, write.cursors))
            raise others[0]
        if write.has_scores:
            self._end_first(replies[-1] - MOST_LATEST)
        return write.entries - len(errors)

    def _of_programs(self, last: Mapping[str, LiveEntryRow], now_ms: int) -> Iterator[bytes]:
        """Bounds of the streams, and their newest entries as wake-ups."""
        most, kept_s = self.bounds.most_entries, self.bounds.kept_us // SECOND_US
        for program_id, newest in last.items():
            key = stream_key(program_id)
            yield command("XTRIM", key, "MAXLEN", "~", most)
            yield command("EXPIRE", key, kept_s)
            yield command("PUBLISH", channel_of(program_id), entry_id(newest.offset, newest.index))
        yield command("ZADD", PROGRAMS, *_pairs(now_ms, last))

    def _of_scores(self, newest: Mapping[str, str], now_ms: int) -> Iterator[bytes]:
        """The hashes; the last reply is the number of all of them."""
        kept_s = self.bounds.kept_us // SECOND_US
        for key, stored in newest.items():
            yield stored.encode()
            yield command("EXPIRE", key, kept_s)
        if newest:
            yield command("ZADD", LATEST, *_pairs(now_ms, newest))
            yield command("ZCARD", LATEST)

    def _end_first(self, number: int) -> None:
        """End the hashes that were written first, when the number is above 0."""
        if number > 0:
            keys = cast("list[bytes]", self._client.zrange(LATEST, 0, number - 1))
            with self._client.pipeline() as commands:
                commands.delete(*keys)
                commands.zpopmin(LATEST, number)
                commands.execute()

    def end_old(self, now: int) -> None:
        """Trim entries beyond their age from all streams, also from those without new entries."""
        oldest, before = self._oldest(now), (now - self.bounds.kept_us) // MILLISECOND_US
        with self._client.pipeline(transaction=False) as commands:
            for program_id in self._programs():
                commands.xtrim(stream_key(program_id), minid=oldest, approximate=False)
            commands.zremrangebyscore(PROGRAMS, "-inf", before)
            commands.zremrangebyscore(LATEST, "-inf", before)
            commands.execute()

    def halve(self) -> int:
        """Give back about half of the memory in use here; returns the number of entries and hashes that went."""
        programs = self._programs()
        with self._client.pipeline(transaction=False) as commands:
            for program_id in programs:
                commands.xlen(stream_key(program_id))
            commands.zcard(LATEST)
            *lengths, hashes = commands.execute()
            for program_id, length in zip(programs, lengths, strict=True):
                commands.xtrim(stream_key(program_id), maxlen=length // 2, approximate=False)
            commands.zpopmin(LATEST, (hashes + 1) // 2)
            *trimmed, popped = commands.execute()
            for key, _ in popped:
                commands.delete(key)
            commands.execute()
        return int(sum(trimmed)) + len(popped)

    def memory_share(self) -> float:
        """The memory that Redis uses, as a share of its limit; 0 without a limit."""
        memory = self._client.info("memory")
        limit = int(memory["maxmemory"])
        return int(memory["used_memory"]) / limit if limit else 0.0

    def _programs(self) -> list[str]:
        return [program.decode() for program in cast("list[bytes]", self._client.zrange(PROGRAMS, 0, -1))]

    def _oldest(self, now: int) -> str:
        return f"{max(0, now - self.bounds.kept_us) // MILLISECOND_US}-0"


def _pairs(score: int, members: Iterable[str]) -> Iterator[str | int]:
    """Members of a sorted set, all with the same score."""
    for member in members:
        yield score
        yield member
