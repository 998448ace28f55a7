"""HTTP to the bank's API: connections, the credential, the limits of an answer; one object of its directory by its id.

Basic authentication with an empty user name and the tenant's key, no redirects, no compression, no proxy of the
environment. An object of the directory is masked when it is read; the rest of an answer is dropped.

Unit    seconds; ``retry_after_us`` in microseconds
Errors  none of ``BankClient``: every failure is a ``FetchOutcome``
"""

import asyncio
import ssl
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.entries.directory import DirectoryKind
from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.bounded_http import BoundedTransport
from clearhold.store.clock import Clock
from clearhold.store.ids import TRACEPARENT, traceparent_of

ANSWER_WITHIN_S: Final = 10.0
MAX_BODY_BYTES: Final = 64 * 1024
"""The bank's objects have a few thousand. Masking a longer text would hold the interpreter for too long."""

PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
"""Statuses of a request that the bank did not process, beside 429."""

_RETRY_AFTER_DIGITS: Final = 9


def http_client(*, connections: int, authorities: ssl.SSLContext | None = None) -> httpx.AsyncClient:
    """Belongs to one event loop; the caller closes it, and limits the time of each request.

    ``authorities`` None: the usual ones sign the servers' certificates.
    """
    return httpx.AsyncClient(
        transport=BoundedTransport(connections, authorities),
        headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "clearhold"},
        follow_redirects=False,
        trust_env=False,
    )


def credential(key: str) -> httpx.BasicAuth:
    return httpx.BasicAuth("", key)


def trace_header(trace_id: str) -> dict[str, str]:
    """The header that leads the bank from a request to our log."""
    return {TRACEPARENT: traceparent_of(trace_id)}


async def body_of(response: httpx.Response, *, most_bytes: int = MAX_BODY_BYTES) -> bytes | None:
    """The body as sent; None when it is too large, or compressed although that was not requested."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return None
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > most_bytes:
            return None
        parts.append(part)
    return b"".join(parts)


def retry_after_us(response: httpx.Response, *, now: int) -> int | None:
    """The header Retry-After, a number of seconds or a date, as a duration."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) <= _RETRY_AFTER_DIGITS:
        return int(text) * SECOND_US
    try:
        at: datetime = parsedate_to_datetime(text)
        return max(0, int(at.timestamp() * SECOND_US) - now)
    except (ValueError, TypeError, OverflowError):
        return None


MASKED_BESIDE_THE_LOOP_OVER_BYTES: Final = 32 * 1024

_PATHS: Final = {
    DirectoryKind.ACCOUNT: "bank-accounts",
    DirectoryKind.ENTITY: "entities",
    DirectoryKind.COUNTERPARTY: "counterparties",
}
_NOT_IN_A_PATH: Final = frozenset({".", ".."})  # which mean folders, however they are quoted
_MISSING: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_ENCODE: Final = msgspec.json.Encoder().encode
_CANONICAL: Final = msgspec.json.Encoder(order="deterministic").encode


class FetchOutcome(StrEnum):
    """The result of one request. The first three are facts about the party, the others about the bank."""

    FOUND = "found"
    MISSING = "missing"
    UNUSABLE = "unusable"
    FAILED = "failed"
    LIMITED = "limited"
    REFUSED = "refused"


class BankAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """``data`` is the masked object, and ``digest`` that of its canonical form; None unless it was found."""

    outcome: FetchOutcome
    data: bytes = b""
    digest: str | None = None
    retry_after_us: int | None = None


_UNUSABLE: Final = BankAnswer(outcome=FetchOutcome.UNUSABLE)
_FAILED: Final = BankAnswer(outcome=FetchOutcome.FAILED)


class BankClient:
    """``root`` is the URL of the bank's API, without a slash at its end."""

    def __init__(self, root: str, http: httpx.AsyncClient, clock: Clock) -> None:
        self._root, self._http, self._clock = root, http, clock

    async def fetch(self, kind: DirectoryKind, party_id: str, key: str, *, trace_id: str) -> BankAnswer:
        """``trace_id`` leads the bank from the request to our log."""
        if party_id in _NOT_IN_A_PATH:
            return _UNUSABLE
        url = f"{self._root}/{_PATHS[kind]}/{quote(party_id, safe='')}"
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await self._answer(url, party_id, key, trace_id)
        except httpx.InvalidURL:
            return _UNUSABLE  # the id is too long for a request
        except (httpx.HTTPError, TimeoutError, OSError):
            return _FAILED

    async def _answer(self, url: str, party_id: str, key: str, trace_id: str) -> BankAnswer:
        async with self._http.stream("GET", url, auth=credential(key), headers=trace_header(trace_id)) as response:
            body = await body_of(response)
        if response.status_code != HTTPStatus.OK:
            return self._without_object(response)
        if body is None:
            return _UNUSABLE
        if len(body) > MASKED_BESIDE_THE_LOOP_OVER_BYTES:
            return await asyncio.to_thread(_answer_of, body, party_id)
        return _answer_of(body, party_id)

    def _without_object(self, response: httpx.Response) -> BankAnswer:
        status = response.status_code
        if status in _MISSING:
            return BankAnswer(outcome=FetchOutcome.MISSING)
        if status in _REFUSED:
            return BankAnswer(outcome=FetchOutcome.REFUSED)
        if status == HTTPStatus.TOO_MANY_REQUESTS or "retry-after" in response.headers:
            outcome = FetchOutcome.LIMITED if status == HTTPStatus.TOO_MANY_REQUESTS else FetchOutcome.FAILED
            return BankAnswer(outcome=outcome, retry_after_us=retry_after_us(response, now=self._clock.now()))
        is_about_the_id = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        return _UNUSABLE if is_about_the_id and status not in PASSING else _FAILED


def _answer_of(body: bytes, party_id: str) -> BankAnswer:
    masked: dict[str, Any] = masked_raw(body)
    if masked.get("id") != party_id:
        return _UNUSABLE
    return BankAnswer(outcome=FetchOutcome.FOUND, data=_ENCODE(masked), digest=sha256(_CANONICAL(masked)).hexdigest())
