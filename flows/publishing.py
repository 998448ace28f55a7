"""After a commit: its scored transfers go to the live feed, and its programs' views are brought up to date.

Views are for looking at; what cannot be published is logged and left, because the next commit publishes newer state.
"""

from collections.abc import Iterator
from itertools import islice

import structlog

from features.core.instants import format_instant
from features.core.rows.backfills import BackfillRow
from features.core.rows.transfers import TransferRow
from features.shard.shards import Shards
from flows.results import ShardResults
from store.redis_log.hot_views import LIVE_AT_ONCE, HotViews, LiveScore, ProgramView

log = structlog.get_logger()


class Publisher:
    """Called by the committer with what it has just committed."""

    def __init__(self, views: HotViews, shards: Shards) -> None:
        self._views, self._shards = views, shards

    def publish(self, committed: list[ShardResults]) -> None:
        rows = [row for results in committed for row in _of_stream(results)]
        if not rows:
            return
        scored = [row for row in rows if row.scored_offset == row.offset]
        newest = {row.program_id: row for row in rows}
        try:
            self._views.publish(
                [_live(row) for row in islice(reversed(scored), LIVE_AT_ONCE)][::-1],
                [ProgramView(row.program_id, row.offset, self._transfers(row), row.id) for row in newest.values()],
            )
        except ConnectionError as error:
            log.warning("views_not_published", error=str(error))

    def _transfers(self, row: TransferRow) -> int:
        return len(self._shards.state(row.shard).program(row.program_id).transfers)


def _of_stream(results: ShardResults) -> Iterator[TransferRow]:
    """What events led to: a backfill brings nothing new to look at, and would push out what is."""
    backfilled = {row.offset for row in results.rows.get(BackfillRow, ()) if isinstance(row, BackfillRow)}
    for row in results.rows.get(TransferRow, ()):
        if isinstance(row, TransferRow) and row.offset not in backfilled:
            yield row


def _live(row: TransferRow) -> LiveScore:
    return LiveScore(
        tenant_id=row.tenant_id,
        program_id=row.program_id,
        transfer_id=row.id,
        rail=row.rail,
        direction=row.direction,
        amount_cents=str(row.amount_cents),
        score=row.score,
        band=row.score_band or "unscored",
        scored_at=format_instant(row.scored_at if row.scored_at is not None else row.updated_at),
    )
