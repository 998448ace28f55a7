"""Scores transfers whose stored vectors have another feature version: replays the program's log into a second state.

The scorings go to an unnamed temporary file until the whole log has been read, because only then is it known which
scoring of a transfer is its last. For that time the program's state is in memory a second time.
"""

import struct
import time
from collections.abc import Iterable, Iterator
from threading import Event
from typing import BinaryIO, Final

import msgspec

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.backfill import Rescored
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.measurement.rescored import replayed
from clearhold.features.shard.shard import ShardState

LONGEST_REST_S: Final = 0.02


class Throttle:
    """Slows down a long computation in a thread, which calls ``rest`` every few milliseconds.

    Elapsed time less running time is the time for which others had the interpreter or the processor: the thread rests
    for as long, and not at all on an idle machine.
    """

    def __init__(self) -> None:
        self._began, self._ran = time.monotonic(), time.thread_time()

    def rest(self) -> None:
        """Rest for as long as is due, and measure again."""
        kept_waiting = (time.monotonic() - self._began) - (time.thread_time() - self._ran)
        time.sleep(min(max(0.0, kept_waiting), LONGEST_REST_S))
        self._began, self._ran = time.monotonic(), time.thread_time()


_FRAME: Final = struct.Struct("<qI")
_SLICE_ENTRIES: Final = 20
_BACKFILL: Final = EntryKind.BACKFILL.value


class LogReplay:
    """One program's log, read once. Used by one thread at a time; the caller closes the file."""

    def __init__(self, shard: int, program_id: str, scorings: BinaryIO) -> None:
        self._state = ShardState(shard)
        self._program = self._state.program(program_id)
        self._program.runs_detectors = False
        self._scorings = scorings
        self._is_chosen = bytearray()

    def read(self, history: Iterable[LogEntry], *, stopping: Event) -> None:
        """Apply the log, without the steps of earlier backfills."""
        giving_way = Throttle()
        for number, entry in enumerate(history):
            if stopping.is_set():
                return
            if entry.kind != _BACKFILL:
                self._state.apply(entry, self._store)
            if number % _SLICE_ENTRIES == 0:
                giving_way.rest()

    def choose(self, transfer_ids: Iterable[list[str]]) -> int:
        """Choose the transfers to score; returns how many of them are not in the log."""
        self._is_chosen = bytearray(len(self._program.transfers))
        unknown = 0
        for transfer_id in (each for some in transfer_ids for each in some):
            row = self._program.transfers.row_of(transfer_id)
            if row is None:
                unknown += 1
            else:
                self._is_chosen[row] = True
        self._scorings.seek(0)
        return unknown

    def results(self, after: int) -> Iterator[tuple[int, Rescored]]:
        """The last scoring of each chosen transfer, with its offset, in log order after ``after``."""
        transfers = self._program.transfers
        while head := self._scorings.read(_FRAME.size):
            offset, size = _FRAME.unpack(head)
            encoded = self._scorings.read(size)
            if offset <= after:
                continue
            result = msgspec.msgpack.decode(encoded, type=Rescored)
            row = transfers.row_of(result.transfer_id)
            if row is not None and self._is_chosen[row] and transfers.read(row).scored_offset == offset:
                yield offset, result

    def _store(self, row: msgspec.Struct) -> None:
        if isinstance(row, TransferFeaturesRow):
            encoded = msgspec.msgpack.encode(replayed(row))
            self._scorings.write(_FRAME.pack(row.offset, len(encoded)) + encoded)
