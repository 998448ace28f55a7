"""X-Deadline-Ms: the latest time for an answer, on the event loop's clock.

Unit    whole milliseconds from the arrival of the request's head at this service; one is reserved for sending
Errors  InvalidRequestError for a malformed header; TooLateError for an answer that would be late
"""

import asyncio
import re
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from clearhold.api.http.envelope import header_values
from clearhold.features.core.errors import ErrorCode, FieldCode, FieldError, InvalidRequestError, UnavailableError

HEADER: Final = "X-Deadline-Ms"
LONGEST_MS: Final = 60_000

_SENDING_S: Final = 0.001
_MS_PER_S: Final = 1_000
_DIGITS: Final = re.compile(rb"[0-9]{1,9}")
_TOO_LATE: Final = "The answer would not have been in time for X-Deadline-Ms; nothing was recorded. Try again."

T = TypeVar("T")


class TooLateError(UnavailableError):
    """The deadline has passed, or is too near for the remaining work; nothing was recorded."""

    def __init__(self) -> None:
        super().__init__(_TOO_LATE, ErrorCode.DEADLINE_EXCEEDED)


def answer_by_of(scope: Any, arrived_at: float) -> float | None:
    """The time at which the answer must leave, None without a deadline; both times are of the event loop's clock."""
    sent = header_values(scope, HEADER.lower().encode())
    if not sent:
        return None
    if len(sent) > 1:
        raise _bad_deadline(FieldCode.REPEATED)
    if not _DIGITS.fullmatch(sent[0]):
        raise _bad_deadline(FieldCode.MALFORMED)
    deadline_ms = int(sent[0])
    if not 1 <= deadline_ms <= LONGEST_MS:
        raise _bad_deadline(FieldCode.TOO_SMALL if deadline_ms < 1 else FieldCode.TOO_LARGE)
    return arrived_at + deadline_ms / _MS_PER_S - _SENDING_S


def _bad_deadline(rule: FieldCode) -> InvalidRequestError:
    return InvalidRequestError(
        f"The header {HEADER} must be given once, as a whole number from 1 to {LONGEST_MS}.",
        fields=[FieldError(path=HEADER, code=rule)],
    )


async def in_time(step: Awaitable[T], answer_by: float | None) -> T:
    """The step's result; TooLateError when it is not ready in time."""
    if answer_by is None:
        return await step
    limit = asyncio.timeout_at(answer_by)
    try:
        async with limit:
            return await step
    except TimeoutError:
        if limit.expired():
            raise TooLateError from None
        raise
