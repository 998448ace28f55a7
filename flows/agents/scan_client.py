"""The scan index over HTTP: its lists page by page, without trusting what it answers.

Requests go to the index alone: links of items and redirects are not followed. A page that is too large, compressed or
of another schema, and a circle of cursors, end the list with a reason.

Unit    seconds; ``since`` in microseconds
Errors  ScanError, whose sentence is safe to show
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import blake2b
from http import HTTPStatus
from typing import Final, NamedTuple

import httpx
import msgspec

from clearhold.features.core.instants import HOUR_US, SECOND_US, format_instant, pause_after
from clearhold.flows.running.bank_http import PASSING, body_of, retry_after_us
from clearhold.store.clock import Clock

ITEMS_A_PAGE: Final = 500
MAX_PAGE_BYTES: Final = 8 * 1024 * 1024
MAX_PAGES: Final = 100_000
MAX_ITEMS: Final = {"agents": 250_000, "profiles": 250_000, "settlements": 5_000_000}
READ_WITHIN_US: Final = 6 * HOUR_US
"""For all lists of an import; checked before each page."""

MAX_EMPTY_PAGES: Final = 10  # in a row
MAX_CURSOR_LENGTH: Final = 2_048
_CURSOR_DIGEST_BYTES: Final = 16
ANSWER_WITHIN_S: Final = 30.0
RETRIES: Final = 3
FIRST_BACKOFF_S: Final = 1.0
MAX_BACKOFF_S: Final = 300.0
SCHEMA: Final = "scan-index/1"

Sleep = Callable[[float], Awaitable[None]]


class ScanError(Exception):
    """The index cannot be read further; the sentence says why."""


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    items: msgspec.Raw
    next_cursor: str | None = None
    schema: str | None = None


class ScanPage(NamedTuple):
    """One answer of the index; its items are decoded one at a time."""

    items: list[bytes]
    next_cursor: str | None


class _Again(Exception):  # noqa: N818 - no error yet: the request is sent again
    """The request failed in a way that may pass."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


_NO_ITEM: Final = msgspec.Raw()
_ANSWERS: Final = msgspec.json.Decoder(_Answer)
_ITEMS: Final = msgspec.json.Decoder(
    msgspec.defstruct("_Items", [(f"item{n}", msgspec.Raw, _NO_ITEM) for n in range(ITEMS_A_PAGE + 1)], array_like=True)
)
"""Skips what follows the first item too many: a list of all of them could take forty times the memory of its text."""


class ScanClient:
    """``root`` is the URL of the index, without a slash at its end. Reads for one import, on one event loop."""

    def __init__(self, root: str, http: httpx.AsyncClient, clock: Clock, *, sleep: Sleep = asyncio.sleep) -> None:
        self._root, self._http, self._clock, self._sleep = root, http, clock, sleep
        self._until = clock.now() + READ_WITHIN_US

    async def pages(self, kind: str, *, since: int | None = None) -> AsyncIterator[ScanPage]:
        """The pages of ``agents``, ``profiles`` or ``settlements``."""
        cursor: str | None = None
        cursors: set[bytes] = set()  # digests: a cursor may be long
        empty = items = 0
        for _ in range(MAX_PAGES):
            if self._clock.now() > self._until:
                raise ScanError(
                    f"The index is too slow: {kind} were not read within {READ_WITHIN_US // HOUR_US} hours."
                )
            page = await self._page(kind, cursor, since)
            items += len(page.items)
            if items > MAX_ITEMS[kind]:
                raise ScanError(f"The index does not end: it has more than {MAX_ITEMS[kind]:,} {kind}.")
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
            digest = blake2b(cursor.encode(), digest_size=_CURSOR_DIGEST_BYTES).digest()
            if digest in cursors:
                raise ScanError(f"The index leads in a circle: a cursor of {kind} came twice.")
            cursors.add(digest)
            empty = 0 if page.items else empty + 1
            if empty >= MAX_EMPTY_PAGES:
                raise ScanError(f"The index does not end: {empty} pages of {kind} in a row have no items.")
        raise ScanError(f"The index does not end: {kind} have more than {MAX_PAGES} pages.")

    async def _page(self, kind: str, cursor: str | None, since: int | None) -> ScanPage:
        params: dict[str, str] = {"limit": str(ITEMS_A_PAGE)}
        if cursor is not None:
            params["cursor"] = cursor
        if since is not None:
            params["since"] = format_instant(since)
        for attempt in range(RETRIES + 1):
            try:
                return await self._answer(kind, params)
            except _Again as failure:
                if attempt == RETRIES:
                    raise ScanError(f"{failure} It was asked {RETRIES + 1} times.") from None
                pause_s = failure.after_s or pause_after(attempt + 1, FIRST_BACKOFF_S, MAX_BACKOFF_S)
                await self._sleep(min(pause_s, MAX_BACKOFF_S))
        raise AssertionError("the last attempt returns or raises")

    async def _answer(self, kind: str, params: dict[str, str]) -> ScanPage:
        try:
            async with (
                asyncio.timeout(ANSWER_WITHIN_S),
                self._http.stream("GET", f"{self._root}/v1/{kind}", params=params) as response,
            ):
                body = await body_of(response, most_bytes=MAX_PAGE_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            raise _Again(f"The index cannot be reached ({type(error).__name__}).") from error
        self._check_status(kind, response)
        if body is None:
            raise ScanError(f"A page of {kind} is larger than {MAX_PAGE_BYTES} bytes, or compressed.")
        return _read_page(kind, body)

    def _check_status(self, kind: str, response: httpx.Response) -> None:
        status = response.status_code
        if status == HTTPStatus.OK:
            return
        reason = f"The index answered {kind} with status {status}."
        if status == HTTPStatus.TOO_MANY_REQUESTS or status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            after_us = retry_after_us(response, now=self._clock.now())
            raise _Again(reason, None if after_us is None else after_us / SECOND_US)
        raise ScanError(reason)


def _read_page(kind: str, body: bytes) -> ScanPage:
    try:
        answer = _ANSWERS.decode(body)
        listed = msgspec.structs.astuple(_ITEMS.decode(answer.items))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _Again(f"A page of {kind} is not what the contract says it is.") from None
    items = [bytes(item) for item in listed if item is not _NO_ITEM]
    if answer.schema not in {None, SCHEMA}:
        raise ScanError(f"The index speaks another language than {SCHEMA}.")
    if len(items) > ITEMS_A_PAGE:
        raise ScanError(f"A page of {kind} has more items than the {ITEMS_A_PAGE} that were asked for.")
    cursor = answer.next_cursor
    if cursor is not None and not 0 < len(cursor) <= MAX_CURSOR_LENGTH:
        raise ScanError(f"A cursor of {kind} is empty, or has more than {MAX_CURSOR_LENGTH} characters.")
    return ScanPage(items, cursor)
