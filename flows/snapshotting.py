"""Checkpoints of shard states: taken on the flow thread, written by another, only once what they hold is committed.

A checkpoint is due after a number of entries that grows with the state, so taking it stays a small share of the work.
"""

from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final

import structlog

from features.shard.shard import ShardState
from features.shard.shards import Shards
from store.state_snapshots import StateSnapshots

DUE_ENTRIES: Final = 10_000
DUE_SHARE: Final = 10  # or a tenth of what the shard holds, whichever is more
_LENGTH_BYTES: Final = 8
_COMMIT_POLL_S: Final = 0.02

log = structlog.get_logger()


class Checkpointer:
    """Counts what each shard has applied since its last checkpoint and takes the next one when it is due."""

    def __init__(self, shards: Shards, checkpoints: StateSnapshots) -> None:
        self._shards, self._checkpoints = shards, checkpoints
        self._taken = {shard: shards.state(shard).applied_offset for shard in range(shards.count)}
        self._since = dict.fromkeys(range(shards.count), 0)
        self.written = dict(self._taken)
        self._queue: SimpleQueue[tuple[int, int, list[bytes]]] = SimpleQueue()
        self._closing = Event()
        self._thread = Thread(target=self._run, name="checkpointer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def offer(self, shard: int, entries: int) -> None:
        """Note applied entries and take the state if a checkpoint is due; called by the thread that changes it."""
        self._since[shard] += entries
        since = self._since[shard]
        if since >= DUE_ENTRIES and since * DUE_SHARE >= self._shards.state(shard).size:
            self.take(shard)

    def take(self, shard: int) -> None:
        """Take the state as it is now, if it changed since the last time."""
        state = self._shards.state(shard)
        if state.applied_offset == self._taken[shard]:
            return
        self._taken[shard], self._since[shard] = state.applied_offset, 0
        self._queue.put((shard, state.applied_offset, list(state.dump())))

    def close(self, timeout_s: float) -> bool:
        """Write what was taken and stop; False when that took too long, and the log will be replayed instead."""
        self._closing.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            try:
                shard, offset, parts = self._queue.get(timeout=0.1)
            except Empty:
                if self._closing.is_set():
                    return
                continue
            while self._shards.committed_offset(shard) < offset:
                if self._closing.wait(_COMMIT_POLL_S) and self._shards.committed_offset(shard) < offset:
                    log.warning("checkpoint_dropped", shard=shard, offset=offset)
                    break
            else:
                self._write(shard, offset, parts)

    def _write(self, shard: int, offset: int, parts: list[bytes]) -> None:
        try:
            self._checkpoints.write(shard, offset, _framed(parts))
        except OSError as error:
            log.error("checkpoint_failed", shard=shard, error=str(error))  # noqa: TRY400 - more of the log is replayed
            return
        self.written[shard] = offset


def load_state(checkpoints: StateSnapshots, shard: int, *, committed_offset: int) -> ShardState:
    """The shard's newest checkpointed state, or a new one; one that cannot be read costs a replay, not the start.

    One ahead of the tables, as after an older database was put back, would skip rows for good, and is not used.
    """
    found = checkpoints.newest(shard)
    if found is None:
        return ShardState(shard)
    if found[0] > committed_offset:
        log.warning("checkpoint_ahead", shard=shard, offset=found[0], committed=committed_offset)
        return ShardState(shard)
    try:
        return ShardState.loaded(_parts(found[1]))
    except Exception as error:  # noqa: BLE001 - whatever another version may have written: the log is replayed instead
        log.warning("checkpoint_unreadable", shard=shard, offset=found[0], error=f"{type(error).__name__}: {error}")
        return ShardState(shard)


def _framed(parts: list[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield len(part).to_bytes(_LENGTH_BYTES, "big")
        yield part


def _parts(framed: bytes) -> Iterator[memoryview]:
    view, at = memoryview(framed), 0
    while at < len(view):
        length = int.from_bytes(view[at : at + _LENGTH_BYTES], "big")
        at += _LENGTH_BYTES
        yield view[at : at + length]
        at += length
