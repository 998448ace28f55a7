"""Restores a lost or older Redis from the lake, and puts losses on the record.

All of it is one transaction of Redis: a crash leaves it undone or done.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import redis
from redis.client import Pipeline

from clearhold.features.core.entries.loss import LossEntry
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.program import Program
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ControlEntry, ControlKind
from clearhold.store.data_dir import DataDir
from clearhold.store.ids import new_id
from clearhold.store.joining.continuity import StreamEnds
from clearhold.store.joining.losses import Hole
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.keys import (
    FIELD_APPENDED_AT,
    FIELD_BODY,
    FIELD_KIND,
    FIELD_PROGRAM,
    TENANTS,
    control_key,
    shard_key,
)
from clearhold.store.redis_log.offsets import stream_id_of
from clearhold.store.redis_log.reader import LogReader


class Restoring:
    """The only writer to the Redis of one directory."""

    def __init__(self, client: redis.Redis, segments: LogSegments, data_dir: DataDir, clock: Clock) -> None:
        self._client, self._segments, self._clock = client, segments, clock
        self._shards = data_dir.shards

    def restore(self, shards: Sequence[StreamEnds], control: Mapping[str, StreamEnds], holes: Sequence[Hole]) -> None:
        """Bring the streams to their known ends, and append a loss for each affected tenant."""
        now = self._clock.now()
        with self._client.pipeline(transaction=True) as transaction:
            for tenant_id, ends in control.items():
                for entry in self._segments.read_control(tenant_id, ends.tail):
                    _add_control(transaction, entry)
            for shard, ends in enumerate(shards):
                if ends.is_behind:  # A tick behind the last known offset: nothing may be appended before it.
                    _add(transaction, shard, stream_id_of(ends.known + 1), EntryKind.TICK, "", now, b"")
            for program, hole in self._affected(control, holes):
                _add_loss(transaction, shard_of(program.id, self._shards), program, hole, now)
            transaction.execute()

    def _affected(self, control: Mapping[str, StreamEnds], holes: Sequence[Hole]) -> Iterator[tuple[Program, Hole]]:
        """For each hole, one program of each affected tenant."""
        programs = self._programs(control)
        for hole in holes:
            seen: set[str] = set()
            for program in programs:
                shard = self._segments.shard(shard_of(program.id, self._shards)).name
                own_control = self._segments.control(program.tenant_id).name
                if hole.stream in {shard, own_control} and program.tenant_id not in seen:
                    seen.add(program.tenant_id)
                    yield program, hole

    def _programs(self, control: Mapping[str, StreamEnds]) -> list[Program]:
        """All programs that the lake or Redis knows."""
        reader = LogReader(self._client, range(self._shards))
        programs: dict[str, Program] = {}
        for tenant_id, ends in control.items():
            for source in (self._segments.read_control(tenant_id, ends.tail), reader.control_of(tenant_id)):
                for _, _, kind, _, body in source:
                    if kind == ControlKind.PROGRAM:
                        program = msgspec.json.decode(body, type=Program)
                        programs[program.id] = program
        return sorted(programs.values(), key=lambda program: program.id)


def _add_control(transaction: Pipeline, entry: ControlEntry) -> None:
    tenant_id, offset, kind, appended_at, body = entry
    transaction.sadd(TENANTS, tenant_id)
    transaction.xadd(control_key(tenant_id), _fields(kind, "", appended_at, body), id=stream_id_of(offset))


def _add_loss(transaction: Pipeline, shard: int, program: Program, hole: Hole, now: int) -> None:
    loss = LossEntry(
        id=new_id(),
        tenant_id=program.tenant_id,
        stream=hole.stream,
        after=stream_id_of(hole.after),
        upto=stream_id_of(hole.upto),
        accepted_at=now,
    )
    _add(transaction, shard, "*", EntryKind.LOSS, program.id, now, msgspec.json.encode(loss))


def _add(
    transaction: Pipeline, shard: int, stream_id: str, kind: str, program_id: str, appended_at: int, body: bytes
) -> None:
    transaction.xadd(shard_key(shard), _fields(kind, program_id, appended_at, body), id=stream_id)


def _fields(kind: str, program_id: str, appended_at: int, body: bytes) -> dict[Any, Any]:
    return {FIELD_KIND: str(kind), FIELD_PROGRAM: program_id, FIELD_APPENDED_AT: appended_at, FIELD_BODY: body}
