"""Whole lists as a download: NDJSON or CSV, streamed in bounded memory, a few at a time.

The status is sent before the first line. A later failure breaks the connection, so that a reader can tell a complete
export from a partial one. A failure before the first line is answered as for any other request.

Limits  ``AT_A_TIME`` for a tenant and ``IN_ALL`` for all, with ``THREADS`` to read their batches; the connection of a
        client that reads nothing for ``STALL_WITHIN_S``, or is not done within ``EXPORT_WITHIN_S``, is closed
Errors  RateLimitedError for an export over the limits
"""

import asyncio
import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

import anyio
import msgspec
from anyio import CancelScope, CapacityLimiter, to_thread
from litestar.types import Receive, Scope, Send

from clearhold.features.core.errors import ErrorCode, RateLimitedError
from clearhold.features.core.principal import Principal

AT_A_TIME: Final = 2
IN_ALL: Final = 8
THREADS: Final = 2
"""Few, so that pages and pre-flights are answered before exports."""

STALL_WITHIN_S: Final = 30.0
EXPORT_WITHIN_S: Final = 3_600.0

_TOO_MANY: Final = "At most {most} {what} run at a time for a tenant. Try again when one of them has finished."
_NO_ROOM: Final = "At most {most} {what} run at a time in all. Try again when one of them has finished."
_FORMULA_STARTS: Final = frozenset("=+-@")  # A spreadsheet would run what follows.


class ExportFormat(StrEnum):
    NDJSON = "ndjson"
    CSV = "csv"


MEDIA_TYPES: Final[Mapping[ExportFormat, str]] = {
    ExportFormat.NDJSON: "application/x-ndjson",
    ExportFormat.CSV: "text/csv; charset=utf-8",
}


OCTETS: Final = "application/octet-stream"


class Concurrency:
    """The running exports of each tenant, whichever its keys, and in all. Belongs to the API's event loop."""

    def __init__(self, most: int = AT_A_TIME, *, in_all: int = IN_ALL, what: str = "exports") -> None:
        self._most, self._in_all, self._what = most, in_all, what
        self._running: Counter[str] = Counter()

    @contextmanager
    def slot(self, principal: Principal) -> Iterator[None]:
        """One slot, until the block ends in any way."""
        tenant_id = principal.tenant_id
        if self._running[tenant_id] >= self._most:
            raise RateLimitedError(_TOO_MANY.format(most=self._most, what=self._what), ErrorCode.TOO_MANY_AT_ONCE)
        if self._running.total() >= self._in_all:
            raise RateLimitedError(_NO_ROOM.format(most=self._in_all, what=self._what), ErrorCode.TOO_MANY_AT_ONCE)
        self._running[tenant_id] += 1
        try:
            yield
        finally:
            self._running[tenant_id] -= 1
            if not self._running[tenant_id]:
                del self._running[tenant_id]


Batches = Generator[Sequence[msgspec.Struct | msgspec.Raw], None, None]
"""The items of an export, some at a time. A Raw item is a complete line, and has no CSV."""


class ByteDownload(NamedTuple):
    """Bytes that are made while they are read, and the limit of their kind."""

    file_name: str
    chunks: Generator[bytes, None, None]
    limit: Concurrency


class Download(msgspec.Struct, frozen=True):
    """One download, as an ASGI application. A worker thread reads ``chunks`` while it runs."""

    file_name: str
    media: str
    chunks: Generator[bytes, None, None]
    principal: Principal
    limit: Concurrency
    threads: CapacityLimiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - an ASGI application
        try:
            with self.limit.slot(self.principal):
                async with asyncio.timeout(EXPORT_WITHIN_S):
                    await self._run(receive, send)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self.chunks.close)

    async def _run(self, receive: Receive, send: Send) -> None:
        chunk = await self._next()
        headers = {
            "content-type": self.media,
            "content-disposition": f'attachment; filename="{self.file_name}"',
        }
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        async with anyio.create_task_group() as running:
            running.start_soon(_cancel_when_gone, receive, running.cancel_scope)
            while chunk is not None:
                with anyio.fail_after(STALL_WITHIN_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await self._next()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            running.cancel_scope.cancel()

    async def _next(self) -> bytes | None:
        return await to_thread.run_sync(next, self.chunks, None, limiter=self.threads)


def _lines_of(batches: Batches, kind: type[msgspec.Struct], format_: ExportFormat) -> Generator[bytes, None, None]:
    """The chunks of an export."""
    names = kind.__struct_encode_fields__
    if format_ is ExportFormat.CSV:
        yield csv_lines([names])
    encode = _ndjson_of if format_ is ExportFormat.NDJSON else partial(_csv_of, names)
    with closing(batches) as each:
        for batch in each:
            yield encode(batch)


class Downloads:
    """Builds the exports of a process, which share its limits."""

    def __init__(self) -> None:
        self._limit, self._threads = Concurrency(), CapacityLimiter(THREADS)

    def of(
        self,
        principal: Principal,
        batches: Batches,
        *,
        name: str,
        kind: type[msgspec.Struct],
        format_: ExportFormat = ExportFormat.NDJSON,
    ) -> Download:
        """The download of ``batches`` as ``name.format``; ``kind`` names the columns of a CSV."""
        chunks = _lines_of(batches, kind, format_)
        return Download(f"{name}.{format_}", MEDIA_TYPES[format_], chunks, principal, self._limit, self._threads)

    def of_bytes(self, principal: Principal, stream: ByteDownload) -> Download:
        """The download of bytes as a file."""
        return Download(stream.file_name, OCTETS, stream.chunks, principal, stream.limit, self._threads)


def examples_of(kind: type[msgspec.Struct], example: Mapping[str, Any]) -> Mapping[str, str]:
    """A download of one item in every format, for the OpenAPI document."""
    only, names = [msgspec.convert(example, kind)], kind.__struct_encode_fields__
    in_csv = csv_lines([names]) + _csv_of(names, only)
    return {
        MEDIA_TYPES[ExportFormat.NDJSON]: _ndjson_of(only).decode(),
        MEDIA_TYPES[ExportFormat.CSV]: in_csv.decode(),
    }


async def _cancel_when_gone(receive: Receive, scope: CancelScope) -> None:
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            scope.cancel()
            return


def _ndjson_of(batch: Sequence[msgspec.Struct | msgspec.Raw]) -> bytes:
    return msgspec.json.Encoder().encode_lines(batch)


def _csv_of(names: Sequence[str], batch: Sequence[msgspec.Struct | msgspec.Raw]) -> bytes:
    """A field that an item leaves out is an empty cell."""
    return csv_lines([[_cell(cells.get(name)) for name in names] for cells in map(msgspec.to_builtins, batch)])


def csv_lines(rows: Sequence[Sequence[str | float | None]]) -> bytes:
    """RFC 4180: commas, CRLF, quotes where they are needed."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """A value as text that a spreadsheet shows and does not run; lists and objects are JSON."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    first = unicodedata.normalize("NFKC", text[:1])  # full-width signs too
    return f"'{text}" if first in _FORMULA_STARTS or not first.isprintable() else text
