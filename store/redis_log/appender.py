"""Appends to the log: a call returns once its entry is fsynced, and not before.

Group commit: while one write is under way the next one fills, so any number of callers share an fsync.

A write of the log's owner whose connection breaks goes on over the next one: what of it is in the log is confirmed, or
it is sent again (``broken_write.py``). Its callers are answered as usual, or get the error when its limit is over. The
embedded Redis has no such owner, and a break is an error at once.

Errors  ``UnavailableError`` when Redis did not confirm the entry in time, or returned without its former log. The entry
        may be in the log nevertheless, if only the reply was lost, so readers skip entries that they have already seen
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import redis.asyncio
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store import clock
from clearhold.store.data_dir import LogIdentity
from clearhold.store.errors import StartupError
from clearhold.store.redis_log.broken_write import UnsettledError, confirm, ids_in_log
from clearhold.store.redis_log.fenced import FencedError, FencedWrite
from clearhold.store.redis_log.log_connections import LogConnections
from clearhold.store.redis_log.new_entries import NewEntries
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.pipeline import AppendTimes, Pipeline
from clearhold.store.redis_log.reader import offset_of
from clearhold.store.redis_log.waiting_append import WaitingAppend, WaitingAppends
from clearhold.store.redis_log.writes import (
    FencedWrites,
    LogWrites,
    PackedWrite,
    PlainWrites,
    ToProgram,
    ids_of,
)
from clearhold.store.seals import EntrySeals

WRITE_WITHIN_S: Final = 1.5
"""Connecting, sending and all confirmations of one write: the latest time at which callers learn that Redis is gone."""

MAX_WRITE_ENTRIES: Final = 512
MAX_WRITE_BYTES: Final = 4 * 1024 * 1024
MAX_WAITING_ENTRIES: Final = 20_000
MAX_WAITING_BYTES: Final = 256 * 1024 * 1024
_RECONNECT_EVERY_S: Final = 0.02
_ANSWER_S: Final = 0.1
"""The time for the answer that too few replicas have confirmed, within the limit of a write."""

OVERLOADED: Final = "The log cannot keep up right now. Try again."
STANDING_BY: Final = "Another node owns the log, and this one stands by. Nothing was stored."


class LogAppender:
    """Belongs to one event loop. It keeps one of the client's connections, which is closed with the client.

    Where ``identity`` is given, each new connection must lead to that log, with all that was appended to it. Without
    ``seals`` entries have no seal. ``numbers`` are the highest ones of seals so far, by shard. ``ownership`` is there
    for a named Redis, which appends for its owner alone; ``replicas`` of it must then confirm each write.
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        *,
        shards: int,
        identity: LogIdentity | None = None,
        seals: EntrySeals | None = None,
        numbers: Sequence[int] = (),
        ownership: LogOwnership | None = None,
        replicas: int = 0,
    ) -> None:
        self.ownership, self._replicas = ownership, replicas
        self._writes: LogWrites = PlainWrites() if ownership is None else FencedWrites()
        self._fenced: FencedWrite | None = None  # the write under way
        self._broken: FencedWrite | None = None  # the write under way, whose connection broke
        self.identity = identity
        self._entries = NewEntries(shards, seals, numbers)
        self._connections = LogConnections(client, identity, ownership)
        self._waiting = WaitingAppends()
        self._under_way: deque[WaitingAppend] = deque()
        self._times = AppendTimes()
        self._writing_since: float | None = None
        self._oldest_began = 0.0  # of the write under way
        self._late: asyncio.TimerHandle | None = None
        self._pipeline: Pipeline | None = None
        self._connecting: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect before the first append, while the process opens its files."""
        await self._connection_begun()
        if self._pipeline is None:
            raise StartupError("Redis stopped answering during the start.")

    async def append(self, shard: int, kind: EntryKind, program_id: str, appended_at: int, body: bytes) -> int:
        """Append one entry to a shard's stream and return its offset."""
        entry = self._entries.to_shard(shard, kind, program_id, appended_at, body)
        offset = offset_of((await self._written(self._writes.entries([entry])))[0])
        self._entries.note(shard, offset)
        return offset

    async def append_events(
        self,
        shard: int,
        program_id: str,
        appended_at: int,
        bodies: Sequence[bytes],
        *,
        kind: EntryKind = EntryKind.BANK,
    ) -> list[int]:
        """Append events in order, bank events without a kind: all are in the log, or none is.

        Returns their offsets.
        """
        if len(bodies) == 1:
            return [await self.append(shard, kind, program_id, appended_at, bodies[0])]
        entries = [self._entries.to_shard(shard, kind, program_id, appended_at, body) for body in bodies]
        offsets = [offset_of(each) for each in await self._written(self._writes.entries(entries))]
        self._entries.note(shard, offsets[-1])
        return offsets

    async def append_control(
        self,
        tenant_id: str,
        kind: str,
        appended_at: int,
        body: bytes,
        *,
        to_programs: Sequence[ToProgram] = (),
    ) -> int:
        """Append to the tenant's control stream and return the offset there. Entries for programs go to their
        shards in the same transaction, in order: all of it is in the log, or nothing is.
        """
        entries = [
            self._entries.to_control(tenant_id, kind, appended_at, body),
            *(
                self._entries.to_shard(each.shard, each.kind, each.program_id, appended_at, each.body)
                for each in to_programs
            ),
        ]
        stream_id, *stream_ids = await self._written(self._writes.control(tenant_id, entries))
        for each, appended in zip(to_programs, stream_ids, strict=True):
            self._entries.note(each.shard, offset_of(appended))
        return offset_of(stream_id)

    def resume(self, numbers: Sequence[int], ends: Sequence[int]) -> None:
        """Continue behind another owner's entries, before the first append: ``numbers`` are the highest ones of seals,
        ``ends`` the offsets of the newest entries, both by shard.
        """
        self._entries.resume(numbers, ends)

    def last_appended(self, shard: int) -> int:
        """The highest offset that this process appended to the shard, or that of the log's end when it took the log
        from another owner; 0 if neither.
        """
        return self._entries.last[shard]

    @property
    def waiting_entries(self) -> int:
        """The number of callers whose entries are not sent to Redis yet."""
        return len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """The size of their commands."""
        return self._waiting.size_bytes

    def expected_s(self) -> float:
        """The estimated seconds of an append that begins now; no less than the time of the present write so far."""
        now = asyncio.get_running_loop().time()
        under_way = 0.0 if self._writing_since is None else now - self._writing_since
        return max(under_way, self._times.expected_s(now=now))

    async def _written(self, write: PackedWrite) -> list[bytes]:
        """The ids of the entries, once they are in the log."""
        if self.ownership is not None and not self.ownership.is_owner:
            raise UnavailableError(STANDING_BY, ErrorCode.STANDBY)
        if len(self._waiting) >= MAX_WAITING_ENTRIES or self.waiting_bytes >= MAX_WAITING_BYTES:
            raise UnavailableError(OVERLOADED, ErrorCode.OVERLOADED)
        loop = asyncio.get_running_loop()
        append = WaitingAppend(write, done=loop.create_future(), began=loop.time())
        self._waiting.add(append)
        self._write_waiting()
        return ids_of(await append.done)

    def _write_waiting(self) -> None:
        """Write the waiting appends, unless a write is under way; connect first if need be."""
        if self._under_way or not self._waiting:
            return
        loop = asyncio.get_running_loop()
        if self._writing_since is None:
            self._writing_since = loop.time()
        if self._late is None:
            self._late = clock.call_at(self._writing_since + WRITE_WITHIN_S, self._end_if_late)
        if self._pipeline is None:
            self._connection_begun()
            return
        batch = self._waiting.take(most=MAX_WRITE_ENTRIES, most_bytes=MAX_WRITE_BYTES)
        self._under_way.extend(batch)
        self._oldest_began = batch[0].began
        if self.ownership is None:
            self._pipeline.write(b"".join([append.packed for append in batch]))
            return
        calls = [(append.packed, append.replies) for append in batch]
        self._fenced = FencedWrite(self.ownership.epoch, calls, replicas=self._replicas, within_s=self._left_s())
        self._pipeline.write(self._fenced.packed)

    def _left_s(self) -> float:
        """The time for confirmations of the write under way."""
        began = self._writing_since
        return 0.0 if began is None else began + WRITE_WITHIN_S - asyncio.get_running_loop().time() - _ANSWER_S

    def _replied(self, reply: Any) -> None:
        if not self._under_way:
            self._fail_all(RedisConnectionError("Redis sent an answer without a command."))
        elif self._fenced is not None:
            if self._fenced.take(reply):
                self._end_fenced(self._fenced)
        elif self._under_way[0].take(reply):
            self._under_way.popleft()
            if not self._under_way:
                self._end_write(self._oldest_began)
                self._write_waiting()

    def _end_fenced(self, write: FencedWrite) -> None:
        failure, loss = write.failure, write.loss
        if loss is not None and self.ownership is not None:
            self.ownership.note(loss)
        if write.is_elsewhere:
            self._go_on_elsewhere(RedisConnectionError())
            return
        self._fenced = None
        if failure is None:
            self._answer(write.answers())
        if failure is not None or loss is not None:
            self._fail_all(failure or loss or RedisConnectionError())
        self._write_waiting()

    def _answer(self, answers: Sequence[list[Any]]) -> None:
        for append, replies in zip(self._under_way, answers, strict=True):
            append.take_all(replies)
        self._under_way.clear()
        self._end_write(self._oldest_began)

    def _go_on_elsewhere(self, cause: Exception) -> None:
        """The connection is over: settle a write of the owner on the next one."""
        if self._fenced is None:
            self._fail_all(cause)
            return
        self._broken = self._fenced
        self._close_pipeline()
        self._connection_begun()

    async def _settle(self, connection: AbstractConnection) -> None:
        """Answer the callers of a write that was broken off, or let it be sent again."""
        broken = self._broken
        if broken is None:
            return
        if not self._connections.is_certain:
            raise UnsettledError("Redis does not name its run (run_id of INFO).")
        ids = await ids_in_log(connection, broken.word, broken.calls)
        if ids is not None:
            await confirm(connection, self._replicas, self._left_s())
        if self._broken is not broken:  # its limit is over
            return
        self._broken = None
        if ids is None:
            self._put_back()
        else:
            self._answer(ids)

    def _put_back(self) -> None:
        """Let a write that is not in the log be sent again, before the waiting ones."""
        self._waiting.put_back(self._under_way)
        self._under_way.clear()

    def _close_pipeline(self) -> None:
        if self._pipeline is not None:
            self._connections.close(self._pipeline)
            self._pipeline = None
        self._fenced = None

    def _end_write(self, began: float) -> None:
        now = asyncio.get_running_loop().time()
        self._writing_since = None
        self._times.note(now - began, now=now)

    def _end_if_late(self) -> None:
        """One timer for all writes: it looks at the one under way, and again when that would be late. It alone ends
        them: the client may swallow that it is cancelled, and go on.
        """
        self._late = None
        if self._writing_since is None:
            return
        late_at = self._writing_since + WRITE_WITHIN_S
        if asyncio.get_running_loop().time() >= late_at:
            self._fail_all(TimeoutError())
        else:
            self._late = clock.call_at(late_at, self._end_if_late)

    def _fail_all(self, cause: BaseException) -> None:
        """Also fail the queued appends: they have waited as long for the same Redis."""
        self._close_pipeline()
        self._broken = None
        failed = [*self._under_way, *self._waiting.take(most=len(self._waiting), most_bytes=self.waiting_bytes)]
        self._under_way.clear()
        if failed:
            self._end_write(failed[0].began)
        for append in failed:
            append.fail(cause)

    def _connection_begun(self) -> "asyncio.Task[None]":
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
        return self._connecting

    async def _connect(self) -> None:
        try:
            self._pipeline = await self._connected()
        except BaseException as error:
            self._fail_all(error)  # No caller may wait forever when the loop is closed.
            raise
        finally:
            self._connecting = None
        self._write_waiting()

    async def _connected(self) -> Pipeline | None:
        """A connection to a Redis that has loaded its log; None after the time limit, without waiting callers."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + WRITE_WITHIN_S
        hooks: Any = {"settle": self._settle, "on_reply": self._replied, "on_end": self._go_on_elsewhere}
        while self._waiting or self._under_way or loop.time() < give_up_at:
            try:
                return await self._connections.open(self._entries.last, **hooks)
            except (FencedError, UnsettledError) as error:
                self._fail_all(error)
                return None
            except (RedisError, OSError, RuntimeError):  # the last one for a socket that closed under the client
                await asyncio.sleep(_RECONNECT_EVERY_S)
        return None
