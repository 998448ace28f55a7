"""A scorer process: one thread that owns some shards, reads their log, scores, and answers questions.

It has no DuckDB and no HTTP. Its service starts it with two connected sockets; it ends with the service. A forked child
writes snapshots of its states while it continues. After a fork it copies each page of memory that it changes while the
child lives, so forks are few: one for all changed shards, after a number of entries in all shards together, or a
minute. A snapshot may be ahead of the commits; a start takes the newest committed one (``StateSnapshots.newest``), and
the next fork waits until the entries of the last are committed.
"""

import gc
import mmap
import os
import signal
import socket
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

import msgspec
import structlog

from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.endpoint import GONE, ScorerEndpoint
from clearhold.flows.scorer.scoring import Scoring, failure_of, newest_states
from clearhold.flows.scorer.wire import Beginning, FrameKind, Start
from clearhold.flows.stream.dataflow import Reader
from clearhold.flows.stream.snapshotting import framed
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.logs import configure_logs
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.scheduling import USUAL_NS, low_priority, set_time_slice
from clearhold.store.seals import EntrySeals
from clearhold.store.state_snapshots import StateSnapshots

DUE_ENTRIES: Final = 25_000
DUE_SHARE: Final = 20  # or a twentieth of all shards' entries, if that is more: the most that a start replays
DUE_AFTER_S: Final = 60.0

log = structlog.get_logger()


class ForkedSnapshots:
    """Belongs to the scoring thread. ``written`` holds the offset of each shard's newest snapshot on disk."""

    def __init__(self, shards: Shards, owned: Sequence[int], stored: StateSnapshots, endpoint: ScorerEndpoint) -> None:
        self._shards, self._stored, self._endpoint = shards, stored, endpoint
        self.written = {shard: shards.applied_offset(shard) for shard in owned}
        self._since = 0
        self._forked_at = monotonic()
        self._stall_s = 0.0  # the time for which the last fork stopped the scoring
        self._child: tuple[int, dict[int, int]] | None = None  # process id, offset of each shard that it writes

    def offer(self, shard: int, entries: int) -> None:  # noqa: ARG002 - all shards are written together
        """Note applied entries and fork if snapshots are due and none are being written."""
        self.look()
        self._since += entries
        if self._child is None and self._is_due() and self._is_covered():
            self._fork()

    def look(self) -> None:
        """Take note of finished snapshots."""
        if self._child is None:
            return
        pid, offsets = self._child
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            self._end(offsets, failed=status != 0)

    def take_all(self) -> None:
        """Before the process ends: write a snapshot of every shard that has changed and is committed."""
        if self._child is not None:
            pid, offsets = self._child
            _, status = os.waitpid(pid, 0)
            self._end(offsets, failed=status != 0)
        for shard, offset in self._changed().items():
            if offset <= self._endpoint.committed.get(shard, 0):
                self._stored.write(shard, offset, framed(self._shards.state(shard).dump()))

    def _is_due(self) -> bool:
        if monotonic() - self._forked_at > DUE_AFTER_S:
            return self._since > 0
        return self._since >= DUE_ENTRIES and self._since * DUE_SHARE >= sum(
            self._shards.state(shard).size for shard in self.written
        )

    def _is_covered(self) -> bool:
        committed = self._endpoint.committed
        return all(offset <= committed.get(shard, 0) for shard, offset in self.written.items())

    def _changed(self) -> dict[int, int]:
        """The offsets of the shards with entries after their newest snapshot."""
        offsets = {shard: self._shards.applied_offset(shard) for shard in self.written}
        return {shard: offset for shard, offset in offsets.items() if offset > self.written[shard]}

    def _fork(self) -> None:
        offsets = self._changed()
        self._since, self._forked_at = 0, monotonic()
        scorer = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # The child takes no lock that another thread may hold.
            pid = os.fork()
        if pid == 0:
            self._write_and_leave(offsets, scorer)
        self._child, self._stall_s = (pid, offsets), monotonic() - self._forked_at

    def _write_and_leave(self, offsets: Mapping[int, int], scorer: int) -> None:
        code = 1
        try:
            self._endpoint.leave_sockets()
            set_time_slice(USUAL_NS)  # no answer depends on it
            low_priority()
            gc.disable()  # a collection would write to, and so copy, every page of the state
            for shard, offset in offsets.items():
                self._stored.write(shard, offset, framed(_while_alive(scorer, self._shards.state(shard).dump())))
            code = 0
        except Exception:
            log.exception("snapshots_failed")
        finally:
            os._exit(code)

    def _end(self, offsets: Mapping[int, int], *, failed: bool) -> None:
        self._child = None
        if failed:
            log.warning("snapshots_missing", offsets=dict(offsets))
            return
        self.written |= offsets
        log.info(
            "snapshots_written",
            shards=len(offsets),
            stall_ms=round(self._stall_s * 1_000, 1),
            seconds=round(monotonic() - self._forked_at, 3),
        )
        self._endpoint.send(FrameKind.SNAPSHOTS, dict(offsets))


def _while_alive(scorer: int, parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts; a child whose scorer was killed ends between two of them."""
    for part in parts:
        if os.getppid() != scorer:
            os._exit(GONE)
        yield part


_POLL_S: Final = 0.05
_RETRY_S: Final = 0.2
_PROGRESS_EVERY_S: Final = 0.5


def main() -> None:
    """Score until the service closes it. Reads a ``Beginning`` and a ``Start`` from standard input, a line each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A Ctrl-C is for the service, which closes its scorers in order.
    beginning = msgspec.json.decode(sys.stdin.buffer.readline(), type=Beginning)
    configure_logs()
    rows, questions = socket.socket(fileno=beginning.rows), socket.socket(fileno=beginning.questions)
    shards = Shards(beginning.shards)
    flag = mmap.mmap(beginning.flag, 1)
    endpoint = ScorerEndpoint(rows, questions, flag, shards)
    try:
        _score(beginning, shards, endpoint)
    except BaseException as error:  # Bytewax raises bare BaseExceptions; the service says why, and starts another
        log.exception("scorer_failed")
        endpoint.send(FrameKind.FAILED, failure_of(error))
        os._exit(1)
    os._exit(0)


def _score(beginning: Beginning, shards: Shards, endpoint: ScorerEndpoint) -> None:
    owned = beginning.owned
    stored = StateSnapshots(Path(beginning.snapshots), format_version=beginning.state_version, tidies=False)
    began = monotonic()
    newest = newest_states(stored, owned)
    log.info("states_loaded", scorer=os.getpid(), seconds=round(monotonic() - began, 3))
    line = sys.stdin.buffer.readline()
    if not line:
        return
    start = msgspec.json.decode(line, type=Start)
    endpoint.committed |= start.committed
    scoring = Scoring(
        shards,
        owned,
        committed=start.committed,
        epochs=start.epochs,
        sink=endpoint,
        attendant=endpoint,
        with_live=start.with_live,
    )
    scoring.restore(newest, stored)
    snapshots = ForkedSnapshots(shards, owned, stored, endpoint)
    endpoint.on_pause.append(snapshots.look)
    endpoint.send(FrameKind.SNAPSHOTS, snapshots.written)
    draining = Event()

    seals = None if start.seal_key is None else EntrySeals(start.seal_key)

    def open_reader(of: Sequence[int]) -> Reader:
        return LogReader(connect_sync(start.log), of, seals=seals, wait=endpoint.wait, replicas=start.replicas)

    waiting = _Waiting(shards, _tails(open_reader(owned), owned, endpoint), endpoint, draining)
    endpoint.on_pause.append(waiting.look)
    scoring.replay_segments(LogSegments(Path(beginning.lake), seals=seals, tidies=False), snapshots.offer)
    scoring.run(open_reader, snapshots.offer, draining=draining, stopping=Event())
    endpoint.send(FrameKind.DRAINED)
    while not endpoint.closing:
        endpoint.pause(_POLL_S)
    snapshots.take_all()


def _tails(reader: Reader, owned: Sequence[int], endpoint: ScorerEndpoint) -> dict[int, int]:
    """The offset of each shard's newest entry, once the log is reachable."""
    while True:
        try:
            return {shard: reader.tail(shard) for shard in owned}
        except ConnectionError as error:
            log.warning("log_unreachable", error=str(error))
            endpoint.pause(_RETRY_S)


class _Waiting:
    """Reports the progress of the replay, and once its end; ends the reading when the service drains."""

    def __init__(self, shards: Shards, tails: dict[int, int], endpoint: ScorerEndpoint, draining: Event) -> None:
        self._shards, self._tails, self._endpoint, self._draining = shards, tails, endpoint, draining
        self._is_ready = False
        self._last_sent_at = 0.0

    def look(self) -> None:
        if self._endpoint.draining or self._endpoint.closing:
            self._draining.set()
        if self._is_ready:
            return
        applied = {shard: self._shards.applied_offset(shard) for shard in self._tails}
        self._is_ready = all(applied[shard] >= tail for shard, tail in self._tails.items())
        if self._is_ready or monotonic() - self._last_sent_at > _PROGRESS_EVERY_S:
            self._last_sent_at = monotonic()
            self._endpoint.send(FrameKind.APPLIED, applied)
        if self._is_ready:
            self._endpoint.send(FrameKind.READY)
