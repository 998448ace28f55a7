"""A scorer process: one thread that owns some shards, reads their log, scores, and answers questions.

It has no DuckDB and no HTTP. Its service starts it with two connected sockets; it ends with the service.
"""

import mmap
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

import msgspec
import structlog

from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.endpoint import ScorerEndpoint
from clearhold.flows.scorer.forked_snapshots import ForkedSnapshots
from clearhold.flows.scorer.scoring import Scoring, failure_of, newest_states
from clearhold.flows.scorer.wire import Beginning, FrameKind, Start
from clearhold.flows.stream.log_source import Reader
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.logs import configure_logs
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.state_snapshots import StateSnapshots

_POLL_S: Final = 0.05
_RETRY_S: Final = 0.2
_PROGRESS_EVERY_S: Final = 0.5

log = structlog.get_logger()


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
        sys.stderr.flush()
        os._exit(1)
    sys.stderr.flush()
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
    scoring = Scoring(shards, owned, committed=start.committed, epochs=start.epochs, sink=endpoint, attendant=endpoint)
    scoring.restore(newest, stored)
    snapshots = ForkedSnapshots(shards, owned, stored, endpoint)
    endpoint.on_pause.append(snapshots.look)
    endpoint.send(FrameKind.SNAPSHOTS, snapshots.written)
    draining = Event()

    def open_reader(of: Sequence[int]) -> Reader:
        return LogReader(connect_sync(start.log), of, wait=endpoint.wait)

    waiting = _Waiting(shards, _tails(open_reader(owned), owned, endpoint), endpoint, draining)
    endpoint.on_pause.append(waiting.look)
    scoring.replay_segments(LogSegments(Path(beginning.lake), tidies=False), snapshots)
    scoring.run(open_reader, snapshots, draining=draining, stopping=Event())
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
