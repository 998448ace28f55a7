"""Snapshots of a scorer's states, written by a forked child while the scorer continues.

After a fork the scorer copies each page of memory that it changes while the child lives, so forks are few: one for all
changed shards, after a number of entries in all shards together, or a minute. A snapshot may be ahead of the commits; a
start takes the newest committed one (``StateSnapshots.newest``), and the next fork waits until the entries of the last
are committed.
"""

import gc
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Final

import structlog

from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.endpoint import GONE, ScorerEndpoint
from clearhold.flows.scorer.wire import FrameKind
from clearhold.flows.stream.snapshotting import framed
from clearhold.store.state_snapshots import StateSnapshots
from clearhold.store.time_slice import USUAL_NS, low_priority, set_time_slice

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
