"""The program whose instructions are counted: it loads a state and applies events of a file, with their rows.

It imports nothing but ``features``, because under valgrind an import costs as much as many events. Collections of
garbage are switched off, since they would fall on some runs and not on others.
"""

import gc
import sys
from pathlib import Path
from typing import Final

import msgspec

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.shard import ShardState

PROGRAM_ID: Final = "program-1"
APPENDED_AT: Final = 1_900_000_000_000_000


def entry_of(offset: int, body: bytes) -> LogEntry:
    return LogEntry(0, offset, EntryKind.BANK.value, PROGRAM_ID, APPENDED_AT, body)


def main() -> None:
    """Arguments: the file of the state's parts, the file of events a line, the number of events to apply."""
    gc.disable()
    states, bodies, count = sys.argv[1:]
    state = ShardState.loaded(iter(msgspec.msgpack.decode(Path(states).read_bytes(), type=list[bytes])))
    rows: list[msgspec.Struct] = []
    for offset, body in enumerate(Path(bodies).read_bytes().split(b"\n")[: int(count)], state.applied_offset + 1):
        state.apply(entry_of(offset, body), rows.append)


if __name__ == "__main__":
    main()
