"""One program's log in the order of its facts' own time: read once from segments and Redis, then handed out sorted.

Entries of one own time are sorted when they are handed out (``features/shard/own_time.py``).

Entries lie in an unnamed temporary file; memory has their own times, places and offsets, 32 bytes an entry.
"""

import os
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from threading import Event
from typing import IO, Final

import msgspec
import numpy as np

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.own_time import OwnTimes, order_of_lives
from clearhold.features.windows.series import ALWAYS

_BACKFILL: Final = EntryKind.BACKFILL.value
_DECODE: Final = msgspec.msgpack.Decoder(LogEntry).decode
_DECISIONS: Final = frozenset({EntryKind.DECISION.value, EntryKind.ACTION.value})


class OrderedLog:
    """Used by one thread at a time; the caller closes the file.

    The entries handed out have offsets from 1 on in their new order, as if the log had been written in it;
    ``offset_of`` is the offset in the log.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.own_times = OwnTimes()
        self.has_decisions = False  # of persons, on alerts or by actions
        self._file = file
        self._keys, self._ends, self._offsets = array("q"), array("q", [0]), array("q")
        self._order = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def read(self, history: Iterable[LogEntry], *, stopping: Event) -> None:
        """Read the log, without the steps of earlier backfills."""
        encode = msgspec.msgpack.encode
        for entry in history:
            if stopping.is_set():
                return
            if entry.kind == _BACKFILL:
                continue
            self.has_decisions |= entry.kind in _DECISIONS
            encoded = encode(entry)
            self._file.write(encoded)
            self._keys.append(self.own_times.of(entry))
            self._ends.append(self._ends[-1] + len(encoded))
            self._offsets.append(entry.offset)
        self._file.flush()
        self._order = np.argsort(np.frombuffer(self._keys, np.int64), kind="stable")

    def entries(self) -> Iterator[LogEntry]:
        """All entries, sorted."""
        keys = np.frombuffer(self._keys, np.int64)[self._order]
        bounds = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
        for start, end in pairwise(bounds):
            places = self._order[start:end]
            if end - start > 1 and keys[start] != ALWAYS:
                places[:] = places[order_of_lives(map(self._entry, places))]
            for number, place in enumerate(places, start + 1):
                yield msgspec.structs.replace(self._entry(place), offset=number)

    def _entry(self, place: int) -> LogEntry:
        start, end = self._ends[place], self._ends[place + 1]
        return _DECODE(os.pread(self._file.fileno(), end - start, start))

    def offset_of(self, number: int) -> int:
        return self._offsets[int(self._order[number - 1])]
