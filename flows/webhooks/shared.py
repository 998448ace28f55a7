"""The outcomes of deliveries, for the other nodes of a log: their attempts are in no log, and a node that takes it over
must not deliver again what its predecessor has delivered.

owner: rows of attempts ─▶ tables, and a stream in Redis ─▶ standby: its own tables

The newest version of a delivery counts, so rows may come twice. A row whose write to Redis failed is missing on other
nodes, and its delivery may be made twice after a take-over.

Errors  none on the owner: failures are logged. On a standby the client's errors, and a later round continues
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import duckdb
import msgspec
import redis
import structlog
from redis.exceptions import RedisError

from clearhold.features.core.instants import MINUTE_US
from clearhold.features.core.rows.events import WebhookAttemptRow, WebhookDeliveryRow
from clearhold.store.tables import RowTables, row_tables, rows_in

STREAM: Final = "log:deliveries"
MOST_ENTRIES: Final = 100_000
EVERY_S: Final = 1.0
OVERLAP_US: Final = 10 * MINUTE_US
_PAGE: Final = 500
_FIELD: Final = "r"
_NEWEST: Final = "SELECT coalesce(epoch_us(max(settled_at)), 0) FROM webhook_attempts"

log = structlog.get_logger()


class SharedRows(msgspec.Struct, array_like=True):
    """The rows of one write."""

    deliveries: list[WebhookDeliveryRow]
    attempts: list[WebhookAttemptRow]


_DECODER: Final = msgspec.msgpack.Decoder(SharedRows)

Row = TypeVar("Row", bound=msgspec.Struct)
Write = Callable[[RowTables], None]


class SharedDeliveries:
    """For the threads that write rows; ``client`` belongs to it, and ``write`` commits rows here."""

    def __init__(self, client: redis.Redis, write: Write) -> None:
        self._client, self._write = client, write
        self._is_failing = False

    def write(self, tables: RowTables) -> None:
        """Commit the rows here, and state them for other nodes."""
        self._write(tables)
        entry = msgspec.msgpack.encode(SharedRows(_rows(WebhookDeliveryRow, tables), _rows(WebhookAttemptRow, tables)))
        try:
            self._client.xadd(STREAM, {_FIELD: entry}, maxlen=MOST_ENTRIES, approximate=True)
        except (RedisError, OSError) as error:
            if not self._is_failing:
                log.warning("deliveries_not_shared", error=str(error))
            self._is_failing = True
        else:
            self._is_failing = False


def _rows(kind: type[Row], tables: RowTables) -> list[Row]:
    table = tables.get(kind.__name__)
    return [] if table is None else [*rows_in(kind, table)]


class DeliveryTail:
    """The owner's rows, on a standby. ``client`` belongs to it, and ``write`` commits rows."""

    def __init__(self, client: redis.Redis, database: duckdb.DuckDBPyConnection, write: Write) -> None:
        self._client, self._database, self._write = client, database, write
        self._last: bytes | str = ""

    async def run(self, is_followed: Callable[[], bool]) -> None:
        """Run until cancelled; a round is left out while ``is_followed`` is false."""
        while True:
            if is_followed():
                try:
                    await self.read_new()
                except (RedisError, OSError) as error:
                    log.warning("deliveries_not_read", error=str(error))
            await asyncio.sleep(EVERY_S)

    async def read_new(self) -> None:
        """Commit the rows that came since the last call; at first since shortly before the newest one here."""
        while await asyncio.to_thread(self._read_page):
            pass

    def _read_page(self) -> bool:
        if not self._last:
            self._last = f"{max(0, self._newest_at() - OVERLAP_US) // 1_000}-0"
        page: Sequence[tuple[bytes, dict[bytes, bytes]]]
        page = self._client.execute_command("XRANGE", STREAM, f"({_text(self._last)}", "+", "COUNT", _PAGE)
        if not page:
            return False
        shared = [_DECODER.decode(fields[_FIELD.encode()]) for _, fields in page]
        rows: dict[type[msgspec.Struct], list[msgspec.Struct]] = {
            WebhookDeliveryRow: [row for each in shared for row in each.deliveries],
            WebhookAttemptRow: [row for each in shared for row in each.attempts],
        }
        self._write(row_tables(rows))
        self._last = page[-1][0]
        return True

    def _newest_at(self) -> int:
        with self._database.cursor() as cursor:
            ((newest,),) = cursor.execute(_NEWEST).fetchall()
        return int(newest)


def _text(stream_id: bytes | str) -> str:
    return stream_id if isinstance(stream_id, str) else stream_id.decode()
