"""Snapshots of shard states: taken on the flow thread, written by another thread once their entries are committed.

A snapshot is due after a number of entries that grows with the state, so taking snapshots stays a small share of the
work.
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


class SnapshotWriter:
    """Counts the entries that each shard has applied since its last snapshot, and takes the next one when it is due.

    ``written`` holds the offset of each shard's newest snapshot on disk.
    """

    def __init__(self, shards: Shards, snapshots: StateSnapshots) -> None:
        self._shards, self._snapshots = shards, snapshots
        self._taken = {shard: shards.state(shard).applied_offset for shard in range(shards.count)}
        self._since = dict.fromkeys(range(shards.count), 0)
        self.written = dict(self._taken)
        self._queue: SimpleQueue[tuple[int, int, list[bytes]]] = SimpleQueue()
        self._closing = Event()
        self._thread = Thread(target=self._run, name="snapshot-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def offer(self, shard: int, entries: int) -> None:
        """Note applied entries and take a snapshot if one is due; called by the thread that changes the state."""
        self._since[shard] += entries
        since = self._since[shard]
        if since >= DUE_ENTRIES and since * DUE_SHARE >= self._shards.state(shard).size:
            self.take(shard)

    def take(self, shard: int) -> None:
        """Take a snapshot of the state as it is now, unless it has not changed since the last one."""
        state = self._shards.state(shard)
        if state.applied_offset == self._taken[shard]:
            return
        self._taken[shard], self._since[shard] = state.applied_offset, 0
        self._queue.put((shard, state.applied_offset, list(state.dump())))

    def close(self, timeout_s: float) -> bool:
        """Write the snapshots taken and stop; False if that took too long, and the log will be replayed instead."""
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
                    log.warning("snapshot_dropped", shard=shard, offset=offset)
                    break
            else:
                self._write(shard, offset, parts)

    def _write(self, shard: int, offset: int, parts: list[bytes]) -> None:
        try:
            self._snapshots.write(shard, offset, _framed(parts))
        except OSError as error:
            log.error("snapshot_failed", shard=shard, error=str(error))  # noqa: TRY400 - more of the log is replayed
            return
        self.written[shard] = offset


def load_state(snapshots: StateSnapshots, shard: int, *, committed_offset: int) -> ShardState:
    """The state in the shard's newest snapshot, or an empty one: an unreadable snapshot costs a replay, not the start.

    A snapshot ahead of the tables, as after an older database was restored, is not used: the rows between the two would
    never be written.
    """
    snapshot = snapshots.newest(shard)
    if snapshot is None:
        return ShardState(shard)
    offset, state = snapshot
    if offset > committed_offset:
        log.warning("snapshot_ahead", shard=shard, offset=offset, committed=committed_offset)
        return ShardState(shard)
    try:
        return ShardState.loaded(_parts(state))
    except Exception as error:  # noqa: BLE001 - whatever another version wrote: the log is replayed instead
        log.warning("snapshot_unreadable", shard=shard, offset=offset, error=f"{type(error).__name__}: {error}")
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
