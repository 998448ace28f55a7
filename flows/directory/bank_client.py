"""The bank's API for the directory: one object by its id, over ``flows/running/bank_http.py``.

The object is masked when it is read; the rest of an answer is dropped.

Errors  none: every failure is a ``FetchOutcome``
"""

import asyncio
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.entries.directory import DirectoryKind
from clearhold.flows.running.bank_http import (
    ANSWER_WITHIN_S,
    PASSING,
    body_of,
    credential,
    retry_after_us,
    trace_header,
)
from clearhold.store.clock import Clock

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
