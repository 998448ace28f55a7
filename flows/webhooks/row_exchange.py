"""Writes rows of deliveries to the tables, and reports their commits.

rows ─▶ gathered for a moment ─▶ a worker thread ─▶ committer ─▶ its thread ─▶ taken on the event loop

Unit    seconds
Errors  UnavailableError when the commit of a confirmed row takes too long. Rows that cannot be written are tried again
        after a pause; a row that cannot be taken is logged, and its delivery waits for the next start
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.instants import pause_after
from clearhold.features.core.rows.events import WebhookAttemptRow, WebhookDeliveryRow
from clearhold.store.tables import RowTables, row_tables, rows_in

CONFIRMED_WITHIN_S: Final = 5.0
NOT_CONFIRMED: Final = "The request was accepted but is not confirmed yet. Repeat it with the same Idempotency-Key."
TAKEN_AT_ONCE: Final = 200
"""Rows between two pauses for requests: well under a millisecond's work."""

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 15.0

log = structlog.get_logger()

WebhookRow = WebhookAttemptRow | WebhookDeliveryRow


class RowExchange:
    """Belongs to one event loop, but for ``on_commit``. ``take`` is called with each committed row."""

    def __init__(self, take: Callable[[WebhookRow], None]) -> None:
        self._take = take
        self._commit: Callable[[RowTables], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False
        self._unwritten: list[WebhookRow] = []
        self._writing: asyncio.Task[None] | None = None
        self._committed: deque[WebhookRow] = deque()
        self._taking: asyncio.Task[None] | None = None
        self._confirmations: dict[tuple[str, int], list[asyncio.Future[None]]] = {}

    def attach(self, commit: Callable[[RowTables], None]) -> None:
        """Take commits from now on; the tables have the earlier rows. ``commit`` may wait: a worker thread calls it."""
        self._loop, self._commit = asyncio.get_running_loop(), commit

    async def stop(self) -> None:
        """Wait for the commit of all written rows, and take them; a write that fails now is the last."""
        self._is_stopping = True
        await _end_of(self._writing)
        self._loop = None
        await _end_of(self._taking)

    def on_commit(self, tables: RowTables) -> None:
        """On the committer's thread: hand over the committed rows of deliveries."""
        loop = self._loop
        deliveries = tables.get(WebhookDeliveryRow.__name__)
        attempts = tables.get(WebhookAttemptRow.__name__)
        if loop is None or (deliveries is None and attempts is None):
            return
        changed: list[WebhookRow] = [] if attempts is None else [*rows_in(WebhookAttemptRow, attempts)]
        new: list[WebhookRow] = [] if deliveries is None else [*rows_in(WebhookDeliveryRow, deliveries)]
        with contextlib.suppress(RuntimeError):  # the loop has ended: the tables have the rows
            loop.call_soon_threadsafe(self._begin_taking, changed + new)

    def write(self, row: WebhookRow) -> None:
        """Hand a row to the committer, with others that come during the last transfer."""
        self._unwritten.append(row)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_all())

    async def write_and_confirm(self, row: WebhookRow) -> None:
        """Write a row, and wait until it is committed."""
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        name = _name_of(row)
        self._confirmations.setdefault(name, []).append(confirmed)
        self.write(row)
        try:
            await asyncio.wait_for(confirmed, CONFIRMED_WITHIN_S)
        except TimeoutError:
            self._confirmations.pop(name, None)
            raise UnavailableError(NOT_CONFIRMED, ErrorCode.NOT_CONFIRMED) from None

    async def _write_all(self) -> None:
        failures = 0
        while self._unwritten:
            rows, self._unwritten = self._unwritten, []
            try:
                await asyncio.to_thread(self._write_rows, rows)
                failures = 0
            except Exception as error:
                failures += 1
                self._unwritten = [*rows, *self._unwritten]
                log.exception("webhook_rows_not_written", rows=len(self._unwritten), error=str(error))
                if self._is_stopping:
                    return
                await asyncio.sleep(pause_after(failures, FIRST_PAUSE_S, LONGEST_PAUSE_S))

    def _write_rows(self, rows: Sequence[WebhookRow]) -> None:
        """On a worker thread."""
        assert self._commit is not None, "nothing is written before it is attached"
        kinds = (WebhookDeliveryRow, WebhookAttemptRow)
        self._commit(row_tables({kind: [row for row in rows if isinstance(row, kind)] for kind in kinds}))

    def _begin_taking(self, rows: Sequence[WebhookRow]) -> None:
        self._committed += rows
        if self._taking is None or self._taking.done():
            self._taking = asyncio.get_running_loop().create_task(self._take_all())

    async def _take_all(self) -> None:
        """Take some rows at a time, in order: a commit may bring thousands, and requests must not wait."""
        while self._committed:
            for _ in range(min(len(self._committed), TAKEN_AT_ONCE)):
                row = self._committed.popleft()
                try:
                    self._take(row)
                except Exception:
                    log.exception("webhook_row_not_taken", endpoint_id=row.endpoint_id)
                for future in self._confirmations.pop(_name_of(row), ()):
                    if not future.done():
                        future.set_result(None)
            await asyncio.sleep(0)


def _name_of(row: WebhookRow) -> tuple[str, int]:
    """The delivery and its version."""
    return (row.delivery_id, row.version) if isinstance(row, WebhookAttemptRow) else (row.id, 0)


async def _end_of(task: asyncio.Task[None] | None) -> None:
    """A task that has ended may belong to a loop that has ended, too."""
    if task is not None and not task.done():
        await asyncio.gather(task, return_exceptions=True)
