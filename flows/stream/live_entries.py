"""The entries of the live streams, made by a scorer beside the rows that they are of.

The service answers requests with one interpreter, and making an event takes that interpreter six times as long as
handing on a finished one.
"""

from collections.abc import Callable

import structlog

from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.live.entries import LiveEntryRow
from clearhold.features.live.events import columns_of_rows, live_events
from clearhold.store.live.entries import entry_of
from clearhold.store.tables import Rows, RowTables, arrow_table, columns_of

log = structlog.get_logger()


def live_entries(rows: Rows, tables: RowTables, between: Callable[[], None]) -> RowTables:
    """The table of the rows' entries, or nothing: then the service makes those of the whole commit. It also sets the
    marks of simulated programs, which a scorer does not know. ``between`` is called before some rows each.
    """
    refused = tables.get(QuarantineRow.__name__)
    if refused is not None and refused.num_rows > len(rows.get(QuarantineRow, ())):
        return {}
    try:
        entries = [*map(entry_of, live_events(columns_of_rows(rows), lambda _: False, between=between))]
        table = arrow_table(columns_of(LiveEntryRow), entries, between=between) if entries else None
    except Exception:
        log.exception("live_entries_failed")
        return {}
    return {} if table is None else {LiveEntryRow.__name__: table}
