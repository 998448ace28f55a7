"""The body of a request, read whole.

Limits  a body has ``limit`` bytes, declared or not, and room in the budget, ``MOST_BYTES`` for all bodies beyond their
        first ``SMALL_BYTES``; each part arrives within ``BODY_PART_WITHIN_S``, the whole within ``BODY_WITHIN_S``
Errors  RiskError for a body that is too long; InvalidRequestError for one that is too slow or ends early;
        UnavailableError for one without room
"""

import asyncio
from typing import Any, Final, Self

from litestar.types import Receive

from clearhold.api.http.envelope import header_values
from clearhold.features.core.errors import ErrorCode, InvalidRequestError, RiskError, UnavailableError

SMALL_BYTES: Final = 65_536
MOST_BYTES: Final = 256 * 1024 * 1024
NO_ROOM: Final = "Too many large requests are being read. Nothing was stored; try again."


class BodyBudget:
    """Belongs to the API's event loop."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self.used = 0

    def add(self, size: int) -> None:
        if self.used + size > self._most:
            raise UnavailableError(NO_ROOM, ErrorCode.OVERLOADED)
        self.used += size


class BodyShare:
    """One body's share of the budget, given back at the end of the block."""

    __slots__ = ("_budget", "_used")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._used = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.used -= self._used

    def grow_to(self, size: int) -> None:
        """Make room for ``size`` bytes of the body."""
        more = size - SMALL_BYTES - self._used
        if more > 0:
            self._budget.add(more)
            self._used += more


BODY_PART_WITHIN_S: Final = 10.0
BODY_WITHIN_S: Final = 30.0
TOO_SLOW: Final = "The request body did not arrive in time."
BODY_IS_THERE: Final = "clearhold.body_is_there"
"""Set in the scope by a server that has the whole body, so that it needs no time limit."""


async def read_body(scope: Any, receive: Receive, *, limit: int, budget: BodyBudget) -> bytes:
    """The whole body. A body over the limit is refused at once."""
    declared = header_values(scope, b"content-length")
    if declared and declared[0].isdigit() and (len(declared[0]) > len(str(limit)) or int(declared[0]) > limit):
        raise _too_large(limit)
    with BodyShare(budget) as share:
        if BODY_IS_THERE in scope:
            return await _received(receive, limit, share, None)
        try:
            async with asyncio.timeout(BODY_PART_WITHIN_S) as waiting:
                return await _received(receive, limit, share, waiting)
        except TimeoutError:
            raise InvalidRequestError(TOO_SLOW, ErrorCode.REQUEST_TOO_SLOW) from None


async def _received(receive: Receive, limit: int, share: BodyShare, waiting: asyncio.Timeout | None) -> bytes:
    loop = asyncio.get_running_loop()
    end_at = loop.time() + BODY_WITHIN_S
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise InvalidRequestError("The request body ended early.", ErrorCode.BODY_INCOMPLETE)
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        share.grow_to(size)
        parts.append(part)
        more = message.get("more_body", False)
        if more and waiting is not None:
            waiting.reschedule(min(loop.time() + BODY_PART_WITHIN_S, end_at))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> RiskError:
    return RiskError(f"The request body must have at most {limit} bytes.", ErrorCode.BODY_TOO_LARGE)
