"""Scores the transfers of a program from its facts: applies its log, in the order of own time, to a second state.

For programs with facts that arrived late, and for stored vectors of another feature version. The log is read once from
segments and Redis into an unnamed temporary file; memory has its entries' own times, places and offsets, 32 bytes an
entry. The entries are applied by the code that applies the stream. The scorings go to a second such file until the
whole log has been applied, because only then is it known which scoring of a transfer is its last. For that time the
program's state is in memory a second time. Only the scorings that differ from the stored ones are results.
"""

import os
import struct
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from threading import Event
from typing import IO, Final, TypeVar

import msgspec
import numpy as np

from clearhold.features.catalogue.vector import FEATURE_VERSION, PathOffsets, TransferFeaturesRow
from clearhold.features.core.canonical import json_text
from clearhold.features.core.entries.commands import Rescored
from clearhold.features.core.log_entry import EntryKind, LogEntry, no_rows
from clearhold.features.measurement.assessment import replayed, rescored
from clearhold.features.policy.card_book import TransferCard
from clearhold.features.shard.backfill import OwnTimes, order_of_lives
from clearhold.features.shard.shard import ShardState
from clearhold.features.windows.series import ALWAYS

_BACKFILL: Final = EntryKind.BACKFILL.value
_DECODE: Final = msgspec.msgpack.Decoder(LogEntry).decode
_OF_PEOPLE: Final = frozenset(
    {EntryKind.DECISION.value, EntryKind.DECISIONS.value, EntryKind.ACTION.value, EntryKind.LABEL.value}
)


class OrderedLog:
    """Used by one thread at a time; the caller closes the file.

    The entries handed out have offsets from 1 on in their new order, as if the log had been written in it;
    ``offset_of`` is the offset in the log.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.own_times = OwnTimes()
        self.has_clearings = False  # decisions and labels, which end points until an alert or a return contradicts them
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
            self.has_clearings |= entry.kind in _OF_PEOPLE
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
                # Without seals: their numbers grow in the order of the log, and were checked in it.
                yield msgspec.structs.replace(self._entry(place), offset=number, seal=b"")

    def _entry(self, place: int) -> LogEntry:
        start, end = self._ends[place], self._ends[place + 1]
        return _DECODE(os.pread(self._file.fileno(), end - start, start))

    def offset_of(self, number: int) -> int:
        return self._offsets[int(self._order[number - 1])]


Item = TypeVar("Item")

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


def gently(items: Iterable[Item], every: int) -> Iterator[Item]:
    """The items, with a rest after each ``every`` of them."""
    giving_way = Throttle()
    for number, item in enumerate(items):
        yield item
        if number % every == 0:
            giving_way.rest()


_FRAME: Final = struct.Struct("<q16sI")
_DIGEST_BYTES: Final = 16
_SLICE_ENTRIES: Final = 2  # below a millisecond: the interpreter lock is free that soon
_SLICE_SCORINGS: Final = 20
_PATHS: Final = msgspec.json.Decoder(PathOffsets)


class LogReplay:
    """One program's log, applied once. Used by one thread at a time; the caller closes the file."""

    def __init__(
        self, shard: int, program_id: str, log: OrderedLog, scorings: IO[bytes], *, reads_scores: bool
    ) -> None:
        """``reads_scores``: decisions and labels end points of entities, and their bands count; so the alerts open."""
        self._state = ShardState(shard)
        self._program = self._state.program(program_id)
        self._program.runs_detectors = reads_scores and log.has_clearings
        self._program.to_scorings = self._store
        self._program.kri_history.is_over = True  # no snapshots of past days
        self._log, self._scorings = log, scorings
        self._stored = bytearray()  # the digest of the stored scoring of each transfer; zero without one

    def run(self, *, stopping: Event, progressed: Callable[[int], None]) -> None:
        """Apply the log; ``progressed`` gets the number of applied entries every now and then."""
        self._log.own_times.declare_owners(self._program)
        for number, entry in enumerate(gently(self._log.entries(), _SLICE_ENTRIES)):
            if stopping.is_set():
                return
            self._state.apply(entry, no_rows)
            if number % _SLICE_ENTRIES == 0:
                progressed(number)
        self._stored = bytearray(len(self._program.transfers) * _DIGEST_BYTES)

    def compare(self, stored: Iterable[TransferFeaturesRow], card: TransferCard) -> tuple[int, list[Rescored]]:
        """Note the stored scorings; returns how many are of no transfer in the log, and their scores that change."""
        unknown, results = 0, list[Rescored]()
        for row in gently(stored, _SLICE_SCORINGS):
            index = self._program.transfers.row_of(row.transfer_id)
            if index is not None:
                self._stored[index * _DIGEST_BYTES : (index + 1) * _DIGEST_BYTES] = _digest_of(row)
                continue
            unknown += 1
            result = rescored(row, card) if row.feature_version == FEATURE_VERSION else None
            if result is not None:
                results.append(result)
        return unknown, results

    def results(self, after: int) -> Iterator[tuple[int, Rescored | None]]:
        """The last scoring of each stored transfer, None where it is the stored one, by its number after ``after``."""
        self._scorings.seek(0)
        transfers = self._program.transfers
        while head := self._scorings.read(_FRAME.size):
            number, digest, size = _FRAME.unpack(head)
            encoded = self._scorings.read(size)
            if number <= after:
                continue
            result = msgspec.msgpack.decode(encoded, type=Rescored)
            index = transfers.row_of(result.transfer_id)
            if index is None or transfers.read(index).scored_offset != number:
                continue
            stored = self._stored[index * _DIGEST_BYTES : (index + 1) * _DIGEST_BYTES]
            if any(stored):
                yield number, None if stored == digest else result

    def _store(self, row: TransferFeaturesRow) -> None:
        if row.paths is not None:
            row = msgspec.structs.replace(row, paths=self._in_log(row.paths))
        encoded = msgspec.msgpack.encode(replayed(row))
        self._scorings.write(_FRAME.pack(row.offset, _digest_of(row), len(encoded)) + encoded)

    def _in_log(self, paths: str) -> str:
        """The same paths, as offsets of the log."""
        read, offset_of = _PATHS.decode(paths), self._log.offset_of
        hops, trip = tuple(map(offset_of, read.layering_hops)), tuple(map(offset_of, read.round_trip))
        return json_text(PathOffsets(hops, trip))


def _digest_of(row: TransferFeaturesRow) -> bytes:
    """Of all that a scoring states; a stored one of another feature version equals none."""
    stated = (row.taken_at, row.score_version, row.score, row.n, row.confidence, row.degraded, row.reasons, row.paths)
    is_present = row.feature_version == FEATURE_VERSION
    return blake2b(msgspec.msgpack.encode((is_present, stated, row.vector)), digest_size=_DIGEST_BYTES).digest()
