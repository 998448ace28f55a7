"""One request to the bank's API that carries out an action, under the action's id as the bank's idempotency key.

One key has one effect at the bank, so a request without an answer is repeated unchanged. The bank's JSON is masked and
bounded when it is read; no error sentence quotes the bank.

Errors  none: whatever goes wrong is a ``Verdict``
"""

import asyncio
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

import httpx
import msgspec

from clearhold.features.bank.action_endpoints import BankRequest
from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.canonical import canonical
from clearhold.flows.running.bank_http import (
    ANSWER_WITHIN_S,
    PASSING,
    body_of,
    credential,
    retry_after_us,
    trace_header,
)
from clearhold.store.clock import Clock

MAX_RECORDED_BYTES: Final = 16 * 1024
IDEMPOTENCY_KEY: Final = "Idempotency-Key"

_UNSURE: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT})
_ENCODE: Final = msgspec.json.Encoder().encode


class Verdict(StrEnum):
    """The state of the action at the bank, according to its answer."""

    DONE = "done"
    REFUSED = "refused"  # nothing was done, and nothing will be
    REFUSED_NOW = "refused now"  # this request did nothing; an earlier one may have, or may be under way
    UNKNOWN = "unknown"  # it may have been done


class ActionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """``body`` is the bank's object, masked; None where it sent none, or none that can be recorded."""

    verdict: Verdict
    status: int | None = None
    body: dict[str, Any] | None = None
    retry_after_us: int | None = None


_UNKNOWN: Final = ActionAnswer(verdict=Verdict.UNKNOWN)


class BankActions:
    """``root`` is the URL of the bank's API, without a slash at its end."""

    def __init__(self, root: str, http: httpx.AsyncClient, clock: Clock) -> None:
        self._root, self._http, self._clock = root, http, clock

    async def send(self, request: BankRequest, key: str, action_id: str, *, trace_id: str) -> ActionAnswer:
        headers = {"Content-Type": "application/json", IDEMPOTENCY_KEY: action_id} | trace_header(trace_id)
        try:
            async with (
                asyncio.timeout(ANSWER_WITHIN_S),
                self._http.stream(
                    "POST",
                    self._root + request.path,
                    content=_ENCODE(request.body),
                    auth=credential(key),
                    headers=headers,
                ) as response,
            ):
                return await self._answer(response)
        except (httpx.HTTPError, TimeoutError, OSError):
            return _UNKNOWN

    async def _answer(self, response: httpx.Response) -> ActionAnswer:
        status = response.status_code
        verdict = _verdict_of(status)
        try:
            body = await body_of(response)
        except (httpx.HTTPError, TimeoutError, OSError):
            body = None  # the status has been read and gives the verdict
        return ActionAnswer(
            verdict=verdict,
            status=status,
            body=None if body is None else _recorded(body),
            retry_after_us=retry_after_us(response, now=self._clock.now()),
        )


def _verdict_of(status: int) -> Verdict:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Verdict.DONE
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in PASSING or status == HTTPStatus.TOO_MANY_REQUESTS:
        return Verdict.UNKNOWN
    return Verdict.REFUSED_NOW if status in _UNSURE else Verdict.REFUSED


def _recorded(body: bytes) -> dict[str, Any] | None:
    """The object as the record takes it: masked, in canonical form, and not large."""
    try:
        encoded = canonical(masked_raw(body))
    except ValueError:  # outside of what the record can hold: a number beyond 2**53, a name that is not ASCII
        return None
    if len(encoded) > MAX_RECORDED_BYTES:
        return None
    recorded: dict[str, Any] = msgspec.json.decode(encoded)
    return recorded or None
