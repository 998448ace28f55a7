"""The bank's API as far as the directory needs it: one object by its id.

Basic authentication with an empty user name and the tenant's key, no redirects, no compression, no proxy of the
environment. The object is masked as soon as it is read; nothing else of an answer is kept.

Errors  none: whatever goes wrong is an ``Outcome``
"""

import asyncio
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from features.bank.masking import masked_raw
from features.core.directory import DirectoryKind
from features.core.instants import SECOND_US
from store.clock import Clock
from store.traces import TRACEPARENT, traceparent_of

ANSWER_WITHIN_S: Final = 10.0
MAX_BODY_BYTES: Final = 1024 * 1024
MASKED_BESIDE_THE_LOOP_OVER_BYTES: Final = 32 * 1024
MAX_CONNECTIONS: Final = 4

_PATHS: Final = {
    DirectoryKind.ACCOUNT: "bank-accounts",
    DirectoryKind.ENTITY: "entities",
    DirectoryKind.COUNTERPARTY: "counterparties",
}
_NOT_IN_A_PATH: Final = frozenset({".", ".."})  # which mean folders, however they are quoted
_MISSING: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
_RETRY_AFTER_DIGITS: Final = 9
_ENCODE: Final = msgspec.json.Encoder().encode
_CANONICAL: Final = msgspec.json.Encoder(order="deterministic").encode


class Outcome(StrEnum):
    """The result of one request. The first three are facts about the party, the others about the bank."""

    FOUND = "found"
    MISSING = "missing"
    UNUSABLE = "unusable"
    FAILED = "failed"
    LIMITED = "limited"
    REFUSED = "refused"


class BankAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """``data`` is the object, masked, and ``digest`` that of its canonical form; both only when it was found."""

    outcome: Outcome
    data: bytes = b""
    digest: str | None = None
    retry_after_us: int | None = None


_UNUSABLE: Final = BankAnswer(outcome=Outcome.UNUSABLE)
_FAILED: Final = BankAnswer(outcome=Outcome.FAILED)


def http_client() -> httpx.AsyncClient:
    """Belongs to one event loop; whoever opens it closes it."""
    return httpx.AsyncClient(
        timeout=ANSWER_WITHIN_S,
        limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
        headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "clearhold"},
        follow_redirects=False,
        trust_env=False,
    )


class BankClient:
    """``root`` is the URL of the bank's API, without a slash at its end."""

    def __init__(self, root: str, http: httpx.AsyncClient, clock: Clock) -> None:
        self._root, self._http, self._clock = root, http, clock

    async def fetch(self, kind: DirectoryKind, party_id: str, key: str, *, trace_id: str) -> BankAnswer:
        """``trace_id`` tells the bank which line of our log a request belongs to."""
        if party_id in _NOT_IN_A_PATH:
            return _UNUSABLE
        url = f"{self._root}/{_PATHS[kind]}/{quote(party_id, safe='')}"
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await self._answer(url, party_id, key, trace_id)
        except httpx.InvalidURL:
            return _UNUSABLE  # an id too long to be asked for
        except (httpx.HTTPError, TimeoutError, OSError):
            return _FAILED

    async def _answer(self, url: str, party_id: str, key: str, trace_id: str) -> BankAnswer:
        headers = {TRACEPARENT: traceparent_of(trace_id)}
        async with self._http.stream("GET", url, auth=httpx.BasicAuth("", key), headers=headers) as response:
            body = await _body_of(response)
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
            return BankAnswer(outcome=Outcome.MISSING)
        if status in _REFUSED:
            return BankAnswer(outcome=Outcome.REFUSED)
        if status == HTTPStatus.TOO_MANY_REQUESTS or "retry-after" in response.headers:
            retry_after_us = _retry_after_us(response.headers.get("retry-after", ""), now=self._clock.now())
            outcome = Outcome.LIMITED if status == HTTPStatus.TOO_MANY_REQUESTS else Outcome.FAILED
            return BankAnswer(outcome=outcome, retry_after_us=retry_after_us)
        is_about_the_id = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        return _UNUSABLE if is_about_the_id and status not in _PASSING else _FAILED


async def _body_of(response: httpx.Response) -> bytes | None:
    """The body as it was sent; None for one that is too large, or compressed although that was not asked for."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return None
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _answer_of(body: bytes, party_id: str) -> BankAnswer:
    masked: dict[str, Any] = masked_raw(body)
    if masked.get("id") != party_id:
        return _UNUSABLE
    return BankAnswer(outcome=Outcome.FOUND, data=_ENCODE(masked), digest=sha256(_CANONICAL(masked)).hexdigest())


def _retry_after_us(text: str, *, now: int) -> int | None:
    """The header as a duration: it is a number of seconds, or a date."""
    if text.isascii() and text.isdigit() and len(text) <= _RETRY_AFTER_DIGITS:
        return int(text) * SECOND_US
    try:
        at: datetime = parsedate_to_datetime(text)
        return max(0, int(at.timestamp() * SECOND_US) - now)
    except (ValueError, TypeError, OverflowError):
        return None
