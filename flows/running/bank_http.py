"""HTTP to the bank's API: connections, the credential, the limits of an answer.

Basic authentication with an empty user name and the tenant's key, no redirects, no compression, no proxy of the
environment.

Unit    seconds; ``retry_after_us`` in microseconds
"""

from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import httpx

from clearhold.features.core.instants import SECOND_US
from clearhold.store.ids import TRACEPARENT, traceparent_of

ANSWER_WITHIN_S: Final = 10.0
MAX_BODY_BYTES: Final = 1024 * 1024
PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
"""Statuses of a request that the bank did not process, beside 429."""

_RETRY_AFTER_DIGITS: Final = 9


def http_client(*, connections: int) -> httpx.AsyncClient:
    """Belongs to one event loop; the caller closes it."""
    return httpx.AsyncClient(
        timeout=ANSWER_WITHIN_S,
        limits=httpx.Limits(max_connections=connections),
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
