"""The live events of rows: of a commit, made once for the feed and the streams, or of rows read back from the tables.

rows ─▶ ``LiveCommit`` ─┬▶ streams   get it before the commit, to make the events while DuckDB writes the rows
          └ committed  ─┴▶ feed      and both get it after: the first that asks makes the events, another waits for them
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

import pyarrow.compute as pc

from clearhold.features.core.rows.events import TransferRow
from clearhold.features.live.events import LIVE_COLUMNS, live_events
from clearhold.features.live.payloads import LiveEvent
from clearhold.store.tables import RowTables, columns_by_type

IsSimulated = Callable[[str], bool]
"""Called with ids of programs, and of tenants for their own actions."""

_TRANSFERS: Final = TransferRow.__name__
_LIVE: Final = frozenset(kind.__name__ for kind in LIVE_COLUMNS)


def events_of(rows: RowTables, is_simulated: IsSimulated) -> list[LiveEvent]:
    """``live_events``; versions of transfers without a new score, about half of a commit's, are left out as columns."""
    transfers = rows.get(_TRANSFERS)
    if transfers is not None:
        has_own = pc.equal(transfers["scored_offset"], transfers["offset"])
        rows = {**rows, _TRANSFERS: transfers.select(LIVE_COLUMNS[TransferRow]).filter(has_own)}
    return live_events(columns_by_type(rows, LIVE_COLUMNS), is_simulated)


class LiveCommit:
    """Read by any thread."""

    def __init__(self, rows: RowTables, is_simulated: IsSimulated) -> None:
        self._rows, self._is_simulated = rows, is_simulated
        self._making = Lock()
        self._events: list[LiveEvent] | None = None

    @property
    def events(self) -> Sequence[LiveEvent]:
        with self._making:
            if self._events is None:
                self._events, self._rows = events_of(self._rows, self._is_simulated), {}
            return self._events


OnLiveCommit = Callable[[LiveCommit], None]


class LiveCommits:
    """Gives the live rows of each commit to their readers, on the committer's thread."""

    def __init__(
        self, is_simulated: IsSimulated, *, before: Sequence[OnLiveCommit] = (), after: Sequence[OnLiveCommit]
    ) -> None:
        """``before`` are called when the rows are about to be committed, ``after`` once they are."""
        self._is_simulated, self._before, self._after = is_simulated, before, after
        self._newest: tuple[RowTables, LiveCommit] | None = None

    def before_commit(self, rows: RowTables) -> None:
        if not _LIVE.isdisjoint(rows):
            commit = LiveCommit(rows, self._is_simulated)
            self._newest = rows, commit
            for each in self._before:
                each(commit)

    def on_commit(self, rows: RowTables) -> None:
        if not _LIVE.isdisjoint(rows):
            known, self._newest = self._newest, None
            commit = known[1] if known and known[0] is rows else LiveCommit(rows, self._is_simulated)
            for each in self._after:
                each(commit)
