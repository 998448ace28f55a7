"""Snapshots of a scorer's states, written by a child process: a fork has the state as it is, and the scorer goes on.

A snapshot may be ahead of what is committed; a start takes the newest one that is not (``StateSnapshots.newest``). So
the next one waits until the last one's entries are committed.
"""

import gc
import os
import warnings
from collections.abc import Sequence
from time import monotonic
from typing import Final

import structlog

from features.shard.shards import Shards
from flows.scorer.desk import Desk
from flows.scorer.wire import Kind
from flows.snapshotting import DUE_ENTRIES, DUE_SHARE, framed
from store.state_snapshots import StateSnapshots

DUE_AFTER_S: Final = 60.0
APART_S: Final = 2.0  # between two forks, each of which costs the scorer the copies of the pages that it then changes

log = structlog.get_logger()


class ForkedSnapshots:
    """Belongs to the scoring thread. ``written`` holds the offset of each shard's newest snapshot on disk."""

    def __init__(self, shards: Shards, owned: Sequence[int], stored: StateSnapshots, desk: Desk) -> None:
        self._shards, self._stored, self._desk = shards, stored, desk
        self.written = {shard: shards.applied_offset(shard) for shard in owned}
        self._since = dict.fromkeys(owned, 0)
        self._taken_at = dict.fromkeys(owned, monotonic())
        self._forked_at = monotonic()
        self._child: tuple[int, int, int] | None = None  # process id, shard, offset

    def offer(self, shard: int, entries: int) -> None:
        """Note applied entries and take a snapshot if one is due and no other is being written."""
        self.look()
        self._since[shard] += entries
        if self._child is None and monotonic() - self._forked_at > APART_S and self._is_due(shard):
            self._fork(shard)

    def look(self) -> None:
        """Notice that a snapshot is on disk."""
        if self._child is None:
            return
        pid, shard, offset = self._child
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            self._child = None
            self._noted(shard, offset, failed=status != 0)

    def take_all(self) -> None:
        """Write a snapshot of every shard that has changed and is committed, before the process ends."""
        if self._child is not None:
            pid, shard, offset = self._child
            _, status = os.waitpid(pid, 0)
            self._child = None
            self._noted(shard, offset, failed=status != 0)
        for shard in self.written:
            offset = self._shards.applied_offset(shard)
            if self.written[shard] < offset <= self._desk.committed.get(shard, 0):
                self._write(shard, offset)

    def _is_due(self, shard: int) -> bool:
        if self.written[shard] > self._desk.committed.get(shard, 0):
            return False
        since = self._since[shard]
        if since >= DUE_ENTRIES and since * DUE_SHARE >= self._shards.state(shard).size:
            return True
        return since > 0 and monotonic() - self._taken_at[shard] > DUE_AFTER_S

    def _fork(self, shard: int) -> None:
        offset = self._shards.applied_offset(shard)
        self._since[shard] = 0
        self._taken_at[shard] = self._forked_at = monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # The child uses none of what other threads may hold.
            pid = os.fork()
        if pid == 0:
            self._write_and_leave(shard, offset)
        self._child = (pid, shard, offset)

    def _write_and_leave(self, shard: int, offset: int) -> None:
        code = 1
        try:
            self._desk.leave_sockets()
            gc.disable()  # a collection would write to, and so copy, every page of the state
            self._write(shard, offset)
            code = 0
        finally:
            os._exit(code)

    def _write(self, shard: int, offset: int) -> None:
        self._stored.write(shard, offset, framed(self._shards.state(shard).dump()))

    def _noted(self, shard: int, offset: int, *, failed: bool) -> None:
        if failed:
            log.error("snapshot_failed", shard=shard, offset=offset)
            return
        self.written[shard] = offset
        self._desk.send(Kind.SNAPSHOTS, {shard: offset})
