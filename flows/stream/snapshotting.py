"""Snapshots of shard states: taken on the flow thread, written by another thread.

A snapshot is due after a number of entries that grows with the state, so snapshots stay a small share of the work. One
may be ahead of the commits; a start takes the newest committed one (``StateSnapshots.newest``).
"""

from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final

import structlog

from clearhold.features.shard.shard import Shards, ShardState
from clearhold.store.state_snapshots import StateSnapshots

DUE_ENTRIES: Final = 10_000
DUE_SHARE: Final = 10  # or a tenth of the shard's entries, if that is more
ANY_OFFSET: Final = 2**64
_LENGTH_BYTES: Final = 8

log = structlog.get_logger()


class SnapshotWriter:
    """Counts each shard's entries since its last snapshot, and takes the next one when it is due.

    ``written`` holds the offset of each shard's newest snapshot on disk.
    """

    def __init__(self, shards: Shards, snapshots: StateSnapshots) -> None:
        self._shards, self._snapshots = shards, snapshots
        self._taken: dict[int, int] = {}
        self._since = dict.fromkeys(range(shards.count), 0)
        self.written: dict[int, int] = {}
        self._queue: SimpleQueue[tuple[int, int, list[bytes]]] = SimpleQueue()
        self._closing = Event()
        self._thread = Thread(target=self._run, name="snapshot-writer", daemon=True)

    def begin(self) -> None:
        """Start with freshly loaded states, each of which is in a snapshot."""
        self._taken = {shard: self._shards.applied_offset(shard) for shard in range(self._shards.count)}
        self.written |= self._taken
        self._thread.start()

    def offer(self, shard: int, entries: int) -> None:
        """Note applied entries and take a snapshot if one is due; called by the thread that changes the state."""
        self._since[shard] += entries
        since = self._since[shard]
        if since >= DUE_ENTRIES and since * DUE_SHARE >= self._shards.state(shard).size:
            self.take(shard)

    def take(self, shard: int) -> None:
        """Take a snapshot of the present state, unless it has not changed since the last one."""
        state = self._shards.state(shard)
        if state.applied_offset == self._taken[shard]:
            return
        self._taken[shard], self._since[shard] = state.applied_offset, 0
        self._queue.put((shard, state.applied_offset, list(state.dump())))

    def close(self, timeout_s: float) -> bool:
        """Write the snapshots taken and stop; False if that took too long: then the log will be replayed."""
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
            self._write(shard, offset, parts)

    def _write(self, shard: int, offset: int, parts: list[bytes]) -> None:
        try:
            self._snapshots.write(shard, offset, framed(parts))
        except OSError as error:
            log.error("snapshot_failed", shard=shard, error=str(error))  # noqa: TRY400 - a start replays more of the log
            return
        self.written[shard] = offset


def load_state(snapshots: StateSnapshots, shard: int, *, committed_offset: int = ANY_OFFSET) -> ShardState:
    """The newest usable snapshot of a shard up to that offset, or an empty state: a missing one costs only a replay."""
    snapshot = snapshots.newest(shard, upto=committed_offset)
    if snapshot is None:
        return ShardState(shard)
    offset, state = snapshot
    try:
        return ShardState.loaded(_parts(state))
    except Exception as error:  # noqa: BLE001 - another version may have written it: the log is replayed
        log.warning("snapshot_unreadable", shard=shard, offset=offset, error=f"{type(error).__name__}: {error}")
        return ShardState(shard)


def framed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of a dumped state, each after its length."""
    for part in parts:
        yield len(part).to_bytes(_LENGTH_BYTES, "big")
        yield part


def _parts(framed: memoryview) -> Iterator[memoryview]:
    at = 0
    while at < len(framed):
        length = int.from_bytes(framed[at : at + _LENGTH_BYTES], "big")
        at += _LENGTH_BYTES
        yield framed[at : at + length]
        at += length
