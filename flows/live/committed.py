"""The live events of rows: of a commit, made once for the feed and the streams, or of rows read back from the tables.

commit ─▶ ``LiveCommit`` ─┬▶ feed      the first that asks makes the events, on its thread; meanwhile the other waits
                          └▶ streams
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


def given_to(readers: Sequence[OnLiveCommit], is_simulated: IsSimulated) -> Callable[[RowTables], None]:
    """A function that gives each commit with live rows to the readers."""
    names = {kind.__name__ for kind in LIVE_COLUMNS}

    def on_commit(rows: RowTables) -> None:
        if not names.isdisjoint(rows):
            commit = LiveCommit(rows, is_simulated)
            for each in readers:
                each(commit)

    return on_commit
