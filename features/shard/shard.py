"""One shard: the state of its programs, changed by one log entry after the other.

Applying an entry is a function of the entry and the state: no clock, no randomness, no I/O. The same entries in the
same order end in the same state and the same rows. ``appliers.py`` lists the kinds of entries, and ``pipeline.py`` is
the way of a bank event.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.emit import Emit
from clearhold.features.shard.appliers import APPLIERS
from clearhold.features.shard.pipeline import quarantine_row
from clearhold.features.state.program import ProgramState

_PART: Final = msgspec.msgpack.Decoder(tuple[str, str, msgspec.Raw])


class ShardState:
    """The programs of one shard and the offset of the last applied entry."""

    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.applied_offset = 0
        self.programs: dict[str, ProgramState] = {}

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

    def apply(self, entry: LogEntry, emit: Emit) -> None:
        """Change the state by one entry and emit its rows; an entry that fails is quarantined."""
        try:
            self._apply(entry, emit)
        except Exception as error:  # noqa: BLE001 - any failure of one entry: it is set aside, the others go on
            emit(quarantine_row(entry, f"{type(error).__name__}: {error}"))
        self.applied_offset = entry.offset

    def _apply(self, entry: LogEntry, emit: Emit) -> None:
        applier = APPLIERS.get(entry.kind)
        if applier is None:
            emit(quarantine_row(entry, f"unknown kind {entry.kind!r}"))
            return
        body = applier.decode(entry.body)
        if not applier.to_every_program:
            applier.apply(self.program(entry.program_id), body, entry, emit)
            return
        for program in self.programs.values():
            applier.apply(program, body, entry, emit)

    def dump(self) -> Iterator[bytes]:
        """The state as a sequence of encoded parts, each small enough not to block the shard for long."""
        encode = msgspec.msgpack.encode
        yield encode(("shard", self.shard, self.applied_offset))
        for program in self.programs.values():
            for part, dumped in program.dump():
                yield encode((part, program.id, dumped))

    @classmethod
    def loaded(cls, parts: Iterator[bytes | memoryview]) -> "ShardState":
        """The state that ``dump`` was called on."""
        decode = msgspec.msgpack.decode
        _, shard, applied_offset = decode(next(parts))
        state = cls(shard)
        state.applied_offset = applied_offset
        for encoded in parts:
            part, program_id, dumped = _PART.decode(encoded)
            state.program(program_id).load_part(part, decode(dumped))
        return state
