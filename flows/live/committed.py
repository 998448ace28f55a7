"""The live events of rows, as entries: of a commit, for the feed and the streams, or of rows read back from the tables.

scorer ─▶ rows and entries ─▶ ``LiveCommit`` ─┬▶ streams   get it before the commit, to pack while DuckDB writes
                                  └ committed ─┴▶ feed      and both get it after it

A scorer makes the entries where the service has streams. Otherwise the first that asks makes them of the rows, and
another waits for them.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from clearhold.features.live.entries import LiveEntryRow
from clearhold.features.live.events import LIVE_COLUMNS, live_events
from clearhold.store.live.entries import count_of_events, entry_of, live_columns, simulated
from clearhold.store.tables import RowTables, rows_in

IsSimulated = Callable[[str], bool]
"""Called with ids of programs, and of tenants for their own actions."""

_ENTRIES: Final = LiveEntryRow.__name__
_LIVE: Final = frozenset(kind.__name__ for kind in LIVE_COLUMNS)


def entries_of(rows: RowTables, is_simulated: IsSimulated) -> list[LiveEntryRow]:
    """The entries of rows that no scorer made entries of."""
    return [*map(entry_of, live_events(live_columns(rows), is_simulated))]


class LiveCommit:
    """Read by any thread."""

    def __init__(self, rows: RowTables, is_simulated: IsSimulated) -> None:
        self._rows, self._is_simulated = rows, is_simulated
        self._making = Lock()
        self._entries: list[LiveEntryRow] | None = None

    @property
    def entries(self) -> Sequence[LiveEntryRow]:
        """In order within each shard."""
        with self._making:
            if self._entries is None:
                ready = _of_scorers(self._rows, self._is_simulated)
                self._entries = entries_of(self._rows, self._is_simulated) if ready is None else ready
                self._rows = {}
            return self._entries


def _of_scorers(rows: RowTables, is_simulated: IsSimulated) -> list[LiveEntryRow] | None:
    """The entries that scorers made, with the marks of simulated programs, which a scorer does not know; None where one
    is missing.
    """
    table = rows.get(_ENTRIES)
    if table is None or table.num_rows != count_of_events(rows):
        return None
    entries = [*rows_in(LiveEntryRow, table)]
    marked = {each for each in {entry.program_id for entry in entries} if is_simulated(each)}
    return [simulated(each) if each.program_id in marked else each for each in entries] if marked else entries


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
