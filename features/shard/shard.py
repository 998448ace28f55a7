"""One shard: the state of its programs, changed by one log entry after the other.

Applying an entry is a function of the entry and the state: no clock, no randomness, no I/O. The same entries in the
same order end in the same state and the same rows. ``appliers.py`` lists the kinds of entries, and ``pipeline.py`` is
the way of a bank event.

The shards of a process have a lock under which another thread may read one. The flow changes a shard one entry at a
time and acquires the lock for each entry, so a reader waits for one entry at most. Locks are not fair by
themselves, so the flow lets a waiting reader go first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from typing import Final

import msgspec

from clearhold.features.core.log_entry import FORGED, Emit, EntryKind, LogEntry, SealOrder, shard_of
from clearhold.features.shard.appliers import APPLIERS
from clearhold.features.shard.pipeline import quarantine_row
from clearhold.features.state.program import ProgramState

_BACKFILL: Final = EntryKind.BACKFILL.value
_PART: Final = msgspec.msgpack.Decoder(tuple[str, str, msgspec.Raw])


class ShardState:
    """The programs of one shard and the offset of the last applied entry."""

    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.applied_offset = 0
        self._seal_order = SealOrder()
        self.programs: dict[str, ProgramState] = {}
        self._in_page: dict[str, ProgramState] = {}  # changed since the last page ended

    def program(self, program_id: str) -> ProgramState:
        program = self.programs.get(program_id)
        if program is None:
            program = self.programs[program_id] = ProgramState(program_id)
        return program

    @property
    def transfers(self) -> int:
        """The number of transfers of the shard's programs."""
        return sum(len(program.transfers) for program in self.programs.values())

    @property
    def size(self) -> int:
        """The number of transfers and parties, which the cost of a dump grows with."""
        programs = self.programs.values()
        return sum(len(each.transfers) + len(each.actors) + len(each.counterparties.all) for each in programs)

    def apply(self, entry: LogEntry, emit: Emit, *, ends_page: bool = True) -> None:
        """Change the state by one entry and emit its rows; an entry that fails is quarantined.

        Entries that are committed together are a page: an alert that several of them join is written at its end.
        """
        try:
            self._apply(entry, emit)
        except Exception as error:  # noqa: BLE001 - any failure of one entry: it is set aside, the others go on
            emit(quarantine_row(entry, f"{type(error).__name__}: {error}"))
        self.applied_offset = entry.offset
        while ends_page and self.write_alert(entry, emit):
            pass

    def write_alert(self, entry: LogEntry, emit: Emit) -> bool:
        """Write one of the alerts that entries joined since the last page, which ``entry`` ends; False without any.

        An alert that fails keeps its former texts, and the entry is quarantined.
        """
        while self._in_page:
            program_id, program = self._in_page.popitem()
            if program.alerts.unwritten:
                self._in_page[program_id] = program
                try:
                    program.alerts.write_next()
                except Exception as error:  # noqa: BLE001 - as in ``apply``
                    emit(quarantine_row(entry, f"{type(error).__name__}: {error}"))
                return True
            program.read_transfers.end_page()
        return False

    def _apply(self, entry: LogEntry, emit: Emit) -> None:
        if self._seal_order.checked(entry).is_forged:
            emit(quarantine_row(entry, FORGED))
            return
        applier = APPLIERS.get(entry.kind)
        if applier is None:
            emit(quarantine_row(entry, f"unknown kind {entry.kind!r}"))
            return
        body = applier.decode(entry.body)
        if not applier.to_every_program:
            program = self._in_page[entry.program_id] = self.program(entry.program_id)
            applier.apply(program, body, entry, emit)
            if entry.kind != _BACKFILL:
                program.arrivals.newest_offset = entry.offset
            return
        self._in_page |= self.programs
        for program in self.programs.values():
            applier.apply(program, body, entry, emit)

    def dump(self) -> Iterator[bytes]:
        """The state as a sequence of encoded parts, each small enough not to block the shard for long."""
        encode = msgspec.msgpack.encode
        yield encode(("shard", self.shard, self.applied_offset, self._seal_order.newest))
        for program in self.programs.values():
            for part, dumped in program.dump():
                yield encode((part, program.id, dumped))

    @classmethod
    def loaded(cls, parts: Iterator[bytes | memoryview]) -> "ShardState":
        """The state that ``dump`` was called on."""
        decode = msgspec.msgpack.decode
        _, shard, applied_offset, newest_seal = decode(next(parts))
        state = cls(shard)
        state.applied_offset = applied_offset
        state._seal_order = SealOrder(newest_seal)
        for encoded in parts:
            part, program_id, dumped = _PART.decode(encoded)
            state.program(program_id).load_part(part, decode(dumped))
        return state


class _Guarded:
    """A shard's state with its lock; ``waiting`` counts the readers that go before the next entry."""

    __slots__ = ("lock", "readers_done", "state", "waiting")

    def __init__(self, state: ShardState) -> None:
        self.state = state
        self.lock = Lock()
        self.readers_done = Condition(self.lock)
        self.waiting = 0

    def give_way(self) -> None:
        """Wait for the readers that already wait; called with the lock."""
        if self.waiting:
            self.readers_done.wait_for(lambda: not self.waiting, timeout=0.05)


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

    def apply(self, entry: LogEntry, emit: Emit, *, ends_page: bool = True) -> None:
        """Apply one entry under the shard's lock, after the readers that already wait."""
        guarded = self._guarded[entry.shard]
        with guarded.lock:
            guarded.give_way()
            guarded.state.apply(entry, emit, ends_page=ends_page)

    def write_alert(self, entry: LogEntry, emit: Emit) -> bool:
        """The same for one alert at the end of a page."""
        guarded = self._guarded[entry.shard]
        with guarded.lock:
            guarded.give_way()
            return guarded.state.write_alert(entry, emit)

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
