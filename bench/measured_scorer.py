"""The scorer's own program with clocks around it: how long each entry takes, and what a snapshot costs the scorer.

A supervisor runs it in place of ``clearhold.flows.scorer.process``. The measurements go to the file that the
environment names; ``measures_in`` reads it.

Unit    instants in microseconds, durations in nanoseconds; the processor time of a duration is beside it, because on a
        machine that others use a long one may be theirs
"""

import os
import resource
import time
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from enum import IntEnum
from io import RawIOBase
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

from clearhold.features.core.log_entry import Emit, LogEntry
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer import process
from clearhold.flows.scorer.process import ForkedSnapshots

MODULE: Final = "bench.measured_scorer"
FILE: Final = "BENCH_MEASURES"
DUE_AFTER_S: Final = "BENCH_SNAPSHOTS_DUE_AFTER_S"
_WRITTEN_AT_ONCE: Final = 4_096


class Of(IntEnum):
    """What was measured."""

    ENTRY = 0  # more: from when it was due to when it was applied
    STALL = 1  # all that the scorer does to begin a snapshot; no entry is applied meanwhile
    FORK = 2  # the system call alone
    CHILD = 3  # from the fork until the snapshot is known to be on disk


class Measure(NamedTuple):
    of: Of
    ended_at: int
    took_ns: int
    processor_ns: int
    more_ns: int


class Clocks(NamedTuple):
    wall_ns: int
    processor_ns: int


def clocks() -> Clocks:
    return Clocks(time.perf_counter_ns(), time.thread_time_ns())


class Measures:
    """Writes to its file when there is something to say, and otherwise many entries at once."""

    def __init__(self, file: RawIOBase) -> None:
        self._file = file
        self._pending = array("q")
        self._forked = Clocks(0, 0)
        self._child_s = 0.0
        self.forks = 0

    def add(self, of: Of, began: "Clocks", *, processor_ns: int | None = None, more_ns: int = 0) -> None:
        now = clocks()
        used = now.processor_ns - began.processor_ns if processor_ns is None else processor_ns
        self._pending.extend((of, time.time_ns() // 1_000, now.wall_ns - began.wall_ns, used, more_ns))
        if of is not Of.ENTRY or len(self._pending) >= _WRITTEN_AT_ONCE:
            self._file.write(self._pending.tobytes())
            del self._pending[:]

    def before_fork(self) -> None:
        self._forked = clocks()

    def after_fork(self) -> None:
        self.add(Of.FORK, self._forked)
        self.forks += 1

    def child_ended(self) -> None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before, self._child_s = self._child_s, used.ru_utime + used.ru_stime
        self.add(Of.CHILD, self._forked, processor_ns=int((self._child_s - before) * 1e9))


def measures_in(path: Path) -> Iterator[Measure]:
    values = array("q")
    values.frombytes(path.read_bytes())
    return (Measure(Of(of), *rest) for of, *rest in zip(*[iter(values)] * 5, strict=True))


def main() -> None:
    """Score until closed, and measure."""
    with ExitStack() as opened:
        _measured(Measures(opened.enter_context(Path(os.environ[FILE]).open("ab", buffering=0))), opened)
        process.main()


def _measured(measures: Measures, opened: ExitStack) -> None:
    applied, offered, waited = Shards.apply, ForkedSnapshots.offer, os.waitpid

    def apply(shards: Shards, entry: LogEntry, emit: Emit) -> None:
        began = clocks()
        applied(shards, entry, emit)
        measures.add(Of.ENTRY, began, more_ns=time.time_ns() - entry.appended_at * 1_000)

    def offer(snapshots: ForkedSnapshots, shard: int, entries: int) -> None:
        began, forks = clocks(), measures.forks
        offered(snapshots, shard, entries)
        if measures.forks > forks:
            measures.add(Of.STALL, began)

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        ended = waited(pid, options)
        if ended[0]:
            measures.child_ended()
        return ended

    os.register_at_fork(before=measures.before_fork, after_in_parent=measures.after_fork)
    opened.enter_context(patch.object(Shards, "apply", apply))
    opened.enter_context(patch.object(ForkedSnapshots, "offer", offer))
    opened.enter_context(patch.object(os, "waitpid", waitpid))
    opened.enter_context(patch.object(process, "DUE_AFTER_S", float(os.environ[DUE_AFTER_S])))
