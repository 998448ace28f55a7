"""The shards of this process, and the lock under which another thread may read one.

The flow changes a shard one entry at a time and acquires the lock for each entry, so a reader waits for one entry at
most. Locks are not fair by themselves, so the flow lets a waiting reader go first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock

from clearhold.features.core.log_entry import LogEntry, shard_of
from clearhold.features.core.rows.emit import Emit
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState


class _Guarded:
    """A shard's state with its lock; ``waiting`` counts the readers that go before the next entry."""

    __slots__ = ("lock", "readers_done", "state", "waiting")

    def __init__(self, state: ShardState) -> None:
        self.state = state
        self.lock = Lock()
        self.readers_done = Condition(self.lock)
        self.waiting = 0


class Shards:
    """The shards that this process owns."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._guarded = [_Guarded(ShardState(shard)) for shard in range(count)]

    def restore(self, state: ShardState) -> None:
        """Replace a shard's state by a loaded one, before the first read or entry."""
        self._guarded[state.shard].state = state

    def state(self, shard: int) -> ShardState:
        """The state itself, for the one thread that changes it."""
        return self._guarded[shard].state

    def apply(self, entry: LogEntry, emit: Emit) -> None:
        """Apply one entry under the shard's lock, after the readers that already wait."""
        guarded = self._guarded[entry.shard]
        with guarded.lock:
            if guarded.waiting:
                guarded.readers_done.wait_for(lambda: not guarded.waiting, timeout=0.05)
            guarded.state.apply(entry, emit)

    @contextmanager
    def reading(self, program_id: str) -> Iterator[ProgramState]:
        """A program's state under the lock, for one reading thread only: ``waiting`` is counted outside the lock."""
        guarded = self._guarded[shard_of(program_id, self.count)]
        guarded.waiting += 1
        with guarded.lock:
            guarded.waiting -= 1
            try:
                yield guarded.state.programs.get(program_id) or ProgramState(program_id)
            finally:
                if not guarded.waiting:
                    guarded.readers_done.notify_all()

    def applied_offset(self, shard: int) -> int:
        return self._guarded[shard].state.applied_offset
