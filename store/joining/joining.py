"""Brings directory, log and database together before the service starts.

It stops for places of different logs, and for streams that do not join up. With ``accept_loss`` it continues despite
losses: Redis gets its missing entries from the lake, and each tenant's record gets a link that names the loss.

Errors  ``StartupError``, one sentence that says what to do; ``DamagedSegmentError``
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
import structlog

from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.store.clock import Clock
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.writer import committed_offsets
from clearhold.store.errors import StartupError
from clearhold.store.joining.continuity import StreamEnds, control_ends, sentence_of, shard_ends
from clearhold.store.joining.identity import LogInRedis, check_database, check_redis, has_history_in, mark_database
from clearhold.store.joining.losses import AcceptedLosses, Hole
from clearhold.store.joining.restoring import Restoring
from clearhold.store.joining.trust import check_decisions
from clearhold.store.lake.control_copy import ControlCopy
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.offsets import log_time_of
from clearhold.store.redis_log.reader import LogReader

CLOCK_BEHIND_US: Final = MINUTE_US

log = structlog.get_logger()


def join_log(
    data_dir: DataDir,
    target: str | Path,
    database: duckdb.DuckDBPyConnection,
    segments: LogSegments,
    *,
    clock: Clock,
    accept_loss: bool,
) -> None:
    """Make sure that the Redis at ``target`` and the database have the directory's whole log."""
    check_database(data_dir, database)
    joining = Joining(data_dir, target, segments, clock=clock, accept_loss=accept_loss)
    committed = committed_offsets(database)
    joining.join(committed, has_history=has_history_in(data_dir, database))
    with closing(connect_sync(target)) as client:
        check_decisions(LogReader(client, range(data_dir.shards)), database, committed)
    mark_database(database, data_dir.identity)  # Last, because it counts as a history.


class Joining:
    """The log of one directory, in its Redis and its lake."""

    def __init__(
        self, data_dir: DataDir, target: str | Path, segments: LogSegments, *, clock: Clock, accept_loss: bool
    ) -> None:
        self._data_dir, self._target, self._segments = data_dir, target, segments
        self._clock, self._accept_loss = clock, accept_loss
        self._redis_name = name_of(data_dir, target)

    def join(self, committed: Mapping[int, int], *, has_history: bool) -> None:
        """``committed`` are the offsets of the database, if there is one."""
        with closing(connect_sync(self._target)) as client:
            in_redis = LogInRedis(client, self._redis_name)
            check_redis(self._data_dir, in_redis, has_history=has_history, accept_loss=self._accept_loss)
            reader = LogReader(client, range(self._data_dir.shards))
            restoring = Restoring(client, self._segments, self._data_dir, self._clock)
            self._join_streams(reader, restoring, committed)
            in_redis.claim(self._data_dir.identity)

    def _join_streams(self, reader: LogReader, restoring: Restoring, committed: Mapping[int, int]) -> None:
        self._rewrite_control(reader)
        shards = shard_ends(reader, self._segments, committed, shards=self._data_dir.shards)
        self._warn_of_the_clock(shards)
        control = control_ends(reader, self._segments)
        losses = AcceptedLosses(self._data_dir.lake_dir)
        ends = [*shards, *control.values()]
        holes = losses.unaccepted([hole for each in ends for hole in each.holes()])
        if not holes and not any(each.is_behind for each in ends):
            return
        if not self._accept_loss:
            raise StartupError(self._refusal(holes, ends))
        restoring.restore(shards, control, holes)
        for hole in holes:
            losses.accept(hole)
            log.critical("log_loss_accepted", stream=hole.stream, after=hole.after, upto=hole.upto)

    def _rewrite_control(self, reader: LogReader) -> None:
        """Write again the control streams that the lake has in part, and Redis whole."""
        for tenant_id, ends in control_ends(reader, self._segments).items():
            if ends.gaps and not ends.is_behind:
                log.warning("control_segments_rewritten", tenant_id=tenant_id)
                self._segments.forget_control(tenant_id)
                ControlCopy(reader, self._segments).copy(tenant_id)

    def _warn_of_the_clock(self, shards: Sequence[StreamEnds]) -> None:
        """Events that arrive while the clock is behind the log are scored as of a past time."""
        behind_us = log_time_of(max(each.tail for each in shards)) - self._clock.now()
        if behind_us > CLOCK_BEHIND_US:
            log.error("clock_is_behind_the_log", seconds=behind_us // SECOND_US)

    def _refusal(self, holes: Sequence[Hole], ends: Sequence[StreamEnds]) -> str:
        lake, path = self._data_dir.lake_dir / "log", self._data_dir.path
        end = "or, if it is lost for good, add --accept-loss: the loss is then a link of the record."
        if any(each.is_behind for each in ends):
            missing = sentence_of(holes) if holes else "the lake has all that it lacks"
            return f"{path} knows more of its log than {self._redis_name}, an older copy: {missing}. Put it back, {end}"
        return f"The log of {path} has a hole: {sentence_of(holes)}. Put the missing files back in {lake}, {end}"


def name_of(data_dir: DataDir, target: str | Path | None) -> str:
    """Which Redis this is, for a sentence; an address may hold a password and is not quoted."""
    return "the Redis at CLEARHOLD_REDIS_URL" if isinstance(target, str) else f"the Redis in {data_dir.redis_dir}"
